//! Randomness is a function: a number depends on (seed, purpose, step, chain, site) and on nothing else.
//!
//! The function is Philox4x32-10 (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, 2011). There is no
//! generator state, so results cannot depend on the number of threads, and resuming needs only the step number.

use crate::real::Real;

/// Version of the map from (key, chain, site) to numbers; files that depend on it record it.
pub const STREAM_VERSION: u32 = 1;

/// What a stream of random numbers is for. Each purpose has numbers of its own under the same seed.
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
    /// Grey data values drawn as 0 or 1.
    Binarize = 6,
    /// Built-in data.
    Builtin = 10,
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

    /// Derives a key from a key and a number. The last two counter words set these blocks apart from `words`.
    fn fold(self, tag: u64) -> Key {
        let out = philox4x32([tag as u32, (tag >> 32) as u32, 0x9E37_79B9, u32::MAX], self.0);
        Key([out[0], out[1]])
    }

    /// Four random words for one site of one chain.
    pub fn words(self, chain: u64, site: u32) -> [u32; 4] {
        philox4x32([site, chain as u32, (chain >> 32) as u32, 0], self.0)
    }

    /// Two uniforms, strictly between 0 and 1, for one site of one chain.
    pub fn uniforms<T: Real>(self, chain: u64, site: u32) -> [T; 2] {
        let w = self.words(chain, site);
        [T::uniform([w[0], w[1]]), T::uniform([w[2], w[3]])]
    }
}

impl Key {
    /// Uniforms in (0, 1) for all sites of one chain, one word each: block b of four words has the counter (b, chain).
    pub fn fill<T: Real>(self, chain: u64, out: &mut [T]) {
        for (group, out) in out.chunks_mut(4 * LANES).enumerate() {
            let words = philox_blocks((group * LANES) as u32, chain, self.0);
            for (out, word) in out.iter_mut().zip(words.iter().flatten()) {
                *out = T::from_word(*word);
            }
        }
    }
}

/// Blocks computed side by side, so that the loop becomes SIMD code.
const LANES: usize = 16;

/// `LANES` consecutive blocks of a chain.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512dq+avx512vl", "x86_64+avx2"))]
fn philox_blocks(first: u32, chain: u64, key: [u32; 2]) -> [[u32; 4]; LANES] {
    let mut c = [[0; LANES], [chain as u32; LANES], [(chain >> 32) as u32; LANES], [0; LANES]];
    for (lane, c0) in c[0].iter_mut().enumerate() {
        *c0 = first.wrapping_add(lane as u32);
    }
    let mut k = key;
    for _ in 0..10 {
        let [c0, c1, c2, c3] = c;
        for lane in 0..LANES {
            let (p, q) = (M[0] * u64::from(c0[lane]), M[1] * u64::from(c2[lane]));
            c[0][lane] = (q >> 32) as u32 ^ c1[lane] ^ k[0];
            c[1][lane] = q as u32;
            c[2][lane] = (p >> 32) as u32 ^ c3[lane] ^ k[1];
            c[3][lane] = p as u32;
        }
        k = [k[0].wrapping_add(W[0]), k[1].wrapping_add(W[1])];
    }
    std::array::from_fn(|lane| [c[0][lane], c[1][lane], c[2][lane], c[3][lane]])
}

const M: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const W: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Philox4x32-10: ten rounds of a 128-bit counter under a 64-bit key.
pub fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut c, mut k) = (counter, key);
    for _ in 0..10 {
        let (p, q) = (M[0] * u64::from(c[0]), M[1] * u64::from(c[2]));
        c = [(q >> 32) as u32 ^ c[1] ^ k[0], q as u32, (p >> 32) as u32 ^ c[3] ^ k[1], p as u32];
        k = [k[0].wrapping_add(W[0]), k[1].wrapping_add(W[1])];
    }
    c
}

/// A standard normal number from two uniforms in (0, 1) (Box and Muller, 1958).
pub fn normal<T: Real>(u: [T; 2]) -> T {
    (T::of(-2.0) * u[0].ln()).sqrt() * (T::TAU() * u[1]).cos()
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
    fn rows_of_uniforms_are_the_words_in_order() {
        let key = Key::root(7).of(Purpose::Hidden);
        for n in [1, 4, 63, 64, 65, 130] {
            let mut row = vec![0f64; n];
            key.fill(1 << 40, &mut row);
            for (i, u) in row.iter().enumerate() {
                let word = key.words(1 << 40, i as u32 / 4)[i % 4];
                assert_eq!(*u, f64::from_word(word), "{i} of {n}");
            }
        }
    }

    #[test]
    fn normals_are_finite_at_the_ends_of_the_uniforms() {
        let (lo, hi) = (f32::uniform([0, 0]), f32::uniform([u32::MAX; 2]));
        for u in [[lo, lo], [lo, hi], [hi, lo], [hi, hi]] {
            assert!(normal(u).is_finite() && normal(u).abs() < 6.0);
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
