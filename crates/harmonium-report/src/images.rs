//! Rows as images: data, their reconstructions, and samples, in grids of grey pictures.

use crate::Report;
use crate::axis::range;
use crate::colour::grey;
use crate::figure::{Bar, Figure, Section};
use crate::raster::Tiles;
use crate::text::{count, number};
use ndarray::ArrayView2;

/// Images in a grid at most.
const MOST: usize = 64;

/// Data, reconstructions and samples side by side, if rows are images.
pub fn section(report: &Report) -> Option<Section> {
    let size = report.image()?;
    let (lo, hi) = value_range(report);
    let grids = [
        ("data", "Data", report.data, "Rows of the data."),
        (
            "reconstructions",
            "Reconstructions",
            report.reconstructions,
            "The same rows after one mean-field pass up and down.",
        ),
        ("samples", "Samples", report.samples, "Rows sampled from the machine."),
    ];
    let bar = Bar { map: grey, lo: number(lo), hi: number(hi), label: "value".into() };
    let figures: Vec<Figure> = grids
        .into_iter()
        .filter(|grid| report.fits(grid.2))
        .filter_map(|(name, title, rows, about)| {
            let tiles = Tiles::new(rows.nrows().min(MOST), size, None)?;
            let pixel = |r: usize, y: usize, x: usize| f64::from(rows[[r, y * size.1 + x]]);
            let raster = tiles.draw(|r, y, x| grey(fraction(pixel(r, y, x), lo, hi)));
            let caption = format!("{about} {} of {} × {} pixels.", count(tiles.count(), "image"), size.0, size.1);
            Some(Figure::of_pixels(name, title, &raster, Some(&bar), false, caption))
        })
        .collect();
    (!figures.is_empty()).then(|| Section { heading: "Data and samples", notes: Vec::new(), figures })
}

/// Where a value lies between two others; the middle if they are equal.
pub fn fraction(value: f64, lo: f64, hi: f64) -> f64 {
    if hi > lo { (value - lo) / (hi - lo) } else { 0.5 }
}

/// What is black and what is white: the smallest and largest state, or the range of the data shown.
fn value_range(report: &Report) -> (f64, f64) {
    let unit = report.rbm.visible().kind().unit::<f32>();
    let mut columns = vec![0.0; unit.width()];
    let mut states = Vec::new();
    for state in 0..unit.n_states().unwrap_or(0) {
        unit.state(state, &mut columns);
        states.push(f64::from(unit.decode(&columns)));
    }
    let shown = |rows: ArrayView2<f32>| range(rows.rows().into_iter().take(MOST).flatten().map(|x| f64::from(*x)));
    range(states).or_else(|| shown(report.data)).or_else(|| shown(report.samples)).unwrap_or((0.0, 1.0))
}
