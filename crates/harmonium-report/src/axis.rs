//! An axis of a plot: maps values to positions between 0 and 1, with ticks at round numbers.

use crate::text::{fixed, scientific};

/// Largest magnitude drawn; the difference of two larger values could overflow.
const LARGEST: f64 = 1e290;

/// Smallest value of a logarithmic axis; below it the margin would underflow.
const SMALLEST: f64 = 1e-280;

/// One axis of a plot. `lo > hi` reverses it.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Value at position 0.
    pub lo: f64,
    /// Value at position 1.
    pub hi: f64,
    /// What the values are, with their unit.
    pub label: String,
    log: bool,
    whole: bool,
    names: Option<Vec<String>>,
}

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value at which it is drawn.
    pub value: f64,
    /// Its label.
    pub label: String,
}

impl Axis {
    /// An axis from `lo` to `hi`, without a margin.
    pub fn between(lo: f64, hi: f64, label: &str) -> Axis {
        Axis { lo, hi, label: label.into(), log: false, whole: false, names: None }
    }

    /// An axis that holds all finite values, with a small margin; `None` if there are none.
    pub fn around(values: impl IntoIterator<Item = f64>, label: &str) -> Option<Axis> {
        let (lo, hi) = range(values)?;
        // Equal values get an axis of some length around them.
        let margin = if hi > lo { 0.04 * (hi - lo) } else { (0.1 * lo.abs()).max(0.1) };
        Some(Axis::between(lo - margin, hi + margin, label))
    }

    /// An axis for values that are positive by nature: it never extends below 0 for them, and it is logarithmic if all are
    /// above 0 and differ by more than a factor of 50.
    pub fn around_positive(values: impl IntoIterator<Item = f64> + Clone, label: &str) -> Option<Axis> {
        let (lo, hi) = range(values.clone())?;
        if lo < SMALLEST || hi / lo < 50.0 {
            let axis = Axis::around(values, label)?;
            return Some(if lo >= 0.0 { Axis { lo: axis.lo.max(0.0), ..axis } } else { axis });
        }
        let margin = (hi / lo).powf(0.04);
        Some(Axis { log: true, ..Axis::between(lo / margin, hi * margin, label) })
    }

    /// An axis for counts from 0 to `max`, with ticks at whole numbers.
    pub fn counts(max: usize) -> Axis {
        Axis { whole: true, ..Axis::between(0.0, 1.05 * max.max(1) as f64, "") }
    }

    /// An axis with one position per name; a vertical one goes from top to bottom.
    pub fn names(names: Vec<String>) -> Axis {
        let n = names.len() as f64;
        Axis { names: Some(names), ..Axis::between(n - 0.5, -0.5, "") }
    }

    /// Whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// The position of a value, between 0 and 1 if it is on the axis.
    pub fn at(&self, value: f64) -> f64 {
        if self.log {
            (value / self.lo).ln() / (self.hi / self.lo).ln()
        } else {
            (value - self.lo) / (self.hi - self.lo)
        }
    }

    /// The position of a value, or `None` if it is not on the axis or not a number.
    pub fn position(&self, value: f64) -> Option<f64> {
        Some(self.at(value)).filter(|p| (-1e-9..=1.0 + 1e-9).contains(p))
    }

    /// About `max` ticks at round numbers.
    pub fn ticks(&self, max: usize) -> Vec<Tick> {
        match &self.names {
            Some(names) => names.iter().enumerate().map(|(i, n)| Tick { value: i as f64, label: n.clone() }).collect(),
            None if self.log => self.decades(max),
            None => self.steps(max),
        }
    }

