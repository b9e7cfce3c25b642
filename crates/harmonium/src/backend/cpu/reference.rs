//! Reference kernels: what each kernel computes, one number at a time, and tests that every level computes the same bits.

use super::bit_planes::BitPlanes;
use super::dense::{self, Packed};
use super::epilogue::{self, Draw, Heat, Odds};
use super::factor::Operand;
use super::index_lists::IndexLists;
use super::layer_states::LayerStates;
use super::lookup_tables::CodeWords;
use super::panels::{Strip, WIDTH};
use super::{Level, index_lists, lookup_tables};
use crate::math::{logistic, softplus};
use crate::real::Real;
use crate::rng::Key;

/// Shapes with every kind of ragged edge: rows × columns.
pub const SHAPES: [(usize, usize); 9] =
    [(1, 1), (2, 5), (3, 39), (7, 40), (33, 41), (64, 64), (65, 255), (5, 257), (300, 530)];

/// Test numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn uniform(&mut self) -> f64 {
        self.0 += 1;
        Key::root(99).uniforms(self.0, 0)[0]
    }

    /// Rows of bits, a part `density` of them set.
    pub fn bits(&mut self, rows: usize, columns: usize, density: f64) -> Vec<Vec<bool>> {
        (0..rows).map(|_| (0..columns).map(|_| self.uniform() < density).collect()).collect()
    }

    /// Strips of ordinary numbers, of numbers near ±10⁴, of denormals, and of all of them.
    pub fn strips<T: Real>(&mut self, rows: usize, kind: usize) -> Vec<Strip<T>> {
        let tiny = T::min_positive_value().f64() / 64.0;
        let mut number = || {
            let x = 2.0 * self.uniform() - 1.0;
            match if kind == 3 { (self.uniform() * 3.0) as usize } else { kind } {
                0 => T::of(x),
                1 => T::of(x.signum() * (1e4 + x)),
                _ => T::of(tiny * x),
            }
        };
        (0..rows).map(|_| Strip(std::array::from_fn(|_| number()))).collect()
    }
}

pub fn bit_planes_of(bits: &[Vec<bool>]) -> BitPlanes {
    let mut packed = crate::Bits::new(bits[0].len());
    bits.iter().for_each(|row| packed.push(row.iter().copied()));
    let mut bit_planes = BitPlanes::default();
    bit_planes.load(bits[0].len(), (0..bits.len()).map(|r| packed.row(r)));
    assert_eq!(bit_planes.bits(), packed);
    bit_planes
}

/// Reference of `lookup_tables`: five columns are summed one after another, then added to the total.
pub fn tables_reference<T: Real>(row: &[bool], panel: &[Strip<T>], c: usize) -> T {
    let mut total = T::zero();
    for (bits, strips) in row.chunks(5).zip(panel.chunks(5)) {
        let mut sum = T::zero();
        for (_, strip) in bits.iter().zip(strips).filter(|(b, _)| **b) {
            sum += strip.0[c];
        }
        total += sum;
    }
    total
}

/// Reference of `index_lists`: within 256 columns, four set ones are summed in two pairs, then added to the total.
fn lists_reference<T: Real>(row: &[bool], panel: &[Strip<T>], c: usize) -> T {
    let mut total = T::zero();
    for (bits, strips) in row.chunks(256).zip(panel.chunks(256)) {
        let set: Vec<T> = bits.iter().zip(strips).filter(|(b, _)| **b).map(|(_, s)| s.0[c]).collect();
        for four in set.chunks(4) {
            match four {
                [p, q, s, t] => total += (*p + *q) + (*s + *t),
                small_batch => small_batch.iter().for_each(|x| total += *x),
            }
        }
    }
    total
}

