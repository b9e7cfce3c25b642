//! The state of the tracker, which is stored in a checkpoint.

use super::anchor::TEMPERATURES;
use super::{ALL, ISLANDS, REMEMBERED};
use crate::error::{Error, Result};
use crate::lowered::LoweredLayer;
use crate::model::Rbm;
use crate::real::Real;
use crate::states::States;

/// The state of the tracker, which is stored in a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Online<T> {
    /// The model that the chains sample.
    pub rbm: Rbm<T>,
    /// Visible rows, island after island.
    pub chains: States<T>,
    /// log Z of every island.
    pub log_z: Vec<f64>,
    /// Standard error common to all islands: that of the last anchor.
    pub shared: f64,
    /// Work saved up, in products of a row with the weights.
    pub credit: f64,
    /// Variance of log weights of a line, times its steps.
    pub pace: f64,
    /// Temperatures of the next anchor.
    pub temperatures: usize,
    /// Whether the chains lag too far behind the model.
    pub lost: bool,
    /// Rows from which modes were found the last time.
    pub near: States<T>,
}

impl<T: Real> Online<T> {
    /// Refuses an inconsistent state.
    pub fn check(&self, layer: &LoweredLayer<T>) -> Result<()> {
        self.chains.check(layer)?;
        self.near.check(layer)?;
        let sizes = self.chains.rows() == ALL
            && (1..=REMEMBERED).contains(&self.near.rows())
            && self.log_z.len() == ISLANDS
            && (TEMPERATURES.0..=TEMPERATURES.1).contains(&self.temperatures);
        if sizes && self.credit.is_finite() && [self.shared, self.pace].iter().all(|x| *x >= 0.0) {
            Ok(())
        } else {
            Err(Error::Undefined("the checkpoint's chains for log Z do not fit".into()))
        }
    }
}
