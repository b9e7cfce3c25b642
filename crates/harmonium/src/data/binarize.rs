//! Binarisation: x ∈ \[0, 1\] becomes 0 or 1, by x > t or with probability x.

use crate::error::{Error, Result};
use crate::rng::{Key, Purpose};
use crate::units::Unit;
use ndarray::Array2;

/// How values in [0, 1] become 0 or 1 for Bernoulli units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binarize {
    /// Unchanged: probabilities of a 1.
    None,
    /// 1 above the threshold.
    Threshold(f64),
    /// 1 with the value as its probability, a function of seed, row and column.
    Sample,
}

impl Binarize {
    /// `none`, `threshold`, `threshold:T`, `sample`.
    pub fn parse(text: &str) -> Result<Binarize> {
        let bad = || Error::Undefined(format!("binarize is '{text}', but must be none, threshold[:T] or sample"));
        match text.split_once(':') {
            None if text == "none" => Ok(Binarize::None),
            None if text == "sample" => Ok(Binarize::Sample),
            None if text == "threshold" => Ok(Binarize::Threshold(0.5)),
            Some(("threshold", t)) => {
                let t: f64 = t.parse().map_err(|_| bad())?;
                if t.is_finite() { Ok(Binarize::Threshold(t)) } else { Err(bad()) }
            }
            _ => Err(bad()),
        }
    }

    /// The new value of a cell; `draw` is a uniform number in (0, 1).
    ///
    /// Values that cannot be intended stay unchanged, and the domain check refuses them: NaN, infinities, and values outside
    /// [0, 1] unless the threshold is outside as well (bytes with `threshold:127`, but not bytes with 0.5).
    fn cell(self, x: f64, draw: impl FnOnce() -> f64) -> f64 {
        let unit = 0.0..=1.0;
        let one = match self {
            Binarize::Threshold(t) if x.is_finite() && (unit.contains(&x) || !unit.contains(&t)) => x > t,
            Binarize::Sample if unit.contains(&x) => draw() < x,
            _ => return x,
        };
        f64::from(u8::from(one))
    }
}

impl std::fmt::Display for Binarize {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Binarize::None => f.write_str("none"),
            Binarize::Threshold(t) => write!(f, "threshold:{t}"),
            Binarize::Sample => f.write_str("sample"),
        }
    }
}

/// Binarisation of one table: the rule given, else that of the model, else one chosen from the data.
///
/// From the data: for units with the states 0 and 1, the first value strictly between them turns on a threshold of 0.5.
/// Everything read before was 0 or 1, which a threshold does not change, so the late decision changes nothing.
pub struct Binarizer {
    rule: Option<Binarize>,
    by_data: bool,
    key: Key,
}

impl Binarizer {
    /// For data of `unit`, if all units are of one kind: the rule given, and the rule of the model.
    pub fn new(
        given: Option<Binarize>,
        stored: Option<Binarize>,
        unit: Option<&dyn Unit<f64>>,
        seed: u64,
    ) -> Binarizer {
        let rule = given.or(stored);
        let by_data = rule.is_none() && unit.is_some_and(takes_probabilities);
        Binarizer { rule, by_data, key: Key::root(seed).of(Purpose::Binarize) }
    }

    /// Binarises a block whose first row has the number `first`, counted from 1.
    pub fn apply(&mut self, rows: &mut Array2<f64>, first: u64) {
        // Without branches, because half of them would be mispredicted on random bits.
        let grey = |rows: &Array2<f64>| rows.iter().fold(false, |any, x| any | ((*x > 0.0) & (*x < 1.0)));
        if self.by_data && self.rule.is_none() && grey(rows) {
            self.rule = Some(Binarize::Threshold(0.5));
        }
        let Some(rule) = self.rule.filter(|r| *r != Binarize::None) else { return };
        for ((r, c), x) in rows.indexed_iter_mut() {
            *x = rule.cell(*x, || self.key.uniforms::<f64>(first + r as u64, c as u32)[0]);
        }
    }

    /// Whether the rule leaves these values as they are, whatever is drawn.
    pub fn keeps(&self, values: [f64; 2]) -> bool {
        let keeps = |rule: Binarize, x: f64, draw: f64| rule.cell(x, || draw) == x;
        let draws = [f64::MIN_POSITIVE, 1.0 - f64::EPSILON];
        self.rule.is_none_or(|rule| draws.iter().all(|draw| values.iter().all(|x| keeps(rule, *x, *draw))))
    }

