//! What a run needs of memory, and whether there is as much: asked before anything large is made.

use super::TrainConfig;
use crate::error::Result;
use crate::memory;

/// Bytes per weight at the end of a run, when most copies of the model are there: parameters, gradient, optimiser,
/// average, snapshot, and the judged model in f64. Measured on 784 visible units: 99 from 500 to 4000 hidden units, 78
/// if Gaussian.
const PER_WEIGHT: f64 = 100.0;
/// Bytes per unit of a persistent chain. Measured: 10 with pcd, and 1.3 with the rungs of a ladder.
const PER_STATE: f64 = 10.0;
const PER_RUNG: f64 = 1.5;

impl TrainConfig {
    /// Refuses a model or chains that do not fit in memory, by the columns of the layers and the number of hidden units. Batches
    /// are no larger than the data, which is in memory.
    pub(crate) fn check_memory(&self, columns: [f64; 2], n_hidden: usize) -> Result<()> {
        let [v, h] = columns;
        let model = PER_WEIGHT * v * h;
        memory::check("model.n_hidden", format!("{n_hidden} for {v} visible columns"), model)?;
        let chain = if self.method == "pt" { PER_RUNG * self.temperatures as f64 } else { PER_STATE };
        memory::check("train.chains", self.chains, model + chain * self.chains as f64 * (v + h))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_needs_too_much_is_named() {
        let refused = |config: &TrainConfig, n_hidden| {
            config.check_memory([784.0, n_hidden as f64], n_hidden).err().map(|e| e.to_string()).unwrap_or_default()
        };
        let usual = TrainConfig::default();
        assert_eq!(refused(&usual, 500), "");
        let many = refused(&usual, 1 << 40);
        assert!(
            many.starts_with("n_hidden is 1099511627776 for 784 visible columns, which needs about 86.2 PB"),
            "{many}"
        );
        let chains = TrainConfig { chains: 1 << 40, ..usual };
        assert!(
            refused(&chains, 500).starts_with("chains is 1099511627776, which needs about"),
            "{}",
            refused(&chains, 500)
        );
    }
}