fn products_equal_their_reference<T: Real>() {
    let mut r = Numbers(0);
    for ((rows, columns), kind) in SHAPES.into_iter().flat_map(|s| (0..4).map(move |k| (s, k))) {
        for density in [0.0, 0.1, 0.5, 1.0] {
            let bits = r.bits(rows, columns, density);
            let bit_planes = bit_planes_of(&bits);
            let panel: Vec<Strip<T>> = r.strips(columns, kind);
            let (mut codes, mut list) = (CodeWords::default(), IndexLists::default());
            codes.load(&bit_planes, &(0..rows));
            for level in Level::available() {
                list.load(level, true, &bit_planes, &(0..rows));
                let (mut a, mut b) = (vec![Strip([T::one(); WIDTH]); rows], vec![Strip([T::one(); WIDTH]); rows]);
                lookup_tables::product(level, false, &codes, &panel, &mut a);
                index_lists::product(level, false, &list, &panel, &mut b);
                for (i, c) in (0..rows).flat_map(|i| (0..WIDTH).map(move |c| (i, c))) {
                    assert!(a[i].0[c] == tables_reference(&bits[i], &panel, c), "{rows} x {columns}, {}", level.name());
                    assert!(b[i].0[c] == lists_reference(&bits[i], &panel, c), "{rows} x {columns}, {}", level.name());
                }
                // Added to itself a product is twice itself, to rounding.
                let (once_a, once_b) = (a.clone(), b.clone());
                lookup_tables::product(level, true, &codes, &panel, &mut a);
                index_lists::product(level, true, &list, &panel, &mut b);
                let size = if kind == 2 { T::min_positive_value().f64() } else { 1e4 * columns as f64 };
                for (i, c) in (0..rows).flat_map(|i| (0..WIDTH).map(move |c| (i, c))) {
                    for (twice, once) in [(a[i].0[c], once_a[i].0[c]), (b[i].0[c], once_b[i].0[c])] {
                        assert!((twice.f64() - 2.0 * once.f64()).abs() <= size * T::epsilon().f64() * columns as f64);
                    }
                }
            }
        }
    }
}

#[test]
fn products_of_bits_equal_their_scalar_reference() {
    products_equal_their_reference::<f32>();
    products_equal_their_reference::<f64>();
}

/// Reference of products with integers: runs of 200 columns are exact, then numbers, and added one after another.
fn short_reference<T: Real>(row: &[bool], panel: &[Strip<i16>], step: T, c: usize) -> T {
    let run = |(bits, strips): (&[bool], &[Strip<i16>])| -> i64 {
        bits.iter().zip(strips).filter(|(b, _)| **b).map(|(_, s)| i64::from(s.0[c])).sum()
    };
    let runs = row.chunks(200).zip(panel.chunks(200)).map(run).map(|sum| step * T::of(sum as f64));
    runs.reduce(|a, b| a + b).unwrap_or_default()
}

fn short_products_equal_their_reference<T: Real>() {
    let mut r = Numbers(1);
    for (rows, columns) in SHAPES.into_iter().chain([(3, 200), (4, 201), (2, 1000)]) {
        // Of both signs, and as large as a run of one sign may be.
        for (low, high) in [(-163.0, 163.0), (163.0, 163.0), (-163.0, -163.0)] {
            let bits = r.bits(rows, columns, if low == high { 1.0 } else { 0.5 });
            let number = |r: &mut Numbers| (low + (high - low) * r.uniform()).round() as i16;
            let panel: Vec<Strip<i16>> = (0..columns).map(|_| Strip(std::array::from_fn(|_| number(&mut r)))).collect();
            let (mut codes, step) = (CodeWords::default(), T::of(0.3));
            codes.load(&bit_planes_of(&bits), &(0..rows));
            for level in Level::available() {
                let mut out = vec![Strip([T::one(); WIDTH]); rows];
                lookup_tables::short_product(level, &codes, (&panel, step), &mut out);
                for (i, c) in (0..rows).flat_map(|i| (0..WIDTH).map(move |c| (i, c))) {
                    let want = short_reference(&bits[i], &panel, step, c);
                    assert!(out[i].0[c] == want, "{rows} x {columns}, {}: {} {want}", level.name(), out[i].0[c]);
                }
            }
        }
    }
}

