//! A figure: an SVG drawing with its caption, shown in the page and written as a file beside it.

use crate::Picture;
use crate::colour::ColourMap;
use crate::raster::{MAX_PIXELS, Raster, data_uri};
use crate::text::escape;
use std::fmt::Write as _;

/// Style sheet of drawings, light and dark, for the page and for files of their own.
pub const STYLE: &str = include_str!("drawing.css");
/// Width of a usual drawing: that of a phone, so that text has the same size there as on a laptop.
pub const WIDTH: f64 = 360.0;
/// Width of a wide drawing.
pub const WIDE: f64 = 560.0;

/// Figures under one heading.
pub struct Section {
    /// The heading.
    pub heading: &'static str,
    /// Whether it is folded at first.
    pub folded: bool,
    /// Sentences under the heading.
    pub notes: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A drawing with its caption.
pub struct Figure {
    /// File name without its extension.
    pub name: String,
    /// What the figure shows, and what is good; also the text for screen readers.
    pub caption: String,
    /// The drawing.
    pub svg: Svg,
    /// The image as PNG, if it is made of pixels.
    pub png: Option<Vec<u8>>,
}

/// An SVG drawing.
pub struct Svg {
    /// Width, in pixels on a phone.
    pub width: f64,
    /// Height, likewise.
    pub height: f64,
    /// The elements inside `<svg>`.
    pub body: String,
}

/// A colour bar: which colour means which number.
pub struct ColourBar {
    /// The colour map.
    pub map: ColourMap,
    /// Label of the first colour.
    pub lo: String,
    /// Label of the last colour.
    pub hi: String,
    /// What the numbers are, with their unit.
    pub label: String,
}

impl Svg {
    /// The element for a page that includes [`STYLE`].
    pub fn inline(&self, label: &str) -> String {
        self.element(label, "", 0.0, "")
    }

    /// The content of an SVG file, with its own style, margin and background.
    pub fn standalone(&self, label: &str) -> String {
        let background = "<rect x=\"-50%\" y=\"-50%\" width=\"200%\" height=\"200%\" class=\"ground\"/>";
        let style = format!("<style>{STYLE}</style>\n{background}");
        self.element(label, " xmlns=\"http://www.w3.org/2000/svg\"", 12.0, &style) + "\n"
    }

    fn element(&self, label: &str, xmlns: &str, margin: f64, style: &str) -> String {
        let (w, h) = (self.width + 2.0 * margin, self.height + 2.0 * margin);
        format!(
            "<svg{xmlns} class=\"drawing\" viewBox=\"{0} {0} {w:.0} {h:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" \
             font-size=\"12\" role=\"img\" aria-label=\"{1}\">{style}\n{2}</svg>",
            -margin,
            escape(label),
            self.body
        )
    }
}

impl Figure {
    /// The files: the SVG, and the PNG if there is one.
    pub fn pictures(&self) -> Vec<Picture> {
        let svg =
            Picture { name: format!("{}.svg", self.name), bytes: self.svg.standalone(&self.caption).into_bytes() };
        let png = self.png.clone().map(|bytes| Picture { name: format!("{}.png", self.name), bytes });
        [Some(svg), png].into_iter().flatten().collect()
    }

    /// A figure from an existing PNG; `None` if the bytes are not a PNG or the image is too large.
    pub fn from_png(name: &str, title: &str, png: &[u8], caption: String) -> Option<Figure> {
        let info = png::Decoder::new(std::io::Cursor::new(png)).read_info().ok()?.info().size();
        let (width, height) = (f64::from(info.0), f64::from(info.1));
        if width * height > MAX_PIXELS as f64 {
            return None;
        }
        let scale = (WIDTH / width).min(WIDTH / height).min(1.4);
        let (w, h) = (scale * width, scale * height);
        let title = format!("<text x=\"0\" y=\"13\" class=\"title\">{}</text>\n", escape(title));
        let body = format!("{title}{}\n", image(png, [0.0, 20.0, w, h]));
        Some(Figure { name: name.into(), caption, svg: Svg { width: WIDTH, height: h + 24.0, body }, png: None })
    }

    /// A figure of pixels, with a title above and a colour bar below.
    pub fn from_raster(
        name: &str,
        title: &str,
        raster: &Raster,
        bar: Option<&ColourBar>,
        wide: bool,
        caption: String,
    ) -> Figure {
        let (width, line) = if wide { (WIDE, 18.0) } else { (WIDTH, 16.0) };
        // Small grids are enlarged, but not without limit.
        let scale = (width / raster.width as f64).min(width / raster.height as f64).min(1.4);
        let (w, h) = (scale * raster.width as f64, scale * raster.height as f64);
        let png = raster.png(&caption);
        let mut body = format!("<text x=\"0\" y=\"{:.0}\" class=\"title\">{}</text>\n", 0.8 * line, escape(title));
        let top = line + 4.0;
        let _ = writeln!(body, "{}", image(&png, [0.0, top, w, h]));
        let mut height = top + h + 4.0;
        if let Some(bar) = bar {
            body += &bar.horizontal([0.0, height, w.max(200.0), line]);
            height += 2.2 * line;
        }
        Figure { name: name.into(), caption, svg: Svg { width, height, body }, png: Some(png) }
    }
}

/// A PNG inside a drawing, at [x, y, width, height].
pub fn image(png: &[u8], [x, y, w, h]: [f64; 4]) -> String {
    format!(
        "<image x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" preserveAspectRatio=\"none\" href=\"{}\"/>",
        data_uri(png)
    )
}

impl ColourBar {
    /// A bar from left to right, with its labels below.
    fn horizontal(&self, [x, y, w, line]: [f64; 4]) -> String {
        let colours = Raster::new(1, 128, |_, i| (self.map)(i as f64 / 127.0)).png("");
        let mut body = image(&colours, [x, y + 2.0, w, 0.6 * line]);
        let below = y + 1.6 * line + 2.0;
        for (x, anchor, text) in
            [(x, "start", &self.lo), (x + 0.5 * w, "middle", &self.label), (x + w, "end", &self.hi)]
        {
            let _ = write!(
                body,
                "\n<text x=\"{x:.1}\" y=\"{below:.1}\" text-anchor=\"{anchor}\" class=\"soft\">{}</text>",
                escape(text)
            );
        }
        body + "\n"
    }

    /// A bar from bottom to top at [x, y, width, height], with its labels on the right.
    pub fn vertical(&self, [x, y, w, h]: [f64; 4]) -> String {
        let colours = Raster::new(128, 1, |i, _| (self.map)(1.0 - i as f64 / 127.0)).png("");
        let mut body = image(&colours, [x, y, w, h]);
        for (y, text) in [(y + 8.0, &self.hi), (y + h, &self.lo)] {
            let _ =
                write!(body, "\n<text x=\"{:.1}\" y=\"{y:.1}\" class=\"soft\">{}</text>", x + w + 4.0, escape(text));
        }
        let (tx, ty) = (x + w + 12.0, y + 0.5 * h);
        let _ = writeln!(
            body,
            "\n<text x=\"{tx:.1}\" y=\"{ty:.1}\" text-anchor=\"middle\" class=\"soft\" transform=\"rotate(-90 {tx:.1} {ty:.1})\">{}</text>",
            escape(&self.label)
        );
        body
    }
}
