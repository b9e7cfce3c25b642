//! Transposes of small blocks of numbers, in registers: the compiler would move one number at a time.

use crate::real::Real;
use std::any::TypeId;

/// The transpose of R rows of four numbers.
///
/// # Safety
///
/// With eight rows the processor must have AVX, as it does on every level but the portable one.
#[inline(always)]
pub unsafe fn transposed<T: Real, const R: usize>(a: [[T; 4]; R]) -> [[T; R]; 4] {
    #[cfg(target_arch = "x86_64")]
    if TypeId::of::<T>() == TypeId::of::<f32>() {
        // SAFETY: T is f32 and R is known, so types of the same size are exchanged, for which every bit pattern is a value.
        // SSE is part of x86-64; AVX is promised.
        unsafe {
            match R {
                4 => return std::mem::transmute_copy(&x86::four(std::mem::transmute_copy(&a))),
                8 => return std::mem::transmute_copy(&x86::eight(std::mem::transmute_copy(&a))),
                _ => {}
            }
        }
    }
    let mut transposed = [[T::zero(); R]; 4];
    for (r, row) in a.iter().enumerate() {
        for (column, x) in transposed.iter_mut().zip(row) {
            column[r] = *x;
        }
    }
    transposed
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// The transpose of 4 × 4 numbers.
    #[inline(always)]
    pub fn four([a, b, c, d]: [__m128; 4]) -> [__m128; 4] {
        // SAFETY: SSE is part of x86-64.
        unsafe {
            let (p, q) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
            let (s, t) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
            [_mm_movelh_ps(p, q), _mm_movehl_ps(q, p), _mm_movelh_ps(s, t), _mm_movehl_ps(t, s)]
        }
    }

    /// The transpose of 8 × 4 numbers: two of 4 × 4 side by side.
    #[inline]
    #[target_feature(enable = "avx")]
    pub fn eight(rows: [__m128; 8]) -> [__m256; 4] {
        let pair = |r: usize| _mm256_set_m128(rows[r + 4], rows[r]);
        let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
        let (p, q) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (s, t) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(p, q),
            _mm256_shuffle_ps::<0xee>(p, q),
            _mm256_shuffle_ps::<0x44>(s, t),
            _mm256_shuffle_ps::<0xee>(s, t),
        ]
    }
}