#[test]
fn products_of_bits_with_integers_equal_their_scalar_reference() {
    short_products_equal_their_reference::<f32>();
    short_products_equal_their_reference::<f64>();
}

/// Lists of codes are the one-hot rows, and a transposed factor is the transpose, in every form.
#[test]
fn transposes_and_codes_are_the_matrices_they_stand_for() {
    let mut r = Numbers(7);
    for (rows, columns) in SHAPES {
        let bits = r.bits(rows, columns, 0.3);
        let transposed: Vec<Vec<bool>> = (0..columns).map(|c| bits.iter().map(|row| row[c]).collect()).collect();
        let (bit_planes, mut out) = (bit_planes_of(&bits), BitPlanes::default());
        bit_planes.transpose(&(0..rows), &mut out);
        assert_eq!(out, bit_planes_of(&transposed));
        let (mut list, mut back) = (IndexLists::default(), IndexLists::default());
        let level = Level::available()[0];
        list.load(level, true, &bit_planes, &(0..rows));
        list.transpose(true, &mut back);
        let panel: Vec<Strip<f64>> = r.strips(rows, 0);
        let mut product = vec![Strip::zero(); columns];
        index_lists::product(level, false, &back, &panel, &mut product);
        for (c, strip) in product.iter().enumerate() {
            assert!((0..WIDTH).all(|k| strip.0[k] == lists_reference(&transposed[c], &panel, k)));
        }
    }
    for (rows, sites, states) in [(1, 1, 2), (3, 4, 3), (40, 30, 21), (5, 3, 300)] {
        let codes: Vec<u16> = (0..rows * sites).map(|_| (r.uniform() * states as f64) as u16).collect();
        let one_hot: Vec<Vec<bool>> = codes
            .chunks(sites)
            .map(|row| (0..sites * states).map(|c| usize::from(row[c / states]) == c % states).collect())
            .collect();
        let (mut list, mut want) = (IndexLists::default(), IndexLists::default());
        list.load_codes(false, &codes, sites, states);
        want.load(Level::available()[0], false, &bit_planes_of(&one_hot), &(0..rows));
        assert_eq!(list.entries(), want.entries());
    }
}

/// Reference of `dense`: fused in the order of the strips, 256 of them by themselves.
fn dense_reference<T: Real>(x: impl Fn(usize) -> T, panel: &[Strip<T>], c: usize) -> T {
    let mut total = T::zero();
    for (strips, first) in panel.chunks(256).zip((0..).step_by(256)) {
        let fused = |sum: T, (k, strip): (usize, &Strip<T>)| x(first + k).mul_add(strip.0[c], sum);
        total += strips.iter().enumerate().fold(T::zero(), fused);
    }
    total
}

fn dense_products_equal_their_reference<T: Real>() {
    let (mut r, mut packed) = (Numbers(3), Packed::default());
    for ((rows, columns), kind) in SHAPES.into_iter().flat_map(|s| (0..4).map(move |k| (s, k))) {
        let strips: Vec<Strip<T>> = r.strips((rows * columns).div_ceil(WIDTH), kind);
        let x: Vec<T> = strips.iter().flat_map(|strip| strip.0).take(rows * columns).collect();
        let (panel, tall) = (r.strips(columns, kind), r.strips(rows, kind));
        for level in Level::available() {
            for (transposed, panel, width) in
                [(false, &panel, 32), (true, &tall, 32), (false, &panel, 9), (true, &tall, 20)]
            {
                if transposed {
                    packed.load_transposed(level, true, columns, &x);
                } else {
                    packed.load(level, true, columns, &x);
                }
                let number = |i: usize, k: usize| if transposed { x[k * columns + i] } else { x[i * columns + k] };
                let mut seen = 0;
                dense::each_group(level, &packed, panel, width, |group, sums| {
                    assert_eq!(group.start, seen);
                    seen = group.end;
                    for (i, sums) in group.zip(sums) {
                        for c in 0..width {
                            let want = dense_reference(|k| number(i, k), panel, c);
                            assert!(sums.0[c] == want, "{i}, {c} of {rows} x {columns}, {}", level.name());
                        }
                    }
                });
                assert_eq!(seen, if transposed { columns } else { rows });
                let mut out = vec![Strip([T::one(); WIDTH]); seen];
                dense::product(level, false, &packed, panel, &mut out);
                dense::product(level, true, &packed, panel, &mut out);
                for (i, c) in (0..seen).flat_map(|i| (0..WIDTH).map(move |c| (i, c))) {
                    let once = dense_reference(|k| number(i, k), panel, c);
                    assert!(out[i].0[c] == once + once, "{i}, {c} of {rows} x {columns}, {}", level.name());
                }
            }
        }
    }
}

