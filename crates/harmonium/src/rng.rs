//! Random numbers as a function of (seed, purpose, step, chain, site) and of nothing else.
//!
//! Keys (a seed, a purpose, a step) are made by Philox4x32-10 (Salmon et al., *Parallel random numbers: as easy as 1, 2,
//! 3*, 2011). The many numbers under one key are a hash of (key, chain, site): `pcg4d` of Jarzynski and Olano (*Hash
//! functions for GPU rendering*, 2020) with three rounds, a quarter of the work of Philox in SIMD code. There is no generator
//! state, so results do not depend on the number of threads, and resuming needs only the step number.

use crate::real::Real;
use crate::simd::dispatch;

pub use crate::math::normal;

/// Version of what decides the bits of a run besides its settings: the function from (key, chain, site) to numbers, and the order of
/// sums. A checkpoint stores it. 2: `pcg4d`; 3: rows beyond the first 1,024 are added shard by shard, in fixed point.
pub(crate) const STREAM_VERSION: u32 = 3;

/// What random numbers are used for. Each purpose has its own numbers under the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// First values of the weights.
    Init = 1,
    /// Exact samples: which enumerated state.
    ExactState = 2,
    /// Exact samples: the other layer given that state.
    ExactRest = 3,
    /// Gibbs chains, hidden half-step.
    Hidden = 4,
    /// Gibbs chains, visible half-step.
    Visible = 5,
    /// Order of the rows within an epoch.
    Shuffle = 7,
    /// First states of persistent chains.
    Chains = 8,
    /// Which rows are measured during a run.
    Monitor = 9,
    /// Binarisation by sampling.
    Binarize = 6,
    /// Built-in data.
    Builtin = 10,
    /// log Z: chains that determine the base distribution at inverse temperature 0.
    Base = 11,
    /// log Z: chains that measure how fast the distribution changes with temperature.
    Pilot = 12,
    /// log Z: annealing from the base to the model.
    Forward = 13,
    /// log Z: annealing from the model to the base.
    Backward = 14,
    /// Parallel tempering: sweeps.
    Tempering = 15,
    /// Parallel tempering: swaps.
    Swap = 16,
    /// First states that are far apart.
    Far = 17,
    /// log Z: annealing from independent units fitted to one mode.
    Near = 18,
    /// log Z during training: chains.
    Online = 19,
    /// log Z during training: which chains are copied.
    Resample = 20,
    /// Unknown cells: chains with the known cells clamped.
    Missing = 22,
    /// Unknown cells: hidden states for conditional means.
    ConditionalMeans = 23,
    /// Unknown cells: independent draws of them.
    Completions = 24,
    /// Rows drawn from a model.
    Sample = 21,
}

/// A Philox key: one independent family of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key([u32; 2]);

impl Key {
    /// The key of a seed.
    pub fn root(seed: u64) -> Key {
        Key([seed as u32, (seed >> 32) as u32])
    }

    /// The key for `purpose` under this key.
    pub fn of(self, purpose: Purpose) -> Key {
        self.fold(purpose as u64)
    }

    /// The key for step `step` under this key.
    pub fn step(self, step: u64) -> Key {
        self.fold(step)
    }

    /// Derives a key from a key and a number. The last two counter words differ from those of `words`.
    fn fold(self, tag: u64) -> Key {
        let out = philox4x32([tag as u32, (tag >> 32) as u32, 0x9E37_79B9, u32::MAX], self.0);
        Key([out[0], out[1]])
    }

    /// Four random words for one site of one chain.
    pub fn words(self, chain: u64, site: u32) -> [u32; 4] {
        philox4x32([site, chain as u32, (chain >> 32) as u32, 0], self.0)
    }

    /// The first of the [`uniforms`](Key::uniforms) of site 0, for chains from `first` on.
    pub(crate) fn first_uniforms(self, first: u64, out: &mut [f64]) {
        first_uniforms(self, first, out);
    }

    /// Two uniforms, strictly between 0 and 1, for one site of one chain.
    pub fn uniforms<T: Real>(self, chain: u64, site: u32) -> [T; 2] {
        let w = self.words(chain, site);
        [T::uniform([w[0], w[1]]), T::uniform([w[2], w[3]])]
    }
}

/// Sites whose words are computed together.
pub(crate) const GROUP: usize = 32;
/// Hashes of four words per group, side by side so that the loop compiles to SIMD code.
const LANES: usize = GROUP / 4;

