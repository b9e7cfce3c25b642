//! Sums of shards in fixed point: the same bits however shards are spread over threads, devices and processes.
//!
//! A shard's sums are floating-point numbers, added in the order of its rows. As integers in units of 2^e they add up in any order.
//! e follows from the largest number of all shards; parts of very different size, such as columns that are not standardised, have
//! exponents of their own. They are known only when all shards were seen, so a grid of few exponents is used and the last ones are
//! tried first; if they were not right the shards are summed again.

use super::Comm;
use crate::real::Real;

/// Binary digits of an integer that sums of all shards may have.
const DIGITS: i32 = 62;
/// Distance of two exponents of the grid: a large one, so that the first guess is right nearly always.
const GRID: i32 = 8;
/// The exponent of sums that are all zero.
const LEAST: i32 = -1000;

/// Numbers in the same units.
#[derive(Clone, Copy, Debug)]
struct Part {
    len: usize,
    exponent: i32,
    largest: f64,
}

/// Sums of one phase.
#[derive(Clone, Debug, Default)]
pub struct FixedSums {
    parts: Vec<Part>,
    sums: Vec<i64>,
}

impl FixedSums {
    /// Sums over all shards of all processes, in parts of `lens` numbers: `each` adds the numbers of each shard of this process.
    /// `shards` is the number of all.
    pub fn sum(&mut self, comm: &dyn Comm, lens: &[usize], shards: usize, mut each: impl FnMut(&mut FixedSums)) {
        if self.parts.len() != lens.len() || self.parts.iter().zip(lens).any(|(part, len)| part.len != *len) {
            self.parts = lens.iter().map(|len| Part { len: *len, exponent: LEAST, largest: 0.0 }).collect();
        }
        loop {
            self.sums.clear();
            self.sums.resize(lens.iter().sum(), 0);
            self.parts.iter_mut().for_each(|part| part.largest = 0.0);
            each(self);
            let mut largest: Vec<f64> = self.parts.iter().map(|part| part.largest).collect();
            comm.all_max(&mut largest);
            self.parts.iter_mut().zip(largest).for_each(|(part, largest)| part.largest = largest);
            if self.had_right_exponents(shards) {
                break;
            }
        }
        comm.all_sum(&mut self.sums);
    }

    /// Whether the exponents were those of the largest numbers; they are now.
    fn had_right_exponents(&mut self, shards: usize) -> bool {
        let mut right = true;
        for part in self.parts.iter_mut().filter(|part| part.largest.is_finite()) {
            let exponent = exponent(part.largest, shards);
            right &= exponent == part.exponent;
            part.exponent = exponent;
        }
        right
    }

    /// The first number of part `first`.
    fn place(&self, first: usize) -> usize {
        self.parts[..first].iter().map(|part| part.len).sum()
    }

    /// Adds numbers of a shard to the parts from part `first` on.
    pub fn add<T: Real>(&mut self, first: usize, numbers: &[T]) {
        let (mut sums, mut rest) = (&mut self.sums[self.parts[..first].iter().map(|part| part.len).sum()..], numbers);
        for part in self.parts[first..].iter_mut() {
            let (own, others) = sums.split_at_mut(part.len);
            let (numbers, after) = rest.split_at(part.len.min(rest.len()));
            part.largest = part.largest.max(add(part.exponent, numbers, own));
            if after.is_empty() {
                break;
            }
            (sums, rest) = (others, after);
        }
    }

    /// The sums as floating-point numbers, from part `first` on; not numbers if any of the shards had one in a part that is not
    /// finite.
    pub fn read<T: Real>(&self, first: usize, out: &mut [T]) {
        let parts = self.parts[first..].iter().flat_map(|part| {
            let unit = if part.largest.is_finite() { power_of_two(part.exponent) } else { f64::NAN };
            std::iter::repeat_n(unit, part.len)
        });
        for ((out, sum), unit) in out.iter_mut().zip(&self.sums[self.place(first)..]).zip(parts) {
            *out = T::of(*sum as f64 * unit);
        }
    }
}