    /// The rule that was chosen from the data, if there is one.
    pub fn decided_by_data(&self) -> Option<Binarize> {
        self.rule.filter(|_| self.by_data)
    }
}

/// Whether 0 and 1 are states of a unit, so that binarised data fit it.
pub fn takes_bits(unit: &dyn Unit<f64>) -> bool {
    let mut site = vec![0.0; unit.width()];
    unit.n_states().is_some() && unit.encode(0.0, &mut site) && unit.encode(1.0, &mut site)
}

/// Whether a unit has the states 0 and 1 and accepts values between them as probabilities, so that data can be binarised for it.
pub fn takes_probabilities(unit: &dyn Unit<f64>) -> bool {
    let mut x = [0.0];
    let mut state = |k| {
        unit.state(k, &mut x);
        x[0]
    };
    unit.width() == 1 && unit.n_states() == Some(2) && state(0) == 0.0 && state(1) == 1.0 && unit.encode(0.5, &mut x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Kind;
    use ndarray::array;

    fn binarizer(given: Option<Binarize>, stored: Option<Binarize>, kind: &str) -> Binarizer {
        let options = if kind == "potts" { [("states".into(), "2".into())].into() } else { Default::default() };
        Binarizer::new(given, stored, Some(Kind::new(kind, &options).unwrap().unit()), 7)
    }

    #[test]
    fn deciding_late_is_deciding_at_once() {
        let mut b = binarizer(None, None, "bernoulli");
        let mut rows = array![[0.0, 1.0]];
        b.apply(&mut rows, 1);
        assert_eq!((rows, b.decided_by_data()), (array![[0.0, 1.0]], None));
        let mut rows = array![[0.5, 0.51], [1.0, 0.0]];
        b.apply(&mut rows, 2);
        assert_eq!((rows, b.decided_by_data()), (array![[0.0, 1.0], [1.0, 0.0]], Some(Binarize::Threshold(0.5))));
    }

    #[test]
    fn only_units_with_states_0_and_1_are_binarised_unasked() {
        for kind in ["spin", "gaussian", "potts"] {
            let mut rows = array![[0.3]];
            binarizer(None, None, kind).apply(&mut rows, 1);
            assert_eq!(rows, array![[0.3]], "{kind}");
        }
    }

    #[test]
    fn what_is_asked_wins_over_what_is_remembered_over_the_data() {
        let mut rows = array![[0.3]];
        binarizer(None, Some(Binarize::Threshold(0.2)), "bernoulli").apply(&mut rows, 1);
        assert_eq!(rows, array![[1.0]]);
        let mut rows = array![[0.3]];
        binarizer(Some(Binarize::None), Some(Binarize::Threshold(0.2)), "bernoulli").apply(&mut rows, 1);
        assert_eq!(rows, array![[0.3]]);
    }

    #[test]
    fn values_that_cannot_be_meant_are_left_to_the_domain_check() {
        for rule in [Binarize::Threshold(0.5), Binarize::Sample] {
            for x in [f64::NAN, f64::INFINITY, -0.1, 7.0] {
                assert_eq!(rule.cell(x, || 0.5).to_bits(), x.to_bits());
            }
        }
        assert_eq!(Binarize::Threshold(127.0).cell(200.0, || 0.5), 1.0);
        assert_eq!(Binarize::Threshold(127.0).cell(0.0, || 0.5), 0.0);
        assert!(Binarize::Threshold(127.0).cell(f64::NAN, || 0.5).is_nan());
    }

    /// 4,000 draws of p = 0.3: the standard deviation of the mean is 0.0072, so an effect of 0.04 would be seen.
    #[test]
    fn samples_depend_on_seed_row_and_column_and_not_on_the_blocks() {
        let mut whole = Array2::from_elem((400, 10), 0.3);
        binarizer(Some(Binarize::Sample), None, "bernoulli").apply(&mut whole, 1);
        let mut part = Array2::from_elem((1, 10), 0.3);
        binarizer(Some(Binarize::Sample), None, "bernoulli").apply(&mut part, 57);
        assert_eq!(part.row(0), whole.row(56));
        assert!((whole.mean().unwrap() - 0.3).abs() < 0.04);
    }
}