#[test]
fn products_of_numbers_equal_their_scalar_reference() {
    dense_products_equal_their_reference::<f32>();
    dense_products_equal_their_reference::<f64>();
}

/// Means, sums, weights and draws of one number at a time; inputs from −10⁴ to 10⁴.
fn epilogue_equals_its_reference<T: Real>(tolerance: f64) {
    let mut r = Numbers(5);
    for (rows, kind) in [(1, 0), (63, 0), (65, 1), (130, 3)] {
        let x: Vec<Strip<T>> = r.strips(rows, kind);
        let field: Strip<T> = r.strips(1, 0)[0];
        let weights: Vec<T> = (0..rows).map(|_| T::of(r.uniform())).collect();
        let beta: Vec<T> = (0..rows).map(|_| T::of(r.uniform())).collect();
        let draw = Draw { key: Key::root(3), panel: 2, first: 1000 };
        let mut first = None;
        for level in Level::available() {
            let (mut means, mut sums, mut words) = (x.clone(), Strip::zero(), vec![0; rows]);
            epilogue::means(level, &mut means, WIDTH, &field, Some(&weights), &mut sums, Some((draw, &mut words)));
            let (mut plain, mut plain_sums) = (x.clone(), Strip::zero());
            epilogue::means(level, &mut plain, WIDTH, &field, None, &mut plain_sums, None);
            for width in [1, 8, 9, 16, 17] {
                let (mut part, mut part_sums, mut part_words) = (x.clone(), Strip::zero(), vec![0; rows]);
                let to = Some((draw, &mut part_words[..]));
                epilogue::means(level, &mut part, width, &field, Some(&weights), &mut part_sums, to);
                let (mut bare, mut bare_sums) = (x.clone(), Strip::zero());
                epilogue::means(level, &mut bare, width, &field, None, &mut bare_sums, None);
                for i in 0..rows {
                    assert_eq!((part_words[i] ^ words[i]) << (WIDTH - width), 0, "the bits of the first columns");
                    assert_eq!(
                        (&part[i].0[..width], &bare[i].0[..width]),
                        (&means[i].0[..width], &plain[i].0[..width])
                    );
                }
                assert_eq!((&part_sums.0[..width], &bare_sums.0[..width]), (&sums.0[..width], &plain_sums.0[..width]));
            }
            let (mut same, mut cold) = (vec![0; rows], vec![0; rows]);
            let plain_odds = Odds { field: &field, heat: None };
            let heat = |base| Odds { field: &field, heat: Some(Heat { beta: &beta, base }) };
            epilogue::draw(level, &x, plain_odds, draw, &mut same);
            epilogue::draw(level, &x, heat(None), draw, &mut cold);
            assert_eq!(words, same);
            for (i, c) in (0..rows).flat_map(|i| (0..WIDTH).map(move |c| (i, c))) {
                let p = logistic((x[i].0[c] + field.0[c]).f64());
                assert!((plain[i].0[c].f64() - p).abs() <= tolerance, "{} {p}", plain[i].0[c]);
                assert!((means[i].0[c].f64() - p * weights[i].f64()).abs() <= tolerance);
                let u = T::from_word(draw.key.groups([(1000 + i as u64, 2), (0, 0)])[0][c]);
                let inverse = T::one() + (-(x[i].0[c] + field.0[c])).exp_flat();
                assert!(words[i] >> c & 1 == u32::from(u * inverse < T::one()) && plain[i].0[c] == inverse.recip());
                let p = logistic(beta[i].f64() * (x[i].0[c] + field.0[c]).f64());
                let sure = (u.f64() - p).abs() > 2.0 * tolerance * (1.0 + beta[i].f64());
                assert!(!sure || (cold[i] >> c & 1 == 1) == (u.f64() < p));
            }
            for c in 0..WIDTH {
                let want: f64 = means.iter().map(|m| m.0[c].f64()).sum();
                assert!((sums.0[c].f64() - want).abs() <= 10.0 * tolerance * (1.0 + want));
            }
            let (mut norms, mut warm) = (vec![0.0; rows], vec![0; rows]);
            let (mut alone, mut beside) = (vec![0.0; rows], vec![0; rows]);
            let base = x[0];
            let odds = heat(Some(&base));
            epilogue::log_norms(level, &x, odds, T::of(-0.5), 29, &mut alone, None);
            epilogue::log_norms(level, &x, odds, T::of(-0.5), 29, &mut norms, Some((draw, &mut beside)));
            epilogue::draw(level, &x, odds, draw, &mut warm);
            assert_eq!(norms, alone);
            for (i, norm) in norms.iter().enumerate() {
                let odds = |c: usize| {
                    let (b, z) = (base.0[c].f64(), (x[i].0[c] + field.0[c]).f64());
                    b + beta[i].f64() * (z - b)
                };
                let want: f64 = (0..29).map(odds).map(|z| softplus(z) - 0.5 * z).sum();
                let size: f64 = (0..29).map(odds).map(f64::abs).sum();
                assert!((norm - want).abs() <= 40.0 * tolerance * (1.0 + size), "{norm} {want}");
                for c in 0..WIDTH {
                    let u = T::from_word(draw.key.groups([(1000 + i as u64, 2), (0, 0)])[0][c]).f64();
                    let sure = (u - logistic(odds(c))).abs() > 4.0 * tolerance * (1.0 + odds(c).abs());
                    assert!(!sure || [warm[i], beside[i]].map(|w| w >> c & 1 == 1) == [u < logistic(odds(c)); 2]);
                }
            }
            let norms: Vec<u64> = norms.iter().map(|x| x.to_bits()).collect();
            let result = (means, sums, words, plain, plain_sums, cold, norms, warm, beside);
            assert!(first.get_or_insert(result.clone()) == &result, "{}", level.name());
        }
    }
}

