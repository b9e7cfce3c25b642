//! The values that units can take, and how values fall between two ends.

use crate::axis::range;
use harmonium::Layout;
use harmonium::layout::Site;
use ndarray::{ArrayView2, Axis, Slice};

/// Smallest and largest data value of a finite unit.
pub fn value_range(layout: &Layout) -> Option<(f64, f64)> {
    let all = layout.each_site().flat_map(|site| {
        let unit = site.kind.unit::<f64>();
        site.states::<f64>().into_iter().map(move |state| unit.decode(&state))
    });
    range(all).filter(|_| layout.is_finite())
}

/// Smallest and largest entry of a finite unit's columns.
pub fn column_range(layout: &Layout) -> Option<(f64, f64)> {
    range(layout.each_site().flat_map(|site| site.states().concat())).filter(|_| layout.is_finite())
}

/// The two values of every column, such as 0 and 1; `None` for a column that can take others.
pub fn two_values(layout: &Layout) -> Vec<Option<(f64, f64)>> {
    let of_site = |site: Site| {
        let all = site.states::<f64>().concat();
        let ends = range(all.iter().copied()).filter(|(lo, hi)| all.iter().all(|x| x == lo || x == hi));
        vec![ends; site.columns.len()]
    };
    layout.each_site().flat_map(of_site).collect()
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
        let layer = |list: &str| Layout::parse(list).unwrap();
        let (potts, mixed) = (layer("potts(states=4)*1"), layer("spin*1,potts(states=4)*1"));
        assert_eq!((value_range(&potts), column_range(&potts)), (Some((0.0, 3.0)), Some((0.0, 1.0))));
        assert_eq!((value_range(&mixed), column_range(&mixed)), (Some((-1.0, 3.0)), Some((-1.0, 1.0))));
        let (spin, gaussian) = (layer("spin*1"), layer("spin*1,gaussian*1"));
        assert_eq!((value_range(&spin), value_range(&gaussian)), (Some((-1.0, 1.0)), None));
        let found = [&potts, &spin, &gaussian].map(two_values);
        let expected = [vec![Some((0.0, 1.0)); 4], vec![Some((-1.0, 1.0))], vec![Some((-1.0, 1.0)), None]];
        assert_eq!(found, expected);
    }
}
