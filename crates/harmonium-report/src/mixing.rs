//! Mixing: free energies of chains that began at rows of the data and elsewhere. Where they meet, samples can be trusted.

use crate::ReportData;
use crate::axis::Axis;
use crate::figure::Figure;
use crate::plot::{Key, Layout};
use crate::text::{count, number};
use ndarray::ArrayView2;

/// Chains drawn at most of each beginning.
const MOST: usize = 4;

/// Chains that were watched.
pub struct ChainTraces<'a> {
    /// F(v) of every chain after every sweep, sweeps × chains: first those that began at rows of the data.
    pub trace: ArrayView2<'a, f64>,
    /// How many chains began at rows; the others began at rows of independent columns.
    pub from_data: usize,
    /// The sweeps that count: R̂ and ESS are of those after this one.
    pub counted_from: usize,
    /// Rank-normalised split R̂ of F(v), if it is defined.
    pub r_hat: Option<f64>,
    /// Bulk effective sample size of F(v), in independent samples.
    pub ess: Option<f64>,
}

impl ChainTraces<'_> {
    /// (sweeps, F) of a chain.
    fn points(&self, chain: usize) -> Vec<(f64, f64)> {
        self.trace.column(chain).iter().enumerate().map(|(k, f)| ((k + 1) as f64, *f)).collect()
    }

    /// "R̂ = 1.002, 5,120 draws are worth 800 independent ones".
    fn in_words(&self) -> String {
        let (sweeps, chains) = self.trace.dim();
        let r_hat = self.r_hat.map(|r| format!("R̂ = {r:.3} (1 when chains that began apart have met)"));
        let counted = sweeps.saturating_sub(self.counted_from);
        let ess = self.ess.map(|e| {
            let draws = number((counted * chains) as f64);
            format!("the {draws} draws of the last {counted} sweeps are worth {} independent ones", number(e.round()))
        });
        [r_hat, ess].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// The traces of some chains.
pub fn figure(report: &ReportData) -> Option<Figure> {
    let mixing = report.mixing.as_ref()?;
    let (sweeps, chains) = mixing.trace.dim();
    let from_data = mixing.from_data.min(chains);
    let drawn = [("line one thin", 0..from_data), ("line two thin", from_data..chains)]
        .map(|(class, which)| which.take(MOST).map(move |chain| (class, chain)))
        .into_iter()
        .flatten();
    let drawn: Vec<(&str, Vec<(f64, f64)>)> = drawn.map(|(class, chain)| (class, mixing.points(chain))).collect();
    let y = Axis::around(drawn.iter().flat_map(|d| &d.1).map(|p| p.1), "")?;
    let x = Axis::between(0.0, sweeps.max(1) as f64, "Gibbs sweeps");
    let mut layout = Layout::new("Chains", "F(v), nats", x, y);
    let key = |class, label: &str| Key { class, label: label.into() };
    layout.legend = vec![key("line one", "began at rows"), key("line two", "began at independent columns")];
    let mut plot = layout.plot();
    drawn.iter().for_each(|(class, points)| plot.line(points, class));
    let caption = format!("Free energies of {} of {}. {}.", drawn.len(), count(chains, "chain"), mixing.in_words());
    Some(Figure { name: "chains".into(), caption, svg: plot.finish(), png: None })
}