#[test]
fn the_epilogue_equals_its_scalar_reference() {
    epilogue_equals_its_reference::<f32>(3e-7);
    epilogue_equals_its_reference::<f64>(1e-15);
}

/// Index lists or lookup tables, chosen by cost, give the same product.
#[test]
fn factors_of_any_density_give_the_product() {
    let mut r = Numbers(11);
    for density in [0.02, 0.9] {
        let bits = r.bits(100, 100, density);
        let mut packed = crate::Bits::new(100);
        bits.iter().for_each(|row| packed.push(row.iter().copied()));
        let kind = crate::units::Kind::new("bernoulli", &Default::default()).unwrap();
        let lowered = crate::Rbm::<f64>::new(kind.clone(), 100, kind, 1).unwrap().lower();
        let (mut rows, mut factor) = (LayerStates::default(), Operand::default());
        rows.load(lowered.visible(), &crate::States::Bits(packed), None);
        factor.load(Level::available()[0], false, &rows, &(20..90));
        let panel: Vec<Strip<f64>> = r.strips(100, 0);
        let mut out = vec![Strip::zero(); 70];
        factor.product(Level::available()[0], false, &panel[..], &mut out);
        for (i, c) in (0..70).flat_map(|i| (0..WIDTH).map(move |c| (i, c))) {
            assert!((out[i].0[c] - lists_reference(&bits[20 + i], &panel, c)).abs() < 1e-13);
        }
    }
}
