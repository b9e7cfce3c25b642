//! A figure: a drawing with its caption, which stands in the page and as a file beside it.

use crate::Picture;
use crate::colour::Map;
use crate::raster::{MOST_PIXELS, Raster, data_uri};
use crate::text::escape;
use std::fmt::Write as _;

/// Colours of drawings in light and in dark surroundings, for pages and for drawings that stand alone.
pub const STYLE: &str = include_str!("drawing.css");
/// Width of a usual drawing: that of a phone, so that its text is as large there as on a laptop.
pub const WIDTH: f64 = 360.0;
/// Width of a wide drawing.
pub const WIDE: f64 = 560.0;

/// Some figures under one heading.
pub struct Section {
    /// The heading.
    pub heading: &'static str,
    /// Whether it is folded until someone asks.
    pub folded: bool,
    /// Sentences under the heading.
    pub notes: Vec<String>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A drawing with its caption.
pub struct Figure {
    /// File name without its ending.
    pub name: String,
    /// What is seen, in a sentence; for those who do not see it, too.
    pub caption: String,
    /// The drawing.
    pub svg: Svg,
    /// Its pixels alone, if it is made of pixels.
    pub png: Option<Vec<u8>>,
}

/// A drawing.
pub struct Svg {
    /// Width in its own units, which are pixels on a phone.
    pub width: f64,
    /// Height likewise.
    pub height: f64,
    /// The elements inside.
    pub body: String,
}

/// How colours stand for numbers.
pub struct Bar {
    /// The colours.
    pub map: Map,
    /// What the first colour means.
    pub lo: String,
    /// What the last colour means.
    pub hi: String,
    /// What the numbers are, with their unit.
    pub label: String,
}

impl Svg {
    /// The element for a page whose style knows [`STYLE`].
    pub fn inline(&self, label: &str) -> String {
        self.element(label, "", 0.0, "")
    }

    /// The file that stands alone, with a margin and a ground of its own.
    pub fn alone(&self, label: &str) -> String {
        let ground = "<rect x=\"-50%\" y=\"-50%\" width=\"200%\" height=\"200%\" class=\"ground\"/>";
        let style = format!("<style>{STYLE}</style>\n{ground}");
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
    /// The files: the drawing, and its pixels if there are some.
    pub fn pictures(&self) -> Vec<Picture> {
        let svg = Picture { name: format!("{}.svg", self.name), bytes: self.svg.alone(&self.caption).into_bytes() };
        let png = self.png.clone().map(|bytes| Picture { name: format!("{}.png", self.name), bytes });
        [Some(svg), png].into_iter().flatten().collect()
    }

    /// A picture that is there already, as wide as the drawing; `None` if these are not the bytes of a small PNG.
    pub fn of_png(name: &str, title: &str, png: &[u8], caption: String) -> Option<Figure> {
        let info = png::Decoder::new(std::io::Cursor::new(png)).read_info().ok()?.info().size();
        let (width, height) = (f64::from(info.0), f64::from(info.1));
        if width * height > MOST_PIXELS as f64 {
            return None;
        }
        let scale = (WIDTH / width).min(WIDTH / height).min(1.4);
        let (w, h) = (scale * width, scale * height);
        let title = format!("<text x=\"0\" y=\"13\" class=\"title\">{}</text>\n", escape(title));
        let body = format!("{title}{}\n", image(png, [0.0, 20.0, w, h]));
        Some(Figure { name: name.into(), caption, svg: Svg { width: WIDTH, height: h + 24.0, body }, png: None })
    }

    /// A picture made of pixels, with a title above and what the colours mean below; wide ones are larger.
    pub fn of_pixels(
        name: &str,
        title: &str,
        raster: &Raster,
        bar: Option<&Bar>,
        wide: bool,
        caption: String,
    ) -> Figure {
        let (width, line) = if wide { (WIDE, 18.0) } else { (WIDTH, 16.0) };
        // Small grids of large pixels may grow, but not to posters.
        let scale = (width / raster.width as f64).min(width / raster.height as f64).min(1.4);
        let (w, h) = (scale * raster.width as f64, scale * raster.height as f64);
        let png = raster.png(&caption);
        let mut body = format!("<text x=\"0\" y=\"{:.0}\" class=\"title\">{}</text>\n", 0.8 * line, escape(title));
        let top = line + 4.0;
        let _ = writeln!(body, "{}", image(&png, [0.0, top, w, h]));
        let mut height = top + h + 4.0;
        if let Some(bar) = bar {
            body += &bar.across([0.0, height, w.max(200.0), line]);
            height += 2.2 * line;
        }
        Figure { name: name.into(), caption, svg: Svg { width, height, body }, png: Some(png) }
    }
}

/// Pixels in a drawing, at [x, y, width, height].
pub fn image(png: &[u8], [x, y, w, h]: [f64; 4]) -> String {
    format!(
        "<image x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" preserveAspectRatio=\"none\" href=\"{}\"/>",
        data_uri(png)
    )
}

impl Bar {
    /// From left to right: colours, and below them what they mean.
    fn across(&self, [x, y, w, line]: [f64; 4]) -> String {
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

    /// From bottom to top, at [x, y, width, height] with its meaning at the right.
    pub fn upright(&self, [x, y, w, h]: [f64; 4]) -> String {
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
