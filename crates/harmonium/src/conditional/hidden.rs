//! ⟨h | v_B⟩: the hidden means of a row of which some cells are known. The unknown ones are summed over, or averaged over by chains.

use super::{Conditional, Row, chains};
use crate::bits::Bits;
use crate::error::Result;
use crate::exact::budget;
use crate::rng::Purpose;
use crate::threads;
use ndarray::{Array2, ArrayView2, Axis};

impl Conditional {
    /// Hidden means of rows of columns given the cells that are `known`. The random numbers depend on `first`, the number of the first row.
    pub fn hidden_means(&mut self, x: ArrayView2<f64>, known: &Bits, first: u64) -> Result<Array2<f64>> {
        let (some, rest) = self.parted(known, |cost| budget::ROW.allows(cost));
        let lowered = &self.lowered;
        let mut means = Array2::zeros((x.nrows(), lowered.hidden().columns()));
        let solved = threads::map(some.len() > 1, some.iter(), |&r| {
            Row { lowered, x: x.row(r).to_vec(), known, number: r }.hidden_means()
        });
        for (r, row) in some.iter().zip(solved) {
            means.row_mut(*r).assign(&row?);
        }
        let key = self.key.of(Purpose::Missing);
        for rows in rest.chunks(self.rows_at_once()) {
            let key = key.step(first + rows[0] as u64);
            let found = chains::hidden_means(self, x.select(Axis(0), rows).view(), &known.select(rows), key);
            rows.iter().zip(found.rows()).for_each(|(r, row)| means.row_mut(*r).assign(&row));
        }
        Ok(means)
    }
}

#[cfg(test)]
mod tests {
    use crate::bits::Bits;
    use crate::conditional::{Conditional, ConditionalOptions, Method};
    use crate::units::{Kind, Options};
    use crate::{Layer, Rbm};
    use ndarray::{Array1, Array2, Axis, array};

    fn model() -> Rbm<f64> {
        let kind = || Kind::new("bernoulli", &Options::new()).unwrap();
        let layer = |bias: Array1<f64>| {
            let zero = Array1::zeros(bias.len());
            Layer::from_parts(kind(), bias.insert_axis(Axis(0)), zero).unwrap()
        };
        let weights = array![[1.0, -0.5], [0.3, 0.8], [-1.2, 0.4]];
        Rbm::from_parts(layer(array![0.2, -0.3, 0.1]), layer(array![-0.4, 0.5]), weights).unwrap()
    }

    /// Σ over the unknown cells, written out.
    fn expected(rbm: &Rbm<f64>, row: &[f64], known: &[bool]) -> Array1<f64> {
        let lowered = rbm.lower();
        let (mut sum, mut all) = (Array1::zeros(2), 0.0);
        for code in 0..8 {
            let v = Array2::from_shape_fn((1, 3), |(_, i)| f64::from(code >> i & 1));
            if (0..3).any(|i| known[i] && v[[0, i]] != row[i]) {
                continue;
            }
            let p = (-lowered.up().free_energy(v.view())[0]).exp();
            sum += &(p * &lowered.up().means(v.view()).row(0));
            all += p;
        }
        sum / all
    }

    #[test]
    fn hidden_means_are_sums_over_the_unknown_cells() {
        let rbm = model();
        let (x, rows) = (array![[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [[true, false, true], [true, false, false]]);
        let mut known = Bits::new(3);
        rows.iter().for_each(|row| known.push(row.iter().copied()));
        // 4000 sweeps of 50 chains have an error of about 0.001.
        for (method, tolerance) in [(Method::Exact, 1e-12), (Method::Chains, 0.01)] {
            let options = ConditionalOptions { method, steps: 4000, chains: 50, ..Default::default() };
            let found = Conditional::new(&rbm, options).unwrap().hidden_means(x.view(), &known, 1).unwrap();
            for (r, row) in rows.iter().enumerate() {
                let expected = expected(&rbm, x.row(r).as_slice().unwrap(), row);
                assert!((&found.row(r) - &expected).iter().all(|d| d.abs() < tolerance), "{method:?} row {r}");
            }
        }
    }
}
