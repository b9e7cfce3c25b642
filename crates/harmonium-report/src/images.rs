//! Rows as images: grids of data, reconstructions and samples.

use crate::ReportData;
use crate::axis::range;
use crate::colour::grey;
use crate::figure::{ColourBar, Figure, Section};
use crate::raster::Tiles;
use crate::text::{count, number};
use crate::values::{fraction, value_range};
use ndarray::ArrayView2;

/// Images per grid at most.
const MAX_IMAGES: usize = 64;

/// Data, reconstructions and samples side by side, if rows are images.
pub fn section(report: &ReportData) -> Option<Section> {
    let size = report.image()?;
    let (lo, hi) = black_and_white(report);
    let grids = [
        ("data", "Data", report.data, "Rows of the training data."),
        (
            "reconstructions",
            "Reconstructions",
            report.reconstructions,
            "The same rows reconstructed: visible units to hidden means and back. They should look like the data.",
        ),
        (
            "samples",
            "Samples",
            report.samples,
            "Rows sampled from the model. They should look like the data and vary as much.",
        ),
    ];
    let bar = ColourBar { map: grey, lo: number(lo), hi: number(hi), label: "value".into() };
    let figures: Vec<Figure> = grids
        .into_iter()
        .filter(|grid| report.fits(grid.2))
        .filter_map(|(name, title, rows, about)| {
            let tiles = Tiles::new(rows.nrows().min(MAX_IMAGES), size, None)?;
            let pixel = |r: usize, y: usize, x: usize| f64::from(rows[[r, y * size.1 + x]]);
            let raster = tiles.draw(|r, y, x| grey(fraction(pixel(r, y, x), lo, hi)));
            let caption = format!("{about} {} of {} × {} pixels.", count(tiles.count(), "image"), size.0, size.1);
            Some(Figure::from_raster(name, title, &raster, Some(&bar), false, caption))
        })
        .collect();
    (!figures.is_empty()).then(|| Section { heading: "Data and samples", folded: false, notes: Vec::new(), figures })
}

/// The values drawn black and white: the smallest and largest state, or the range of the rows shown.
fn black_and_white(report: &ReportData) -> (f64, f64) {
    let shown =
        |rows: ArrayView2<f32>| range(rows.rows().into_iter().take(MAX_IMAGES).flatten().map(|x| f64::from(*x)));
    let states = value_range(report.rbm.visible().layout());
    states.or_else(|| shown(report.data)).or_else(|| shown(report.samples)).unwrap_or((0.0, 1.0))
}
