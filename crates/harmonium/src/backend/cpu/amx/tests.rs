//! Tile products against their scalar twin, against f64, and inside the backend. Only the tile instructions are emulated where
//! the processor has none; all else runs on its own vectors.

use super::super::panels::{self, Panels, Strip, WIDTH, panels_of};
use super::super::planes::Planes;
use super::super::twins::{Numbers, SHAPES, planes_of};
use super::super::{Cpu, Level};
use super::*;
use crate::backend::{Backend, Sweeps};
use crate::rng::Key;
use crate::states::States;
use crate::stats::{Stats, Take};
use crate::{Rbm, units::Kind};

/// The largest number of a column.
fn largest(panel: &[Strip<f32>], c: usize) -> f64 {
    panel.iter().map(|s| f64::from(s.0[c]).abs()).fold(0.0, f64::max)
}

/// The specification, one number at a time: round to steps, take digits, sum integers, combine.
fn twin(row: &[bool], panel: &[Strip<f32>], c: usize, largest: f64) -> f32 {
    if largest < 2f64.powi(-100) {
        return 0.0;
    }
    let mut step = 2f64.powi(-130);
    while largest > 8_355_000.0 * step {
        step *= 2.0;
    }
    let (mut lower, mut high) = (0i64, 0i64);
    for (_, strip) in row.iter().zip(panel).filter(|(b, _)| **b) {
        let whole = (f64::from(strip.0[c]) / step).round_ties_even() as i64;
        let d0 = (whole + 128).rem_euclid(256) - 128;
        let d1 = ((whole - d0) / 256 + 128).rem_euclid(256) - 128;
        let d2 = ((whole - d0) / 256 - d1) / 256;
        assert!((-128..128).contains(&d2) && d0 + 256 * d1 + 65_536 * d2 == whole);
        lower += d0 + 256 * d1;
        high += d2;
    }
    (high as f32 * 65_536.0 + lower as f32) * step as f32
}

/// |Σ w − sum| ≤ a step's half per number, and two roundings of f32.
fn check_error(row: &[bool], panel: &[Strip<f32>], c: usize, largest: f64, found: f32) {
    let set: Vec<f64> = row.iter().zip(panel).filter(|(b, _)| **b).map(|(_, s)| f64::from(s.0[c])).collect();
    let want: f64 = set.iter().sum();
    let bound = 1.01 * set.len() as f64 * (largest / 8_355_000.0).max(2f64.powi(-100)) + want.abs() * 2f64.powi(-23);
    assert!((f64::from(found) - want).abs() <= bound, "{found} for {want}");
}

fn bytes_of(planes: &Planes) -> Bytes {
    let mut bytes = Bytes::default();
    bytes.load(true, planes, &(0..planes.rows()));
    bytes
}

/// Ordinary numbers, ±10⁴, denormals, all of them; one size of all with both signs; almost nothing; the largest digits.
fn panel(r: &mut Numbers, rows: usize, kind: usize) -> Vec<Strip<f32>> {
    let mut same = |x: f32| {
        let mut strip = || Strip(std::array::from_fn(|_| if r.uniform() < 0.5 { x } else { -x }));
        (0..rows).map(|_| strip()).collect()
    };
    match kind {
        0..4 => r.strips(rows, kind),
        4 => same(0.37),
        5 => same(f32::from_bits(27 << 23)),
        6 => same(8_355_000.0 / 4_194_304.0),
        _ => same(f32::from_bits((8_355_000f32 / 4_194_304.0).to_bits() + 1)),
    }
}

#[test]
fn tile_products_equal_their_scalar_twin() {
    let mut r = Numbers(20);
    for ((rows, columns), kind) in SHAPES.into_iter().flat_map(|s| (0..8).map(move |k| (s, k))) {
        let bits = r.bits(rows, columns, [0.5, 1.0, 0.1, 0.0][kind % 4]);
        let (planes, strips) = (planes_of(&bits), panel(&mut r, columns, kind));
        for level in Level::with_tiles() {
            let (bytes, mut digits) = (bytes_of(&planes), Digits::default());
            digits.load(level, &strips);
            let mut out = vec![Strip([3.0; WIDTH]); rows];
            product(level, false, &bytes, Panel { strips: &strips, digits: Some(&digits), shorts: None }, &mut out);
            let mut twice = out.clone();
            product(level, true, &bytes, Panel::from(&strips[..]), &mut twice);
            for c in 0..WIDTH {
                let largest = largest(&strips, c);
                for (i, row) in bits.iter().enumerate() {
                    let want = twin(row, &strips, c, largest);
                    assert_eq!(out[i].0[c], want, "{rows} x {columns}, kind {kind}, {i}, {c}");
                    assert_eq!(twice[i].0[c], want + want);
                    check_error(row, &strips, c, largest, want);
                }
            }
        }
    }
}