/// Adds numbers to sums in units of 2^`exponent`, and returns the largest.
fn add<T: Real>(exponent: i32, numbers: &[T], sums: &mut [i64]) -> f64 {
    let (scale, mut largest) = (power_of_two(-exponent), T::zero());
    for (sum, x) in sums.iter_mut().zip(numbers) {
        // NaN is not below anything, and becomes infinite here.
        let size = if x.is_nan() { T::infinity() } else { x.abs() };
        largest = if size > largest { size } else { largest };
        // Beyond the range of an integer the result is not used.
        *sum = sum.wrapping_add((x.f64() * scale) as i64);
    }
    largest.f64()
}

/// Gives numbers of one process, the `sender`, to all, to the bit.
pub fn send<T: Real>(comm: &dyn Comm, sender: bool, numbers: Vec<&mut [T]>) {
    if comm.size() == 1 {
        return;
    }
    let bits = |x: &T| if sender { x.f64().to_bits() as i64 } else { 0 };
    let mut all: Vec<i64> = numbers.iter().flat_map(|m| m.iter().map(bits)).collect();
    comm.all_sum(&mut all);
    for (x, bits) in numbers.into_iter().flatten().zip(all) {
        *x = T::of(f64::from_bits(bits as u64));
    }
}

/// The exponent of the units of sums over so many shards whose numbers are at most `largest`.
fn exponent(largest: f64, shards: usize) -> i32 {
    if largest == 0.0 {
        return LEAST;
    }
    let bits = largest.log2().ceil().max(-1100.0) as i32 + (shards as f64).log2().ceil() as i32 + 1;
    ((bits - DIGITS).div_euclid(GRID) * GRID + GRID).max(LEAST)
}

/// 2^`exponent` of a number that is not subnormal.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::super::Solo;
    use super::*;
    use crate::rng::Key;

    /// Shards in any order, and in any guess of the exponent, have the sum of exact arithmetic to the last bit of an f64's 2⁻⁴⁰.
    #[test]
    fn sums_do_not_depend_on_order_or_history() {
        let key = Key::root(3);
        for size in [1e-280, 1e-30, 1e-3, 1.0, 7e5, 1e30, 1e300] {
            let shard = |s: usize| -> Vec<f64> {
                (0..20).map(|i| size * (key.uniforms::<f64>(s as u64, i)[0] - 0.5)).collect()
            };
            let run = |guess: i32, order: &[usize]| {
                let part = Part { len: 20, exponent: guess, largest: 0.0 };
                let mut sums = FixedSums { parts: vec![part], sums: Vec::new() };
                sums.sum(&Solo, &[20], 5, |sums| order.iter().for_each(|s| sums.add(0, &shard(*s))));
                let mut out = vec![0.0; 20];
                sums.read(0, &mut out);
                out
            };
            let first = run(0, &[0, 1, 2, 3, 4]);
            for (i, x) in first.iter().enumerate() {
                let want: f64 = (0..5).map(|s| shard(s)[i]).sum();
                assert!((x - want).abs() <= 1e-12 * size, "{x} {want}");
            }
            assert_eq!(first, run(LEAST, &[4, 1, 3, 0, 2]));
            assert_eq!(first, run(200, &[2, 1, 0, 3, 4]));
        }
    }

    #[test]
    fn numbers_that_are_not_finite_stay_visible() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut sums = FixedSums::default();
            sums.sum(&Solo, &[2], 2, |sums| {
                sums.add(0, &[1.0f32, 2.0]);
                sums.add(0, &[bad, 2.0]);
            });
            let mut out = [0.0f32; 2];
            sums.read(0, &mut out);
            assert!(out.iter().all(|x| x.is_nan()));
        }
    }

    /// Small numbers beside large ones keep their digits where they are parts of their own.
    #[test]
    fn every_part_has_its_own_units() {
        let mut sums = FixedSums::default();
        sums.sum(&Solo, &[1, 2, 1], 2, |sums| {
            sums.add(0, &[3e19, 0.1, 0.2]);
            sums.add(0, &[4e19, 0.3, 0.4]);
            sums.add(2, &[1e-12]);
        });
        let mut out = [0.0f64; 4];
        sums.read(0, &mut out);
        let mut last = [0.0f64; 3];
        sums.read(1, &mut last);
        assert_eq!(out[1..], last);
        for (found, want) in out.iter().zip([7e19, 0.4, 0.6, 1e-12]) {
            assert!((found - want).abs() <= 1e-15 * want, "{found} {want}");
        }
    }
}
