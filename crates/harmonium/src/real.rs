//! The number types of a model: `f32` and `f64`.

use ndarray::NdFloat;
use std::iter::Sum;

/// The number type of parameters, states and statistics.
///
/// Sums that enter likelihoods are always computed in `f64`; `Real` is the storage type.
pub trait Real: NdFloat + Sum + Default + num_traits::FloatConst {
    /// The name of the type in a model file: `F32` or `F64`.
    const DTYPE: safetensors::Dtype;

    /// The nearest number to `x`.
    fn of(x: f64) -> Self;

    /// An integer (exact).
    fn of_short(x: i16) -> Self;

    /// The number as `f64` (exact).
    fn f64(self) -> f64;

    /// A number strictly between 0 and 1 from two random words: the middle of one of 2²³ (f32) or 2⁵² (f64) equal
    /// cells. This is one bit less than the mantissa has, so that the half fits and the largest value is below 1. Both types use
    /// the leading bits of `words[0]` first, so they agree up to rounding.
    fn uniform(words: [u32; 2]) -> Self;

    /// A number strictly between 0 and 1 from one random word: the middle of one of 2²³ (f32) or 2³² (f64) cells.
    fn from_word(word: u32) -> Self;

    /// eˣ within the range of the type, branch-free for SIMD loops, the same bits on every instruction set; see `elementary`.
    fn exp_flat(self) -> Self;

    /// log x of a normal number x > 0, with the same properties.
    fn ln_flat(self) -> Self;

    /// sin 2πx for |x| ≤ ¼, with the same properties.
    fn sin_turns(self) -> Self;

    /// Reads one little-endian number; `bytes` has exactly the size of the type.
    fn from_le(bytes: &[u8]) -> Self;

    /// Appends the little-endian bytes of the number.
    fn push_le(self, bytes: &mut Vec<u8>);
}

impl Real for f32 {
    const DTYPE: safetensors::Dtype = safetensors::Dtype::F32;
    #[inline(always)]
    fn of_short(x: i16) -> f32 {
        f32::from(x)
    }
    fn of(x: f64) -> f32 {
        x as f32
    }
    fn f64(self) -> f64 {
        f64::from(self)
    }
    fn uniform(words: [u32; 2]) -> f32 {
        Self::from_word(words[0])
    }
    #[inline(always)]
    fn from_word(word: u32) -> f32 {
        ((word >> 9) as f32 + 0.5) * (1.0 / (1u32 << 23) as f32)
    }
    #[inline(always)]
    fn exp_flat(self) -> f32 {
        crate::elementary::exp_flat_f32(self)
    }
    #[inline(always)]
    fn ln_flat(self) -> f32 {
        crate::elementary::ln_f32(self)
    }
    #[inline(always)]
    fn sin_turns(self) -> f32 {
        crate::elementary::sin_turns_f32(self)
    }
    fn from_le(bytes: &[u8]) -> f32 {
        let mut b = [0; 4];
        b.copy_from_slice(bytes);
        f32::from_le_bytes(b)
    }
    fn push_le(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl Real for f64 {
    const DTYPE: safetensors::Dtype = safetensors::Dtype::F64;
    #[inline(always)]
    fn of_short(x: i16) -> f64 {
        f64::from(x)
    }
    fn of(x: f64) -> f64 {
        x
    }
    fn f64(self) -> f64 {
        self
    }
    fn uniform(words: [u32; 2]) -> f64 {
        let bits = (u64::from(words[0]) << 32 | u64::from(words[1])) >> 12;
        (bits as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }
    #[inline(always)]
    fn from_word(word: u32) -> f64 {
        (f64::from(word) + 0.5) * (1.0 / (1u64 << 32) as f64)
    }
    #[inline(always)]
    fn exp_flat(self) -> f64 {
        crate::elementary::exp_flat_f64(self)
    }
    #[inline(always)]
    fn ln_flat(self) -> f64 {
        crate::elementary::ln_f64(self)
    }
    #[inline(always)]
    fn sin_turns(self) -> f64 {
        crate::elementary::sin_turns_f64(self)
    }
    fn from_le(bytes: &[u8]) -> f64 {
        let mut b = [0; 8];
        b.copy_from_slice(bytes);
        f64::from_le_bytes(b)
    }
    fn push_le(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniforms_stay_strictly_inside_and_agree_between_types() {
        for words in [[0, 0], [u32::MAX, u32::MAX], [0x8000_0000, 0], [0x1234_5678, 0x9abc_def0]] {
            let (a, b) = (f32::uniform(words), f64::uniform(words));
            assert!(a > 0.0 && a < 1.0 && b > 0.0 && b < 1.0, "{words:?}: {a} {b}");
            assert!((f64::from(a) - b).abs() <= 0.5 / 8_388_608.0);
            let (a, b) = (f32::from_word(words[0]), f64::from_word(words[0]));
            assert!(a > 0.0 && a < 1.0 && b > 0.0 && b < 1.0 && (f64::from(a) - b).abs() <= 0.5 / 8_388_608.0);
        }
    }
}
