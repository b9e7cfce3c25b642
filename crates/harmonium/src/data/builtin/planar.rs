//! Points in the plane: curves and clusters with Gaussian noise, 2,000 points each, alternating between the groups.

use super::Memory;
use crate::rng::{self, Key};
use ndarray::Array2;
use std::f64::consts::{PI, TAU};

const ROWS: usize = 2000;

/// The centres of the Gaussians of the mixture.
const CORNERS: [[f64; 2]; 4] = [[2.0, 2.0], [-2.0, 2.0], [-2.0, -2.0], [2.0, -2.0]];

/// Four Gaussians of standard deviation 0.5 at (±2, ±2), counter-clockwise.
pub fn mixture(argument: Option<&str>) -> Result<Memory, String> {
    points(argument, 1, 0.5, |row, _| CORNERS[row % 4])
}

/// Two half circles of radius 1, around (0, 0) and, upside down, around (1, ½); noise of standard deviation 0.1.
pub fn moons(argument: Option<&str>) -> Result<Memory, String> {
    points(argument, 2, 0.1, |row, u| {
        let (sin, cos) = (PI * u).sin_cos();
        if row % 2 == 0 { [cos, sin] } else { [1.0 - cos, 0.5 - sin] }
    })
}

/// Two circles of radius 1 and 2 around the origin; noise of standard deviation 0.1.
pub fn rings(argument: Option<&str>) -> Result<Memory, String> {
    points(argument, 3, 0.1, |row, u| {
        let (sin, cos) = (TAU * u).sin_cos();
        let radius = 1.0 + (row % 2) as f64;
        [radius * cos, radius * sin]
    })
}

/// Points of `curve`, a function of the row and a uniform number, plus noise.
fn points(
    argument: Option<&str>,
    generator: u64,
    noise: f64,
    curve: impl Fn(usize, f64) -> [f64; 2],
) -> Result<Memory, String> {
    super::no_argument(argument)?;
    let key: Key = super::key(generator);
    let table = Array2::from_shape_fn((ROWS, 2), |(row, axis)| {
        let [u, _] = key.uniforms(row as u64, 0);
        curve(row, u)[axis] + noise * rng::normal(key.uniforms::<f64>(row as u64, 1 + axis as u32))
    });
    Ok(Memory::new(table, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of f over the rows, minus what they should be, in standard errors: all below 5.
    fn check(f: impl Iterator<Item = f64>, mean: f64, deviation: f64) {
        let f: Vec<f64> = f.collect();
        let n = f.len() as f64;
        let found = f.iter().sum::<f64>() / n;
        let spread = (f.iter().map(|x| (x - found).powi(2)).sum::<f64>() / n).sqrt();
        assert!((found - mean).abs() < 5.0 * deviation / n.sqrt(), "mean {found}, expected {mean}");
        assert!((spread / deviation - 1.0).abs() < 5.0 / (2.0 * n).sqrt(), "deviation {spread}, expected {deviation}");
    }

    #[test]
    fn the_mixture_has_a_quarter_of_its_points_around_each_corner() {
        let table = mixture(None).unwrap().into_table();
        assert_eq!(table.dim(), (2000, 2));
        for (first, corner) in CORNERS.into_iter().enumerate() {
            for (column, mean) in table.columns().into_iter().zip(corner) {
                check(column.iter().skip(first).step_by(4).copied(), mean, 0.5);
            }
        }
    }

    /// Noise of standard deviation s across a curve of radius r moves the mean radius by s²/2r, here 0.005 and 0.0025.
    #[test]
    fn rings_and_moons_keep_their_radii() {
        let table = rings(None).unwrap().into_table();
        for (first, radius, mean) in [(0, 1.0, 1.005), (1, 2.0, 2.0025)] {
            let rows = table.rows().into_iter().skip(first).step_by(2);
            check(rows.map(|p| p[0].hypot(p[1])), mean, 0.1);
            // Uniform around the circle: cos has mean 0 and variance ½, and so has sin.
            let cosines = table.column(0).into_iter().skip(first).step_by(2).sum::<f64>() / 1000.0 / radius;
            assert!(cosines.abs() < 5.0 * (0.51f64 / 1000.0).sqrt(), "{cosines}");
        }
        let table = moons(None).unwrap().into_table();
        let from = |first: usize, x: f64, y: f64| {
            table.rows().into_iter().skip(first).step_by(2).map(move |p| (p[0] - x).hypot(p[1] - y)).collect::<Vec<_>>()
        };
        check(from(0, 0.0, 0.0).into_iter(), 1.005, 0.1);
        check(from(1, 1.0, 0.5).into_iter(), 1.005, 0.1);
        assert!(table.column(1).iter().step_by(2).all(|y| *y > -0.5));
        assert!(table.column(1).iter().skip(1).step_by(2).all(|y| *y < 1.0));
    }
}
