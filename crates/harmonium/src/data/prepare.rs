//! Preprocessing of data: x → (x − shift)/scale, then binarisation.

use super::Binarize;
use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::layout::Layout;
use ndarray::{Array1, Array2, Axis};

/// Preprocessing, as stored in a model file; by default none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preprocess {
    /// Binarisation, if there is any.
    pub binarize: Option<Binarize>,
    /// Subtracted from every row.
    pub shift: Option<Array1<f64>>,
    /// Every row is then divided by it; positive.
    pub scale: Option<Array1<f64>>,
}

impl Preprocess {
    /// Refuses shifts and scales of the wrong length, not finite, or scales that are not positive.
    pub(crate) fn check(&self, columns: usize) -> Result<()> {
        for (what, numbers, positive) in [("data.shift", &self.shift, false), ("data.scale", &self.scale, true)] {
            let Some(numbers) = numbers else { continue };
            if numbers.len() != columns {
                let (expected, found) = (columns.to_string(), numbers.len().to_string());
                return Err(Error::Shape { what: what.into(), expected, found });
            }
            if let Some(index) = numbers.iter().position(|x| !x.is_finite() || (positive && *x <= 0.0)) {
                let domain = if positive { "positive" } else { "finite" }.into();
                return Err(Error::Parameter { what: what.into(), index, value: numbers[index], domain });
            }
        }
        Ok(())
    }

    /// x → (x − shift)/scale.
    pub fn standardize(&self, rows: &mut Array2<f64>) {
        if let Some(shift) = &self.shift {
            *rows -= &shift.view().insert_axis(Axis(0));
        }
        if let Some(scale) = &self.scale {
            *rows /= &scale.view().insert_axis(Axis(0));
        }
    }

    /// x → x·scale + shift, for results of a model.
    pub fn restore(&self, rows: &mut Array2<f64>) {
        if let Some(scale) = &self.scale {
            *rows *= &scale.view().insert_axis(Axis(0));
        }
        if let Some(shift) = &self.shift {
            *rows += &shift.view().insert_axis(Axis(0));
        }
    }

    /// The same for columns of the layer: a unit of several columns has no units of measurement.
    pub fn restore_columns(&self, columns: &mut Array2<f64>, visible: &Layout) {
        let of = |numbers: &Option<Array1<f64>>, site: usize| numbers.as_ref().map(|n| n[site]);
        for site in visible.each_site().filter(|site| site.columns.len() == 1) {
            let (scale, shift) = (of(&self.scale, site.index), of(&self.shift, site.index));
            columns.column_mut(site.columns.start).mapv_inplace(|x| x * scale.unwrap_or(1.0) + shift.unwrap_or(0.0));
        }
    }

    /// −Σ log scale, which the change of units adds to a log density; 0 for finite units, whose probabilities do not change.
    pub fn log_jacobian(&self, visible: &Layout) -> f64 {
        let columns = self.scale.as_ref().map_or(0, Array1::len);
        self.mean_log_jacobian(visible, &vec![1.0; columns])
    }

    /// The same for each of some rows, counting only cells that are `known`, one bit per site; none means all.
    pub fn log_jacobians(&self, visible: &Layout, rows: usize, known: Option<&Bits>) -> Vec<f64> {
        let Some(known) = known else { return vec![self.log_jacobian(visible); rows] };
        let row = |r| (0..known.sites()).map(|i| f64::from(u8::from(known.get(r, i)))).collect::<Vec<_>>();
        (0..rows).map(|r| self.mean_log_jacobian(visible, &row(r))).collect()
    }

    /// The mean over rows with unknown cells; `known` is the fraction of rows in which each column is known.
    pub(crate) fn mean_log_jacobian(&self, visible: &Layout, known: &[f64]) -> f64 {
        let Some(scale) = &self.scale else { return 0.0 };
        let continuous = visible.each_site().filter(|site| site.n_states().is_none());
        -continuous.map(|site| known[site.index] * scale[site.index].ln()).sum::<f64>()
    }
}
