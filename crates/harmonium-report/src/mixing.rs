//! Traces of free energies: chains started from data and from shuffled data. If both agree, sampling has converged.

use crate::ReportData;
use crate::axis::Axis;
use crate::figure::Figure;
use crate::plot::{Key, Layout};
use crate::text::{count, number};
use ndarray::ArrayView2;

/// Chains drawn at most, of each kind of start.
const MAX_CHAINS: usize = 4;

/// Free energies of chains, sweep by sweep.
pub struct ChainTraces<'a> {
    /// F(v), sweeps × chains; chains started from data come first.
    pub trace: ArrayView2<'a, f64>,
    /// Number of chains started from data; the others were started from shuffled data.
    pub from_data: usize,
    /// The first sweep that counts for R̂ and the effective sample size; earlier ones are burn-in.
    pub counted_from: usize,
    /// Rank-normalised split R̂ of F(v), if it is defined.
    pub r_hat: Option<f64>,
    /// Bulk effective sample size of F(v).
    pub ess: Option<f64>,
}

impl ChainTraces<'_> {
    /// The points (sweep, F) of a chain.
    fn points(&self, chain: usize) -> Vec<(f64, f64)> {
        self.trace.column(chain).iter().enumerate().map(|(k, f)| ((k + 1) as f64, *f)).collect()
    }

    /// " R̂ = 1.002 (1 when all chains agree). The last 250 sweeps …": a sentence for each number that is defined.
    fn diagnostics(&self) -> String {
        let (sweeps, chains) = self.trace.dim();
        let r_hat = self.r_hat.map(|r| format!(" R̂ = {r:.3} (1 when all chains agree)."));
        let counted = sweeps.saturating_sub(self.counted_from);
        let ess = self.ess.map(|e| {
            let (draws, ess) = (number((counted * chains) as f64), number(e.round()));
            format!(" The last {counted} sweeps give {draws} draws, with an effective sample size of {ess}.")
        });
        [r_hat, ess].into_iter().flatten().collect()
    }
}

/// The traces of some chains, if they were recorded.
pub fn figure(report: &ReportData) -> Option<Figure> {
    let mixing = report.mixing.as_ref()?;
    let (sweeps, chains) = mixing.trace.dim();
    let from_data = mixing.from_data.min(chains);
    let drawn = [("line one thin", 0..from_data), ("line two thin", from_data..chains)]
        .map(|(class, which)| which.take(MAX_CHAINS).map(move |chain| (class, chain)))
        .into_iter()
        .flatten();
    let drawn: Vec<(&str, Vec<(f64, f64)>)> = drawn.map(|(class, chain)| (class, mixing.points(chain))).collect();
    let y = Axis::around(drawn.iter().flat_map(|d| &d.1).map(|p| p.1), "")?;
    let x = Axis::between(0.0, sweeps.max(1) as f64, "Gibbs sweeps");
    let mut layout = Layout::new("Chains", "F(v), nats", x, y);
    let key = |class, label: &str| Key { class, label: label.into() };
    layout.legend = vec![key("line one", "from data rows"), key("line two", "from scrambled rows")];
    let mut plot = layout.plot();
    drawn.iter().for_each(|(class, points)| plot.line(points, class));
    let caption = format!(
        "Free energies of {} of {} during Gibbs sampling, started from data rows and from scrambled rows (each column taken from \
         a different random row). Both colours should cover the same range.{}",
        drawn.len(),
        count(chains, "chain"),
        mixing.diagnostics()
    );
    Some(Figure { name: "chains".into(), caption, svg: plot.finish(), png: None })
}
