//! Weights: the filter of each hidden unit as an image, or the weight matrix.

use crate::ReportData;
use crate::colour::diverging;
use crate::figure::{ColourBar, Figure};
use crate::raster::{Raster, Tiles};
use crate::text::{count, number};
use harmonium::Rbm;
use ndarray::{Array1, Array2, Axis};
use std::ops::Range;

/// Filters shown at most.
const MAX_FILTERS: usize = 100;
/// Visible columns of the matrix at most; a larger one cannot be read.
const MAX_ROWS: usize = 256;
/// Hidden columns of the matrix at most.
const MAX_COLUMNS: usize = 256;
/// Fraction of the weights within the colour scale; the few largest would make all others pale.
const WITHIN_SCALE: f64 = 0.998;

/// Filters if rows are images, otherwise the matrix if it is not too large.
pub fn figure(report: &ReportData) -> Option<Figure> {
    match report.image() {
        Some(size) => filters(report, size),
        None => matrix(report),
    }
}

/// "all 12 hidden units", "the 100 strongest of 500 hidden units".
pub fn shown_of(shown: usize, all: usize) -> String {
    if shown < all {
        format!("the {shown} strongest of {}", count(all, "hidden unit"))
    } else if all == 1 {
        "the only hidden unit".into()
    } else {
        format!("all {}", count(all, "hidden unit"))
    }
}

/// Hidden columns by the norm of their weights, largest first.
pub fn strongest(rbm: &Rbm<f32>) -> Vec<usize> {
    let squares: Array1<f64> = rbm.weights().map_axis(Axis(0), |w| w.iter().map(|x| f64::from(*x).powi(2)).sum());
    let mut order: Vec<usize> = (0..squares.len()).collect();
    order.sort_by(|&i, &j| squares[j].total_cmp(&squares[i]).then(i.cmp(&j)));
    order
}

fn filters(report: &ReportData, size: (usize, usize)) -> Option<Figure> {
    let order = strongest(report.rbm);
    let tiles = Tiles::new(order.len().min(MAX_FILTERS), size, None)?;
    let shown = per_site(report.rbm, &order[..tiles.count()]);
    let (scale, saturated) = symmetric_scale(&shown);
    let raster = tiles.draw(|j, y, x| colour(shown[[y * size.1 + x, j]], scale));
    let visible = report.rbm.visible();
    let slope = match visible.columns() - visible.sites() {
        0 => "",
        _ => " A pixel shows the slope of its weights over the states.",
    };
    let caption = format!(
        "Weights of {}, strongest first, all on one scale. Learned filters show structure; noise means that a unit has \
         learned nothing.{slope}{saturated}",
        shown_of(tiles.count(), order.len())
    );
    Some(Figure::from_raster("filters", "Filters", &raster, Some(&bar(scale)), true, caption))
}

fn matrix(report: &ReportData) -> Option<Figure> {
    let rbm = report.rbm;
    let rows = rbm.weights().nrows();
    if rows > MAX_ROWS {
        return None;
    }
    let order = strongest(rbm);
    let shown = order.len().min(MAX_COLUMNS);
    let weights = rbm.weights().select(Axis(1), &order[..shown]).mapv(f64::from);
    let (scale, saturated) = symmetric_scale(&weights);
    let (down, across) = ((320 / rows).clamp(1, 24), (560 / shown).clamp(1, 24));
    let raster = Raster::new(rows * down, shown * across, |y, x| colour(weights[[y / down, x / across]], scale));
    let caption = format!(
        "Each row of the picture is a visible unit ({}), each column a hidden unit: {}, strongest first.{saturated}",
        from_the_top(report),
        shown_of(shown, order.len())
    );
    Some(Figure::from_raster("weights", "Weight matrix", &raster, Some(&bar(scale)), true, caption))
}