    /// Ticks at multiples of 1, 2 or 5 times a power of ten.
    fn steps(&self, max: usize) -> Vec<Tick> {
        let step = round_step((self.hi - self.lo).abs() / max.max(1) as f64);
        let step = if self.whole { step.max(1.0) } else { step };
        // Rounding must not lose a tick at an end of the axis.
        let first = (self.lo.min(self.hi) / step - 1e-9).ceil();
        let last = (self.lo.max(self.hi) / step + 1e-9).floor();
        if !step.is_normal() || last - first > 2.0 * max as f64 {
            return Vec::new();
        }
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let largest = self.lo.abs().max(self.hi.abs());
        // Digits of the mantissa needed to distinguish neighbouring ticks.
        let digits = ((largest / step).log10().ceil().max(0.0) as usize).min(15);
        let label = |x: f64| {
            if largest < 1e6 && decimals <= 4 {
                fixed(x, decimals)
            } else if x == 0.0 {
                "0".into()
            } else {
                scientific(x, digits)
            }
        };
        let count = (last - first).max(-1.0) as i64;
        (0..=count).map(|k| (first + k as f64) * step).map(|x| Tick { value: x, label: label(x) }).collect()
    }

    /// Ticks at powers of ten, at most about `max` of them; also at 2 and 5 times them on a short axis.
    fn decades(&self, max: usize) -> Vec<Tick> {
        let (first, last) = (self.lo.log10().ceil() as i32, self.hi.log10().floor() as i32);
        let decades = (last - first).max(1);
        let every = (decades as usize).div_ceil(max.max(1)).max(1) as i32;
        let factors: &[f64] = if decades == 1 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = (first - 1..=last).filter(|e| e % every == 0);
        let values = powers.flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e)));
        let shown = values.filter(|v| (self.lo..=self.hi).contains(v));
        shown.map(|value| Tick { value, label: crate::text::number(value) }).collect()
    }
}

/// Smallest and largest of the values that can be drawn.
pub fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let drawn = values.into_iter().filter(|v| v.abs() < LARGEST);
    drawn.fold(None, |r, v| r.map_or(Some((v, v)), |(lo, hi): (f64, f64)| Some((lo.min(v), hi.max(v)))))
}

/// The number nearest to `x`, in ratio, that is 1, 2 or 5 times a power of ten.
fn round_step(x: f64) -> f64 {
    let power = 10f64.powf(x.log10().floor());
    // The border between two factors is their geometric mean: √2, √10, √50.
    let factor = match x / power {
        r if r < 2f64.sqrt() => 1.0,
        r if r < 10f64.sqrt() => 2.0,
        r if r < 50f64.sqrt() => 5.0,
        _ => 10.0,
    };
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks(5).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        assert_eq!(labels(&Axis::between(0.0, 1.0, "")), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Axis::between(0.0, 20000.0, "")), ["0", "5,000", "10,000", "15,000", "20,000"]);
        assert_eq!(labels(&Axis::between(-0.0003, 0.0003, "")).len(), 7);
        let log = Axis::around_positive([0.01, 100.0], "").unwrap();
        assert_eq!(labels(&log), ["0.01", "0.1", "1", "10", "100"]);
    }

    #[test]
    fn an_axis_accepts_any_values() {
        let odd = [
            vec![],
            vec![f64::NAN],
            vec![f64::INFINITY, 1.0],
            vec![0.0; 3],
            vec![1e-320, 2e-320],
            vec![-1e299, 1e299],
            vec![1e15, 1e15 + 0.25],
            vec![f64::MIN_POSITIVE, 1e299],
        ];
        for values in odd {
            for axis in
                [Axis::around(values.clone(), ""), Axis::around_positive(values.clone(), "")].into_iter().flatten()
            {
                assert!(axis.hi > axis.lo, "{values:?}");
                assert!(axis.ticks(5).len() < 12, "{values:?}");
            }
        }
    }

    #[test]
    fn values_off_the_axis_have_no_position() {
        let axis = Axis::between(0.0, 2.0, "");
        assert_eq!([1.0, 3.0, f64::NAN].map(|v| axis.position(v)), [Some(0.5), None, None]);
    }

    #[test]
    fn positive_values_have_no_negative_ticks() {
        let axis = Axis::around_positive([0.0, 0.25, 1.0], "").unwrap();
        assert_eq!((axis.lo, axis.is_log()), (0.0, false));
        assert!(Axis::around_positive([-1.0, 1.0], "").unwrap().lo < -1.0);
    }
}