/// Buffers that held a larger factor, and rows from the middle.
#[test]
fn what_was_loaded_before_leaves_no_trace() {
    let (mut r, level) = (Numbers(21), Level::with_tiles()[0]);
    let (mut bytes, mut digits) = (Bytes::default(), Digits::default());
    for (rows, columns) in [(100, 200), (40, 130), (33, 3)] {
        let (bits, strips) = (r.bits(rows, columns, 0.9), panel(&mut r, columns, 0));
        bytes.load(false, &planes_of(&bits), &(1..rows - 1));
        digits.load(level, &strips);
        let mut out = vec![Strip([3.0; WIDTH]); rows - 2];
        product(level, false, &bytes, Panel { strips: &strips, digits: Some(&digits), shorts: None }, &mut out);
        for (i, c) in (1..rows - 1).flat_map(|i| (0..WIDTH).map(move |c| (i, c))) {
            assert_eq!(out[i - 1].0[c], twin(&bits[i], &strips, c, largest(&strips, c)));
        }
    }
}

/// Sums at `LONGEST` columns, all of the largest digits, do not overflow.
#[test]
fn the_longest_sums_are_exact() {
    let level = Level::with_tiles()[0];
    let planes = planes_of(&[vec![true; LONGEST]]);
    for x in [8_355_000f32, -8_355_000.0, -32_896.0, 32_639.0] {
        // The second column's step is 1 for all of them.
        let mut strips = vec![Strip([x; WIDTH]); LONGEST];
        strips[0].0[1] = 8_355_000.0;
        let mut out = vec![Strip::zero()];
        product(level, false, &bytes_of(&planes), Panel::from(&strips[..]), &mut out);
        for c in 0..2 {
            let want: f64 = strips.iter().map(|s| f64::from(s.0[c])).sum();
            assert!((f64::from(out[0].0[c]) / want - 1.0).abs() < 2f64.powi(-23), "{} for {want}", out[0].0[c]);
        }
    }
}

/// Numbers that are none stay none, in their column only.
#[test]
fn infinities_and_nan_are_not_hidden() {
    let level = Level::with_tiles()[0];
    let planes = planes_of(&[vec![true; 70]]);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut strips = vec![Strip([1.0; WIDTH]); 70];
        strips[66].0[5] = bad;
        let mut out = vec![Strip::zero()];
        product(level, false, &bytes_of(&planes), Panel::from(&strips[..]), &mut out);
        for c in 0..WIDTH {
            assert!(if c == 5 { out[0].0[c].is_nan() } else { out[0].0[c] == 70.0 });
        }
    }
}

/// The product that detection tries.
#[test]
fn the_test_of_the_instructions_passes() {
    Level::with_tiles();
    // SAFETY: tiles are there or emulated.
    assert!(unsafe { detect::tested() });
    assert_eq!(available(), Level::available().iter().any(|l| l.has_tiles()));
}

/// Panels have digits for both directions where there are tiles, and for f32 only.
#[test]
fn panels_have_digits_where_there_are_tiles() {
    let level = Level::with_tiles()[0];
    let (rows, columns) = (70, 45);
    let numbers: Vec<f32> = (0..rows * columns).map(|i| (i as f32).sin()).collect();
    let (mut plain, mut turned, mut wide) = (Panels::default(), Panels::default(), Panels::default());
    let (shape, len) = ((rows, columns), WIDTH * columns);
    panels::set(level, shape, numbers.chunks(len), |w| w, (&mut plain, 2.0), (&mut turned, 3.0));
    let ones = vec![1f64; rows * columns];
    panels::set(level, shape, ones.chunks(len), |w| w, (&mut wide, 2.0), (&mut Panels::default(), 3.0));
    assert!(wide.panel(0).digits.is_none());
    for (panels, p) in [(&plain, panels_of(columns)), (&turned, panels_of(rows))] {
        for p in 0..p {
            let mut want = Digits::default();
            want.load(level, panels.panel(p).strips);
            assert_eq!(format!("{:?}", panels.panel(p).digits.unwrap()), format!("{want:?}"));
        }
    }
    let level = Level::available()[0];
    panels::set(level, shape, numbers.chunks(len), |w| w, (&mut plain, 2.0), (&mut turned, 3.0));
    assert!(plain.panel(0).digits.is_none());
}