impl Key {
    /// The words of sites 32·group … of a chain, one each, for two pairs (chain, group): word q of hash 8·group + lane is
    /// that of site 8q + lane. Two at once, because the multiplications of one hash depend on each other.
    #[inline(always)]
    pub(crate) fn groups(self, pairs: [(u64, u32); 2]) -> [[u32; GROUP]; 2] {
        let mut v = [[0; 2 * LANES]; 4];
        for (k, (chain, group)) in pairs.into_iter().enumerate() {
            let high = self.0[0].wrapping_add((chain >> 32) as u32);
            for lane in 0..LANES {
                v[0][k * LANES + lane] = group.wrapping_mul(LANES as u32).wrapping_add(lane as u32);
                v[1][k * LANES + lane] = chain as u32;
                v[2][k * LANES + lane] = high;
                v[3][k * LANES + lane] = self.0[1];
            }
        }
        let mut words = [[0; GROUP]; 2];
        for (q, v) in mix(v).iter().enumerate() {
            words[0][q * LANES..(q + 1) * LANES].copy_from_slice(&v[..LANES]);
            words[1][q * LANES..(q + 1) * LANES].copy_from_slice(&v[LANES..]);
        }
        words
    }

    /// Uniforms in (0, 1) for all sites of one chain, one word each.
    pub(crate) fn fill<T: Real>(self, chain: u64, out: &mut [T]) {
        fill(self, chain, out);
    }
}

dispatch! {
    fn fill<T>(key: Key, chain: u64, out: &mut [T]) => fill_body;
}

#[inline(always)]
fn fill_body<T: Real>(key: Key, chain: u64, out: &mut [T]) {
    for (pair, out) in out.chunks_mut(2 * GROUP).enumerate() {
        let words = key.groups([(chain, 2 * pair as u32), (chain, 2 * pair as u32 + 1)]);
        for (out, words) in out.chunks_mut(GROUP).zip(&words) {
            // With a constant length the compiler unrolls the loop.
            let out = if out.len() == GROUP { &mut out[..GROUP] } else { out };
            for (out, word) in out.iter_mut().zip(words) {
                *out = T::from_word(*word);
            }
        }
    }
}

dispatch! {
    fn first_uniforms(key: Key, first: u64, out: &mut [f64]) => first_uniforms_body;
}

#[inline(always)]
fn first_uniforms_body(key: Key, first: u64, out: &mut [f64]) {
    for (block, out) in out.chunks_mut(LANES).enumerate() {
        let chains: [u64; LANES] = std::array::from_fn(|lane| first + (block * LANES + lane) as u64);
        let counters = [[0; LANES], chains.map(|c| c as u32), chains.map(|c| (c >> 32) as u32), [0; LANES]];
        let words = philox(counters, key.0);
        for (lane, out) in out.iter_mut().enumerate() {
            *out = f64::uniform([words[0][lane], words[1][lane]]);
        }
    }
}

/// `pcg4d` of every lane: a linear congruential step, then rounds in which the product of two other words is added to every word;
/// between rounds the high halves are folded into the low ones. It was published with two rounds, after which the highest input
/// bits affect few output bits; after three, flipping any input bit flips each of the leading 23 output bits half of the time.
#[inline(always)]
fn mix<const N: usize>(v: [[u32; N]; 4]) -> [[u32; N]; 4] {
    let step = |a: [u32; N]| add_product([1_013_904_223; N], a, [1_664_525; N]);
    let [mut x, mut y, mut z, mut w] = [step(v[0]), step(v[1]), step(v[2]), step(v[3])];
    for round in 0..3 {
        if round > 0 {
            (x, y, z, w) = (fold_down(x), fold_down(y), fold_down(z), fold_down(w));
        }
        x = add_product(x, y, w);
        y = add_product(y, z, x);
        z = add_product(z, x, y);
        w = add_product(w, y, z);
    }
    [x, y, z, w]
}

/// a + bc of every lane.
#[inline(always)]
fn add_product<const N: usize>(mut a: [u32; N], b: [u32; N], c: [u32; N]) -> [u32; N] {
    for i in 0..N {
        a[i] = a[i].wrapping_add(b[i].wrapping_mul(c[i]));
    }
    a
}

/// a ^ a >> 16 of every lane.
#[inline(always)]
fn fold_down<const N: usize>(mut a: [u32; N]) -> [u32; N] {
    for a in &mut a {
        *a ^= *a >> 16;
    }
    a
}

const M: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const W: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Philox4x32-10: ten rounds of a 128-bit counter under a 64-bit key.
pub(crate) fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    philox(counter.map(|c| [c]), key).map(|c| c[0])
}