/// "from the top: first to last", "from the top: column 1 and column 2".
fn from_the_top(report: &ReportData) -> String {
    let (sites, first) = (report.rbm.visible().sites(), report.column(0));
    let last = report.column(sites.saturating_sub(1));
    match sites {
        1 => first,
        2 => format!("from the top: {first} and {last}"),
        _ => format!("from the top: {first} to {last}"),
    }
}

fn colour(weight: f64, scale: f64) -> [u8; 3] {
    diverging(0.5 + 0.5 * weight / scale)
}

fn bar(scale: f64) -> ColourBar {
    ColourBar { map: diverging, lo: number(-scale), hi: number(scale), label: "weight".into() }
}

/// Weights of these hidden columns, one row per site. A Potts site has the slope of its weights over the states, because
/// images draw its state as brightness.
fn per_site(rbm: &Rbm<f32>, order: &[usize]) -> Array2<f64> {
    let (layout, weights) = (rbm.visible().layout(), rbm.weights());
    let slope = |columns: Range<usize>, j: usize| {
        let q = columns.len();
        let centred = (0..q).map(|k| if q == 1 { 1.0 } else { k as f64 - 0.5 * (q - 1) as f64 });
        let norm: f64 = centred.clone().map(|c| c * c).sum();
        centred.zip(columns).map(|(c, i)| c * f64::from(weights[[i, j]])).sum::<f64>() / norm
    };
    Array2::from_shape_fn((layout.sites(), order.len()), |(site, j)| slope(layout.columns_of(site), order[j]))
}

/// The magnitude with the strongest colour, and a sentence for the caption if some weights are larger.
fn symmetric_scale(weights: &Array2<f64>) -> (f64, String) {
    let mut sizes: Vec<f64> = weights.iter().map(|w| w.abs()).filter(|w| w.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    let largest = sizes.last().copied().unwrap_or(0.0);
    let usual = sizes.get((WITHIN_SCALE * sizes.len() as f64) as usize).copied().unwrap_or(largest);
    if largest == 0.0 {
        return (1.0, " All weights are 0.".into());
    }
    if usual > 0.0 && largest > 1.3 * usual {
        let text =
            format!(" Colours saturate at weights of size {}; the largest is {}.", number(usual), number(largest));
        return (usual, text);
    }
    (largest, String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use harmonium::Layer;
    use harmonium::units::Kind;

    fn model(weights: Array2<f32>) -> Rbm<f32> {
        let kind = Kind::new("bernoulli", &Default::default()).unwrap();
        let layer = |n| Layer::new(kind.clone(), n);
        Rbm::from_parts(layer(weights.nrows()), layer(weights.ncols()), weights).unwrap()
    }

    #[test]
    fn the_strongest_come_first_and_equals_keep_their_order() {
        let rbm = model(ndarray::array![[1.0, -3.0, 1.0], [0.0, 0.0, 0.0]]);
        assert_eq!(strongest(&rbm), [1, 0, 2]);
    }

    #[test]
    fn one_outlier_does_not_make_the_rest_pale() {
        let mut weights = Array2::from_elem((100, 10), 0.5);
        weights[[3, 3]] = -40.0;
        let (scale, text) = symmetric_scale(&weights);
        assert_eq!(scale, 0.5);
        assert!(text.contains("40"));
        assert_eq!(symmetric_scale(&Array2::zeros((2, 2))).0, 1.0);
    }

    #[test]
    fn potts_sites_show_the_slope_over_their_states() {
        let options = [("states".to_string(), "3".to_string())].into();
        let potts = Layer::new(Kind::new("potts", &options).unwrap(), 1);
        let hidden = Layer::new(Kind::new("bernoulli", &Default::default()).unwrap(), 1);
        let rbm = Rbm::from_parts(potts, hidden, ndarray::array![[1.0], [3.0], [5.0]]).unwrap();
        assert_eq!(per_site(&rbm, &[0]), ndarray::array![[2.0]]);
    }
}
