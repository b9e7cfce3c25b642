//! eˣ, log x and sin 2πx in both precisions, without branches, so that loops over them compile to SIMD code.

/// 1/k!, k = 0 … 12.
const TAYLOR: [f64; 13] = {
    let mut c = [1.0; 13];
    let mut k = 1;
    while k < 13 {
        c[k] = c[k - 1] / k as f64;
        k += 1;
    }
    c
};

/// eˣ without branches; relative error below 1e-15, x clamped to ±708.
///
/// x = n log 2 + r with |r| ≤ ½ log 2, and e^r by its Taylor series to r¹² (next term 2e-16), in pairs that do not depend on each
/// other. Adding 1.5·2⁵² rounds to an integer and leaves n in the low mantissa bits, which a shift turns into an exponent. Without
/// fused multiply-add, so the bits are the same on every instruction set.
#[inline(always)]
pub(crate) fn exp_flat_f64(x: f64) -> f64 {
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const LN2_HI: f64 = 6.931_471_803_691_238e-1;
    const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
    let x = x.clamp(-708.0, 708.0);
    let shifted = x * std::f64::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = (x - n * LN2_HI) - n * LN2_LO;
    let (c, r2) = (TAYLOR, r * r);
    let r4 = r2 * r2;
    let low = (1.0 + r) + (c[2] + c[3] * r) * r2;
    let mid = (c[4] + c[5] * r) + (c[6] + c[7] * r) * r2;
    let high = (c[8] + c[9] * r) + (c[10] + c[11] * r) * r2;
    let p = low + r4 * (mid + r4 * (high + c[12] * r4));
    p * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52))
}

/// The same in f32, x clamped to ±86, where the results are normal numbers: sums of denormals would be many times slower.
/// e^r = 1 + r + r²(c₀ + … + c₄r⁴) with the coefficients of least relative error (3e-9); with rounding it is below 2e-7.
#[inline(always)]
pub(crate) fn exp_flat_f32(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0;
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    const C: [f32; 5] = [0.499_999_93, 0.166_665_2, 0.041_668_39, 0.008_368_717, 0.001_381_46];
    let x = x.clamp(-86.0, 86.0);
    let shifted = x * std::f32::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = (x - n * LN2_HI) - n * LN2_LO;
    let r2 = r * r;
    let low = (1.0 + r) + (C[0] + C[1] * r) * r2;
    let high = (C[2] + C[3] * r) + C[4] * r2;
    let p = low + (r2 * r2) * high;
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

/// log x for normal x > 0 and sin 2πz for |z| ≤ ¼, branch-free, in one precision.
///
/// x = 2ᵉm with m in [√½, √2), t = (m−1)/(m+1), log m = 2(t + t³/3 + t⁵/5 + …) with t² ≤ 0.0295; sin by its Taylor series
/// in (2πz)² ≤ π²/4. Even and odd terms are summed separately, which halves the chain of dependent operations.
macro_rules! elementary {
    ($ln:ident, $sin:ident, $sum:ident, $float:ident, $bits:ident, $signed:ident, $mantissa:literal, $half_root:literal, $logs:literal, $sines:literal) => {
        /// Σ cₖxᵏ.
        #[inline(always)]
        fn $sum<const N: usize>(c: [$float; N], x: $float) -> $float {
            let (square, mut sums) = (x * x, [0.0; 2]);
            (sums[(N - 1) % 2], sums[N % 2]) = (c[N - 1], c[N - 2]);
            let mut k = N - 2;
            while k > 0 {
                k -= 1;
                sums[k % 2] = sums[k % 2] * square + c[k];
            }
            sums[0] + x * sums[1]
        }

        #[inline(always)]
        pub(crate) fn $ln(x: $float) -> $float {
            let e = x.to_bits().wrapping_sub($half_root) as $signed >> $mantissa;
            let m = $float::from_bits(x.to_bits().wrapping_sub((e as $bits) << $mantissa));
            let t = (m - 1.0) / (m + 1.0);
            const C: [$float; $logs] = {
                let (mut c, mut k) = ([2.0; $logs], 0);
                while k < $logs {
                    c[k] = 2.0 / (2 * k + 1) as $float;
                    k += 1;
                }
                c
            };
            (e as i32) as $float * std::$float::consts::LN_2 + t * $sum(C, t * t)
        }

        #[inline(always)]
        pub(crate) fn $sin(z: $float) -> $float {
            let x = std::$float::consts::TAU * z;
            const C: [$float; $sines] = {
                let (mut c, mut k) = ([1.0; $sines], 1);
                while k < $sines {
                    c[k] = -c[k - 1] / (2 * k * (2 * k + 1)) as $float;
                    k += 1;
                }
                c
            };
            x * $sum(C, x * x)
        }
    };
}
elementary!(ln_f32, sin_turns_f32, sum_f32, f32, u32, i32, 23, 0x3f35_04f3, 5, 7);
elementary!(ln_f64, sin_turns_f64, sum_f64, f64, u64, i64, 52, 0x3fe6_a09e_667f_3bcd, 11, 12);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_flat_agrees_with_the_standard_library() {
        let (mut worst, mut worst_f32) = (0f64, 0f64);
        for k in -700_000..700_000 {
            let x = k as f64 * 1e-3;
            worst = worst.max((exp_flat_f64(x) / x.exp() - 1.0).abs());
            let x = (k as f32 * 1e-3).clamp(-86.0, 86.0);
            worst_f32 = worst_f32.max((f64::from(exp_flat_f32(x)) / f64::from(x).exp() - 1.0).abs());
        }
        assert!(worst < 1e-15 && worst_f32 < 2e-7, "{worst:e} {worst_f32:e}");
        for x in [1e4, f64::INFINITY] {
            assert!(exp_flat_f64(-x) < 1e-300 && exp_flat_f64(x).is_normal());
            assert!(exp_flat_f32(-x as f32).is_normal() && exp_flat_f32(x as f32).is_normal());
        }
    }

    #[test]
    fn logarithm_and_sine_agree_with_the_standard_library() {
        let (mut ln, mut sin) = ([0f64; 2], [0f64; 2]);
        for k in 1..1_000_000 {
            let x = k as f64 * 1e-6;
            ln[0] = ln[0].max((ln_f64(x) - x.ln()).abs() / x.ln().abs());
            ln[1] = ln[1].max((f64::from(ln_f32(x as f32)) / f64::from(x as f32).ln() - 1.0).abs());
            let z = 0.5 * x - 0.25;
            sin[0] = sin[0].max((sin_turns_f64(z) - (std::f64::consts::TAU * z).sin()).abs());
            sin[1] = sin[1]
                .max((f64::from(sin_turns_f32(z as f32)) - (std::f64::consts::TAU * f64::from(z as f32)).sin()).abs());
        }
        assert!(ln[0] < 1e-15 && ln[1] < 5e-7, "{ln:?}");
        assert!(sin[0] < 1e-15 && sin[1] < 3e-7, "{sin:?}");
        assert!((ln_f64(1e-300) / 1e-300f64.ln() - 1.0).abs() < 1e-15 && ln_f32(1e-30) < -69.0);
    }
}
