//! Colour maps from [0, 1] whose steps look equal, because their lightness L* is linear.

/// A colour map.
pub type ColourMap = fn(f64) -> [u8; 3];

/// Colour of a missing value.
const MISSING: [u8; 3] = [128, 128, 128];

/// Black to white, for images.
pub fn grey(t: f64) -> [u8; 3] {
    if t.is_nan() { MISSING } else { [(255.0 * t.clamp(0.0, 1.0)).round() as u8; 3] }
}

/// Dark to light, for densities.
pub fn magma(t: f64) -> [u8; 3] {
    if t.is_nan() { MISSING } else { colorous::MAGMA.eval_continuous(t.clamp(0.0, 1.0)).as_array() }
}

/// Dark to light, for means.
pub fn viridis(t: f64) -> [u8; 3] {
    if t.is_nan() { MISSING } else { colorous::VIRIDIS.eval_continuous(t.clamp(0.0, 1.0)).as_array() }
}

/// Blue through white (at ½) to red, for signed numbers.
///
/// On both sides lightness falls and chroma grows linearly in CIELAB, so equal magnitudes look equally strong. The ends
/// (L* 35, chroma 54, hues 286° and 33°) are about as strong as sRGB can show for both hues.
pub fn diverging(t: f64) -> [u8; 3] {
    if t.is_nan() {
        return MISSING;
    }
    let x = 2.0 * t.clamp(0.0, 1.0) - 1.0;
    let hue = if x < 0.0 { 286f64 } else { 33f64 }.to_radians();
    let chroma = 54.0 * x.abs();
    srgb([97.0 - 62.0 * x.abs(), chroma * hue.cos(), chroma * hue.sin()])
        .map(|c| (255.0 * c.clamp(0.0, 1.0)).round() as u8)
}

/// The white point of sRGB, D65, for CIELAB.
const WHITE: [f64; 3] = [0.95047, 1.0, 1.08883];

/// CIELAB to sRGB in [0, 1]; outside it if the colour cannot be shown.
fn srgb([l, a, b]: [f64; 3]) -> [f64; 3] {
    let fy = (l + 16.0) / 116.0;
    let inverse = |f: f64| if f > 6.0 / 29.0 { f.powi(3) } else { 3.0 * (6.0f64 / 29.0).powi(2) * (f - 4.0 / 29.0) };
    let [x, y, z] = [fy + a / 500.0, fy, fy - b / 200.0].map(inverse);
    let [x, y, z] = [x * WHITE[0], y * WHITE[1], z * WHITE[2]];
    let linear = [
        3.2404542 * x - 1.5371385 * y - 0.4985314 * z,
        -0.969266 * x + 1.8760108 * y + 0.041556 * z,
        0.0556434 * x - 0.2040259 * y + 1.0572252 * z,
    ];
    linear.map(|c| if c <= 0.0031308 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L* of an sRGB colour, from its relative luminance.
    fn lightness(colour: [u8; 3]) -> f64 {
        let linear = colour
            .map(|c| f64::from(c) / 255.0)
            .map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
        let y = 0.2126729 * linear[0] + 0.7151522 * linear[1] + 0.072175 * linear[2];
        if y > 216.0 / 24389.0 { 116.0 * y.cbrt() - 16.0 } else { y * 24389.0 / 27.0 }
    }

    #[test]
    fn sequential_maps_only_get_lighter_and_evenly() {
        for map in [grey as ColourMap, magma, viridis] {
            let l: Vec<f64> = (0..=64).map(|i| lightness(map(f64::from(i) / 64.0))).collect();
            let mean = (l[64] - l[0]) / 64.0;
            for pair in l.windows(2) {
                let step = pair[1] - pair[0];
                assert!(step > 0.0 && step < 2.0 * mean, "a step of {step} where the mean is {mean}");
            }
            assert!(l[64] - l[0] > 70.0);
        }
    }

    #[test]
    fn the_diverging_map_is_even_and_alike_on_both_sides() {
        assert_eq!(diverging(0.5), [246, 246, 246]);
        for i in 0..=50 {
            let x = f64::from(i) / 100.0;
            let (minus, plus) = (lightness(diverging(0.5 - x)), lightness(diverging(0.5 + x)));
            let even = 97.0 - 124.0 * x;
            assert!((minus - even).abs() < 0.6 && (plus - even).abs() < 0.6, "{x}: {minus} {plus} {even}");
        }
    }

    #[test]
    fn missing_values_are_grey_and_nothing_overflows() {
        for map in [grey as ColourMap, magma, viridis, diverging] {
            assert_eq!(map(f64::NAN), MISSING);
            assert_eq!(map(f64::INFINITY), map(1.0));
            assert_eq!(map(-7.0), map(0.0));
        }
    }
}