/// A model and rows of bits, a part `density` of them set.
fn model_and_rows(units: [&str; 2], (n, m, rows): (usize, usize, usize), density: f64) -> (Rbm<f64>, States<f32>) {
    let kind = |name| Kind::new(name, &Default::default()).unwrap();
    let mut r = Numbers(30);
    let weights = ndarray::Array2::from_shape_fn((n, m), |_| 0.2 * (r.uniform() - 0.5));
    let layers = [(units[0], n), (units[1], m)].map(|(name, size)| crate::Layer::new(kind(name), size));
    let [visible, hidden] = layers;
    let mut packed = crate::Bits::new(n);
    r.bits(rows, n, density).iter().for_each(|row| packed.push(row.iter().copied()));
    (Rbm::from_parts(visible, hidden, weights).unwrap(), States::Bits(packed))
}

/// What a backend says of these rows: statistics, free energies, rows after two sweeps.
fn ask(rbm: &Rbm<f64>, level: Level, rows: &States<f32>) -> (Stats<f32>, Vec<f64>, States<f32>) {
    let lowered = rbm.cast::<f32>().lower();
    let mut stats = Stats::zeros(&lowered);
    let mut cpu = Cpu::with_level(lowered, level);
    let weights: Vec<f32> = (0..rows.rows()).map(|r| 0.5 + (r % 3) as f32).collect();
    cpu.put(0, rows, None);
    cpu.stats(0, Some(&weights), None, Take::Sums, &mut stats);
    let free = cpu.free_energy(rows).to_vec();
    cpu.gibbs(0, Sweeps { steps: 2, key: Key::root(2), first: 0, beta: None });
    (stats, free, cpu.get(0))
}

/// Whole half-steps, statistics and free energies, on several chunks of rows and any number of threads: the numbers of f64 to
/// the precision of f32, the draws of the other levels, the same bits for all threads and vectors.
#[test]
fn a_backend_with_tiles_computes_what_the_others_do() {
    let units = [["bernoulli", "bernoulli"], ["spin", "bernoulli"], ["bernoulli", "spin"]];
    for (units, shape) in units.into_iter().zip([(300, 130, 130), (65, 40, 1100), (40, 33, 67)]) {
        let (rbm, rows) = model_and_rows(units, shape, 0.5);
        let plain = ask(&rbm, Level::available()[0], &rows);
        let (exact, free) = exactly(&rbm, &rows);
        let mut first = None;
        for (level, threads) in Level::with_tiles().into_iter().zip([1, 3, 2]) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| ask(&rbm, level, &rows));
            assert!(first.get_or_insert(found.clone()) == &found, "{}, {threads} threads", level.name());
        }
        let (stats, energies, states) = first.unwrap();
        assert_ne!((&stats.cross, &energies), (&plain.0.cross, &plain.1), "tiles were not used");
        assert_eq!(states, plain.2);
        let size = shape.2 as f64;
        for (found, want) in stats.cross.iter().zip(&exact.cross).chain(stats.hidden.iter().zip(&exact.hidden)) {
            assert!((f64::from(*found) - want).abs() < 1e-6 * size, "{found} for {want}");
        }
        for (found, want) in energies.iter().zip(free) {
            assert!((found - want).abs() < 1e-5 * (1.0 + want.abs()), "{found} for {want}");
        }
    }
}

/// Statistics and free energies by the definitions, in f64.
fn exactly(rbm: &Rbm<f64>, rows: &States<f32>) -> (Stats<f64>, Vec<f64>) {
    let lowered = rbm.lower();
    let unit = rbm.visible().kind().unit::<f32>();
    let x = rows.columns(unit, 0, rows.rows()).mapv(f64::from);
    let weights = ndarray::Array1::from_shape_fn(rows.rows(), |r| 0.5 + (r % 3) as f64);
    (lowered.up().stats(x.view(), weights.view()), lowered.up().free_energy(x.view()).to_vec())
}

/// Sparse rows are lists at every level, and f64 has no tiles: the same bits as without.
#[test]
fn sparse_rows_and_f64_do_not_use_tiles() {
    let level = Level::with_tiles()[0];
    let (rbm, rows) = model_and_rows(["bernoulli", "bernoulli"], (300, 40, 130), 0.02);
    let (found, plain) = (ask(&rbm, level, &rows), ask(&rbm, Level::available()[0], &rows));
    assert_eq!((found.0, found.1), (plain.0, plain.1));
    let (rbm, rows) = model_and_rows(["bernoulli", "bernoulli"], (300, 40, 130), 0.5);
    let States::Bits(bits) = rows else { unreachable!() };
    let free = |level| Cpu::with_level(rbm.lower(), level).free_energy(&States::Bits(bits.clone()));
    assert_eq!(free(level), free(Level::available()[0]));
}
