//! The values that units can take, and how values fall between two ends.

use crate::axis::range;
use harmonium::units::Kind;
use ndarray::{ArrayView2, Axis, Slice};

/// Smallest and largest data value of a finite unit.
pub fn value_range(kind: &Kind) -> Option<(f64, f64)> {
    let unit = kind.unit::<f64>();
    range(states(kind).iter().map(|state| unit.decode(state)))
}

/// Smallest and largest entry of a finite unit's columns.
pub fn column_range(kind: &Kind) -> Option<(f64, f64)> {
    range(states(kind).into_iter().flatten())
}

/// The two values of a unit's columns, such as 0 and 1; `None` if a column can take other values.
pub fn two_values(kind: &Kind) -> Option<(f64, f64)> {
    let (lo, hi) = column_range(kind)?;
    states(kind).iter().flatten().all(|x| *x == lo || *x == hi).then_some((lo, hi))
}

/// The columns of every state; empty for a continuous unit.
fn states(kind: &Kind) -> Vec<Vec<f64>> {
    let unit = kind.unit::<f64>();
    let columns = |state| {
        let mut x = vec![0.0; unit.width()];
        unit.state(state, &mut x);
        x
    };
    (0..unit.n_states().unwrap_or(0)).map(columns).collect()
}

/// Where a value lies between two others, from 0 to 1; ½ if they are equal.
pub fn fraction(value: f64, lo: f64, hi: f64) -> f64 {
    if hi > lo { (value - lo) / (hi - lo) } else { 0.5 }
}

/// Rows `from..to`.
pub fn rows_between<T>(rows: ArrayView2<T>, from: usize, to: usize) -> ArrayView2<T> {
    rows.slice_axis_move(Axis(0), Slice::from(from..to))
}

/// Counts finite values in `bars` equal bins of [lo, hi]; values beyond an end count in the bin at that end.
pub fn histogram(values: impl IntoIterator<Item = f64>, lo: f64, hi: f64, bars: usize) -> Vec<usize> {
    let mut counts = vec![0; bars];
    for value in values.into_iter().filter(|v| v.is_finite()) {
        let place = (value - lo) / (hi - lo) * bars as f64;
        counts[(place.max(0.0) as usize).min(bars - 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_value_is_in_one_bar() {
        let bars = histogram([0.0, 1.0, 0.5, 0.051, f64::NAN], 0.0, 1.0, 20);
        assert_eq!(bars.iter().sum::<usize>(), 4);
        assert_eq!((bars[0], bars[1], bars[10], bars[19]), (1, 1, 1, 1));
    }

    #[test]
    fn ranges_are_those_of_the_states() {
        let potts = Kind::new("potts", &[("states".to_string(), "4".to_string())].into()).unwrap();
        assert_eq!((value_range(&potts), column_range(&potts)), (Some((0.0, 3.0)), Some((0.0, 1.0))));
        let [spin, gaussian] = ["spin", "gaussian"].map(|k| Kind::new(k, &Default::default()).unwrap());
        assert_eq!((value_range(&spin), value_range(&gaussian)), (Some((-1.0, 1.0)), None));
        assert_eq!([&potts, &spin, &gaussian].map(two_values), [Some((0.0, 1.0)), Some((-1.0, 1.0)), None]);
    }
}
