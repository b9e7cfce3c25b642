//! Potts unit, x one of q states as a one-hot row: U(x) = −bias·(x − offset), Γ = log Σₖ exp(ηₖ + Iₖ),
//! P(state k) = softmax(η + I)ₖ. Data values are the codes 0 … q−1.

use super::{BIAS, Field, Options, Spec, Unit};
use crate::error::{Error, Result, shown};
use crate::math::log_sum_exp;
use crate::real::Real;
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, Zip};

/// A categorical unit with `states` states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Potts {
    /// q.
    pub states: usize,
}

impl Potts {
    /// Most states a site can have: codes are kept in 16 bits.
    pub(crate) const MOST_STATES: usize = 1 << 16;
}

impl Spec for Potts {
    const NAME: &'static str = "potts";
    const ABOUT: &'static str = "categorical, codes 0 to q-1";
    fn from_options(options: &mut Options) -> Result<Self> {
        let fail = |problem: String| Err(Error::UnitOption { kind: Self::NAME, problem });
        let Some(text) = options.remove("states") else {
            return fail("the number of states is missing".into());
        };
        match text.parse() {
            Ok(states) if (2..=Self::MOST_STATES).contains(&states) => Ok(Potts { states }),
            _ => fail(format!("the number of states is '{}', but must be 2 to {}", shown(&text), Self::MOST_STATES)),
        }
    }
    fn options(&self) -> Options {
        [("states".into(), self.states.to_string())].into()
    }
    fn examples() -> Vec<Self> {
        vec![Potts { states: 2 }, Potts { states: 3 }]
    }
}

impl Potts {
    /// Calls `f(columns, field + input of each state)` for every site of a row.
    fn each<T: Real>(&self, eta: ArrayView2<T>, input: &[T], mut f: impl FnMut(std::ops::Range<usize>, &[f64])) {
        let mut total = vec![0.0; self.states];
        for site in 0..input.len() / self.states {
            let columns = site * self.states..(site + 1) * self.states;
            for (total, c) in total.iter_mut().zip(columns.clone()) {
                *total = (eta[[0, c]] + input[c]).f64();
            }
            f(columns, &total);
        }
    }
}

impl<T: Real> Unit<T> for Potts {
    fn fields(&self) -> &'static [Field] {
        &[BIAS]
    }
    fn width(&self) -> usize {
        self.states
    }
    fn n_stats(&self) -> usize {
        1
    }
    fn n_states(&self) -> Option<usize> {
        Some(self.states)
    }
    fn state(&self, state: usize, columns: &mut [T]) {
        columns.fill(T::zero());
        columns[state] = T::one();
    }
    fn state_of(&self, columns: &[T]) -> usize {
        (0..columns.len()).fold(0, |best, k| if columns[k] > columns[best] { k } else { best })
    }
    fn encode(&self, value: T, columns: &mut [T]) -> bool {
        let code = Unit::code(self, value);
        code.into_iter().for_each(|code| Unit::state(self, code, columns));
        code.is_some()
    }
    fn code(&self, value: T) -> Option<usize> {
        let code = value.f64();
        (code >= 0.0 && code < self.states as f64 && code.fract() == 0.0).then_some(code as usize)
    }
    fn value(&self, state: usize) -> T {
        T::of(state as f64)
    }
    fn decode(&self, columns: &[T]) -> T {
        T::of(Unit::<T>::state_of(self, columns) as f64)
    }
    fn domain(&self) -> String {
        format!("one of the codes 0 to {}", self.states - 1)
    }
    fn natural(&self, par: ArrayView2<T>, _: ArrayView1<T>, mut eta: ArrayViewMut2<T>, scale: &mut [T]) {
        eta.assign(&par);
        scale.fill(T::one());
    }
    fn pullback(&self, _: ArrayView2<T>, _: ArrayView1<T>, d_eta: ArrayView2<T>, _: &[T], mut d_par: ArrayViewMut2<T>) {
        d_par += &d_eta;
    }
    fn reference(&self, _: ArrayView2<T>, offset: ArrayView1<T>, x: &mut [T]) {
        Zip::from(x).and(offset).for_each(|x, &o| *x = o);
    }
    fn shift(&self, mut par: ArrayViewMut2<T>, d_field: &[f64]) {
        Zip::from(par.row_mut(0)).and(d_field).for_each(|p, &d| *p = T::of(p.f64() + d));
    }
    fn recenter(&self, _: ArrayViewMut2<T>, _: &[f64]) {}
    /// log of the frequencies, with one row spread over all states added; the mean of a site's biases is 0.
    fn fit(&self, means: ArrayView2<f64>, rows: f64, _: ArrayView1<T>, mut par: ArrayViewMut2<T>) {
        let q = self.states as f64;
        let log_p = means.row(0).mapv(|m| ((m * rows + 1.0 / q) / (rows + 1.0)).ln());
        for (site, log_p) in log_p.exact_chunks(self.states).into_iter().enumerate() {
            let mean = log_p.sum() / q;
            for (k, l) in log_p.iter().enumerate() {
                par[[0, site * self.states + k]] = T::of(l - mean);
            }
        }
    }
    fn stats(&self, x: &[T], mut t: ArrayViewMut2<T>) {
        Zip::from(t.row_mut(0)).and(x).for_each(|t, &x| *t = x);
    }
    fn log_norm(&self, eta: ArrayView2<T>, input: &[T]) -> f64 {
        let mut sum = 0.0;
        self.each(eta, input, |_, total| sum += log_sum_exp(total.iter().copied()));
        sum
    }
    fn mean_stats(&self, eta: ArrayView2<T>, input: &[T], mut t: ArrayViewMut2<T>) {
        let mut means = vec![T::zero(); input.len()];
        self.means(eta, input, &mut means);
        self.stats(&means, t.view_mut());
    }
    fn means(&self, eta: ArrayView2<T>, input: &[T], x: &mut [T]) {
        self.each(eta, input, |columns, total| {
            let norm = log_sum_exp(total.iter().copied());
            for (x, total) in x[columns].iter_mut().zip(total) {
                *x = T::of((total - norm).exp());
            }
        });
    }
    /// The first state whose cumulative probability exceeds u; the last one, if rounding passes the end.
    fn sample(&self, eta: ArrayView2<T>, input: &[T], u: &[T], x: &mut [T]) {
        let mut u = u.iter();
        self.each(eta, input, |columns, total| {
            let norm = log_sum_exp(total.iter().copied());
            let u = u.next().map_or(0.5, |u| u.f64());
            let mut cumulative = 0.0;
            let passed = total.iter().take_while(|&&t| {
                cumulative += (t - norm).exp();
                u >= cumulative
            });
            let state = passed.count().min(self.states - 1);
            Unit::<T>::state(self, state, &mut x[columns]);
        });
    }
}
