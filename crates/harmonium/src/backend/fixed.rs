//! Sums of shards in fixed point: the same bits however shards are spread over threads, devices and processes.
//!
//! A shard's sums are floating-point numbers, added in the order of its rows. As integers in units of 2^e they add up in any order.
//! e follows from the largest number of all shards. That is known only when all were seen, so a grid of few exponents is used and
//! the last one is tried first; if it was not the right one the shards are summed again.

use super::Comm;
use crate::real::Real;

/// Binary digits of an integer that sums of all shards may have.
const DIGITS: i32 = 62;
/// Distance of two exponents of the grid: a large one, so that the first guess is right nearly always.
const GRID: i32 = 8;
/// The exponent of sums that are all zero.
const LEAST: i32 = -1000;

/// Sums of one phase.
#[derive(Clone, Debug)]
pub struct FixedSums {
    exponent: i32,
    largest: f64,
    sums: Vec<i64>,
}

impl Default for FixedSums {
    fn default() -> FixedSums {
        FixedSums { exponent: LEAST, largest: 0.0, sums: Vec::new() }
    }
}

impl FixedSums {
    /// Sums of `len` numbers over all shards of all processes: `each` adds the numbers of each shard of this process. `shards` is
    /// the number of all.
    pub fn sum(&mut self, comm: &dyn Comm, len: usize, shards: usize, mut each: impl FnMut(&mut FixedSums)) {
        loop {
            (self.largest, self.sums) = (0.0, std::mem::take(&mut self.sums));
            self.sums.clear();
            self.sums.resize(len, 0);
            each(self);
            let mut largest = [self.largest];
            comm.all_max(&mut largest);
            self.largest = largest[0];
            if !self.largest.is_finite() {
                break;
            }
            let right = exponent(self.largest, shards);
            if right == self.exponent {
                break;
            }
            self.exponent = right;
        }
        comm.all_sum(&mut self.sums);
    }

    /// Adds numbers of a shard to the sums from number `first` on.
    pub fn add<T: Real>(&mut self, first: usize, numbers: &[T]) {
        let scale = power_of_two(-self.exponent);
        let mut largest = T::zero();
        for (sum, x) in self.sums[first..].iter_mut().zip(numbers) {
            // NaN is not below anything, and becomes infinite here.
            let size = if x.is_nan() { T::infinity() } else { x.abs() };
            largest = if size > largest { size } else { largest };
            // Beyond the range of an integer the result is not used.
            *sum = sum.wrapping_add((x.f64() * scale) as i64);
        }
        self.largest = self.largest.max(largest.f64());
    }

    /// The sums as floating-point numbers, from number `first` on; not numbers if any of the shards had one that is not finite.
    pub fn read<T: Real>(&self, first: usize, out: &mut [T]) {
        let unit = if self.largest.is_finite() { power_of_two(self.exponent) } else { f64::NAN };
        for (out, sum) in out.iter_mut().zip(&self.sums[first..]) {
            *out = T::of(*sum as f64 * unit);
        }
    }
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
    let bits = largest.log2().ceil() as i32 + (shards as f64).log2().ceil() as i32 + 1;
    (bits - DIGITS).div_euclid(GRID) * GRID + GRID
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
        for size in [1e-30, 1e-3, 1.0, 7e5, 1e30] {
            let shard = |s: usize| -> Vec<f64> {
                (0..20).map(|i| size * (key.uniforms::<f64>(s as u64, i)[0] - 0.5)).collect()
            };
            let run = |guess: i32, order: &[usize]| {
                let mut sums = FixedSums { exponent: guess, ..FixedSums::default() };
                sums.sum(&Solo, 20, 5, |sums| order.iter().for_each(|s| sums.add(0, &shard(*s))));
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
            sums.sum(&Solo, 2, 2, |sums| {
                sums.add(0, &[1.0f32, 2.0]);
                sums.add(0, &[bad, 2.0]);
            });
            let mut out = [0.0f32; 2];
            sums.read(0, &mut out);
            assert!(out.iter().all(|x| x.is_nan()));
        }
    }
}
