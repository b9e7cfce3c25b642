//! Images made of pixels, and their PNG bytes.

/// Colour between tiles: visible on white and on black.
const GAP: [u8; 4] = [128, 128, 128, 100];
/// Colour where the last row has no tile.
const EMPTY: [u8; 4] = [0; 4];
/// Pixels between tiles.
const BETWEEN: usize = 3;
/// Small images are enlarged to about this many pixels.
const TILE: usize = 56;
/// Height and width of an image at least, so that a row of one pixel is visible.
const MIN_SIDE: usize = 6;
/// Pixels of an image at most: some megabytes of PNG.
pub const MAX_PIXELS: usize = 4_000_000;

/// An image: red, green, blue and opacity of every pixel, row by row from the top.
pub struct Raster {
    /// Pixels from left to right.
    pub width: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    pixels: Vec<u8>,
}

impl Raster {
    /// An image of `colour(row, column)`.
    pub fn new(height: usize, width: usize, mut colour: impl FnMut(usize, usize) -> [u8; 3]) -> Raster {
        let pixel = |i: usize| {
            let [r, g, b] = colour(i / width, i % width);
            [r, g, b, 255]
        };
        Raster { width, height, pixels: (0..width * height).flat_map(pixel).collect() }
    }

    /// PNG bytes, with a description inside.
    pub fn png(&self, about: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.write(&mut bytes, about) {
            Ok(()) => bytes,
            // Writing to memory fails only for an image without pixels, and then there is nothing to show.
            Err(_) => Vec::new(),
        }
    }

    fn write(&self, bytes: &mut Vec<u8>, about: &str) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.add_itxt_chunk("Description".into(), about.into())?;
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()
    }
}

/// A grid of small images of one size.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    size: (usize, usize),
    scale: (usize, usize),
    count: usize,
    across: usize,
}

impl Tiles {
    /// A grid for at most `count` images of (height, width), fewer if they are large; `None` if one is too large.
    /// `across` is the number of images per row; by default the grid is about square.
    pub fn new(count: usize, size: (usize, usize), across: Option<usize>) -> Option<Tiles> {
        let both = (TILE / size.0.max(size.1).max(1)).max(1);
        let scale = [size.0, size.1].map(|s| both.max(MIN_SIDE.div_ceil(s.max(1))));
        let tile = (size.0 * scale[0] + BETWEEN, size.1 * scale[1] + BETWEEN);
        let count = count.min(MAX_PIXELS / tile.0.checked_mul(tile.1)?.max(1));
        if count == 0 || size.0 * size.1 == 0 {
            return None;
        }
        let square = ((count as f64 * tile.0 as f64 / tile.1 as f64).sqrt() - 0.25).ceil() as usize;
        let across = across.unwrap_or(square).clamp(1, count);
        Some(Tiles { size, scale: (scale[0], scale[1]), count, across })
    }

    /// Number of images in the grid.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Draws the grid with `colour(image, row, column)`.
    pub fn draw(&self, colour: impl Fn(usize, usize, usize) -> [u8; 3]) -> Raster {
        let (th, tw) = (self.size.0 * self.scale.0 + BETWEEN, self.size.1 * self.scale.1 + BETWEEN);
        let (height, width) = (self.count.div_ceil(self.across) * th + BETWEEN, self.across * tw + BETWEEN);
        let mut raster = Raster { width, height, pixels: GAP.repeat(width * height) };
        for tile in 0..self.count {
            let (top, left) = (tile / self.across * th + BETWEEN, tile % self.across * tw + BETWEEN);
            for y in 0..th - BETWEEN {
                for x in 0..tw - BETWEEN {
                    let [r, g, b] = colour(tile, y / self.scale.0, x / self.scale.1);
                    let at = 4 * ((top + y) * width + left + x);
                    raster.pixels[at..at + 4].copy_from_slice(&[r, g, b, 255]);
                }
            }
        }
        // A grey tile at the end would look like an image.
        let (top, left) = (height - th, (self.count - 1) % self.across * tw + tw + BETWEEN);
        for y in top..height {
            raster.pixels[4 * (y * width + left)..4 * (y + 1) * width]
                .chunks_mut(4)
                .for_each(|p| p.copy_from_slice(&EMPTY));
        }
        raster
    }
}

/// PNG bytes as a data URI.
pub fn data_uri(png: &[u8]) -> String {
    let mut uri = String::from("data:image/png;base64,");
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in png.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            uri.push(if i <= three.len() { char::from(digit) } else { '=' });
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(png: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width, info.height, pixels)
    }

    #[test]
    fn a_png_gives_back_its_pixels() {
        let raster = Raster::new(3, 5, |y, x| [10 * y as u8, 20 * x as u8, 7]);
        let (width, height, pixels) = decoded(&raster.png("a test — with a dash"));
        assert_eq!((width, height), (5, 3));
        assert_eq!(pixels, raster.pixels);
    }

    #[test]
    fn every_tile_is_in_its_place() {
        let tiles = Tiles::new(6, (8, 8), Some(3)).unwrap();
        let raster = tiles.draw(|tile, y, x| [tile as u8, y as u8, x as u8]);
        assert_eq!((raster.width, raster.height), (3 * 59 + 3, 2 * 59 + 3));
        let pixel = |y: usize, x: usize| &raster.pixels[4 * (y * raster.width + x)..][..4];
        assert_eq!(pixel(0, 0), GAP);
        assert_eq!(pixel(3, 3), [0, 0, 0, 255]);
        assert_eq!(pixel(59 + 3 + 55, 2 * 59 + 3 + 7), [5, 7, 1, 255]);
        let raster = Tiles::new(5, (8, 8), Some(3)).unwrap().draw(|_, _, _| [9, 9, 9]);
        let pixel = |y: usize, x: usize| &raster.pixels[4 * (y * raster.width + x)..][..4];
        assert_eq!((pixel(2 * 59 - 1, 2 * 59 + 3), pixel(2 * 59 - 1, 2 * 59 - 1)), (&EMPTY[..], &[9, 9, 9, 255][..]));
        assert_eq!(pixel(59 - 1, 2 * 59 + 3), [9, 9, 9, 255]);
    }

    #[test]
    fn images_of_any_size_fit_or_are_left_out() {
        assert_eq!(Tiles::new(100, (1, 784), None).unwrap().across, 1);
        assert!(Tiles::new(100, (784, 1), None).unwrap().across > 50);
        assert_eq!(Tiles::new(100, (1000, 1000), None).unwrap().count(), 3);
        assert!(Tiles::new(100, (5000, 5000), None).is_none());
        assert!(Tiles::new(0, (8, 8), None).is_none());
        assert!(Tiles::new(3, (0, 8), None).is_none());
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in cases {
            assert_eq!(data_uri(bytes.as_bytes()), format!("data:image/png;base64,{text}"));
        }
    }
}