/// The same for several counters, side by side so that loops compile to SIMD code.
#[inline(always)]
fn philox<const N: usize>(counters: [[u32; N]; 4], key: [u32; 2]) -> [[u32; N]; 4] {
    let ([mut a, mut b, mut c, mut d], mut k) = (counters, key);
    for _ in 0..10 {
        for (((a, b), c), d) in a.iter_mut().zip(&mut b).zip(&mut c).zip(&mut d) {
            let (p, q) = (M[0] * u64::from(*a), M[1] * u64::from(*c));
            (*a, *b) = ((q >> 32) as u32 ^ *b ^ k[0], q as u32);
            (*c, *d) = ((p >> 32) as u32 ^ *d ^ k[1], p as u32);
        }
        k = [k[0].wrapping_add(W[0]), k[1].wrapping_add(W[1])];
    }
    [a, b, c, d]
}

/// 0 … n−1 in random order (Fisher and Yates).
pub fn shuffled(n: usize, key: Key) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut uniforms = [0.0; 64];
    for first in (0..n).step_by(uniforms.len()).rev() {
        let last = n.min(first + uniforms.len());
        key.first_uniforms(first as u64, &mut uniforms[..last - first]);
        for i in (first..last).rev() {
            order.swap(i, ((uniforms[i - first] * (i + 1) as f64) as usize).min(i));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kat_vectors` of Random123 1.14: the three lines for philox4x32 with 10 rounds.
    #[test]
    fn philox_gives_the_known_answers() {
        assert_eq!(philox4x32([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox4x32([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            philox4x32([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn uniforms_of_many_chains_are_those_of_each() {
        let key = Key::root(11).of(Purpose::Shuffle);
        for (first, n) in [(0, 1), (1, 8), (u64::from(u32::MAX) - 4, 21)] {
            let mut all = vec![0.0; n];
            key.first_uniforms(first, &mut all);
            for (k, u) in all.iter().enumerate() {
                assert_eq!(*u, key.uniforms::<f64>(first + k as u64, 0)[0], "{k} from {first}");
            }
        }
    }

    /// One hash, written out as published but for the third round.
    fn pcg4d(mut v: [u32; 4]) -> [u32; 4] {
        v = v.map(|a| a.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        for round in 0..3 {
            for (i, j, k) in [(0, 1, 3), (1, 2, 0), (2, 0, 1), (3, 1, 2)] {
                v[i] = v[i].wrapping_add(v[j].wrapping_mul(v[k]));
            }
            if round < 2 {
                v = v.map(|a| a ^ a >> 16);
            }
        }
        v
    }

    #[test]
    fn rows_of_uniforms_are_the_hashes_of_their_sites() {
        let key = Key::root(7).of(Purpose::Hidden);
        let chain = (5u64 << 32) + 3;
        for n in [1, 4, 31, 32, 33, 130] {
            let mut row = vec![0f64; n];
            key.fill(chain, &mut row);
            for (i, u) in row.iter().enumerate() {
                let (group, site) = (i as u32 / 32, i as u32 % 32);
                let hash = pcg4d([8 * group + site % 8, 3, key.0[0].wrapping_add(5), key.0[1]]);
                assert_eq!(*u, f64::from_word(hash[site as usize / 8]), "{i} of {n}");
            }
        }
    }

    /// Flipping any bit of (site, chain, key) flips every leading output bit half of the time. 65,536 trials per pair of
    /// bits: standard error 0.002, and of 11,776 pairs none may be further off than 0.0125 (6.4 standard errors).
    #[test]
    fn every_input_bit_moves_every_leading_output_bit() {
        let base = |i: u32| [i % 64, i / 64, 0x9c1e_55d1, 0x2b7a_f016];
        for input in 0..128 {
            let mut flips = [[0u32; 23]; 4];
            for i in 0..1 << 16 {
                let (a, mut b) = (base(i), base(i));
                b[input / 32] ^= 1 << (input % 32);
                for ((a, b), flips) in pcg4d(a).into_iter().zip(pcg4d(b)).zip(&mut flips) {
                    for (k, f) in flips.iter_mut().enumerate() {
                        *f += (a ^ b) >> (9 + k) & 1;
                    }
                }
            }
            for f in flips.iter().flatten() {
                let part = f64::from(*f) / 65536.0;
                assert!((part - 0.5).abs() < 0.0125, "input bit {input}: {part}");
            }
        }
    }

    #[test]
    fn purposes_steps_chains_and_sites_have_numbers_of_their_own() {
        let k = Key::root(1);
        let all = [
            k.words(0, 0),
            k.words(0, 1),
            k.words(1, 0),
            k.words(1 << 32, 0),
            k.of(Purpose::Init).words(0, 0),
            k.of(Purpose::Hidden).words(0, 0),
            k.of(Purpose::Hidden).step(1).words(0, 0),
            Key::root(1 << 32).words(0, 0),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a != b), "{i}");
        }
    }
}
