//! The report of a concluded run: collects rows, samples and reconstructions for the figures.

use crate::facts::{facts, units_in_words};
use crate::words::{AdviceWords, Words};
use crate::{ChainTraces, Rendered, ReportData, render};
use harmonium::run::{Conclusion, RECORDED, some_rows};
use harmonium::{Dataset, Rbm};
use ndarray::{Array2, Axis};

/// Number of rows that are reconstructed.
const RECONSTRUCTED: usize = 100;

/// Renders the report of a run and its pictures; `command` is the verdict's remedy as it can be copied.
pub fn render_run(run: &Conclusion, advice: AdviceWords, command: Option<&str>) -> Rendered {
    let (rbm, lowered, seed) = (&run.facts.rbm, run.facts.rbm.lower(), run.facts.spec.train.seed);
    let values = |rows: Option<&Dataset<f32>>| match rows {
        Some(rows) => some_rows(rows, seed).states().values(lowered.visible()),
        None => Array2::zeros((0, lowered.visible().sites())),
    };
    let (data, held_out) = (values(run.facts.train.as_deref()), values(run.facts.valid.as_deref()));
    let reconstructions = reconstructions(rbm, &data);
    let (trace, notes) = (&run.mixing.trace, run.facts.notes);
    let mixing = ChainTraces {
        trace: trace.view(),
        from_data: RECORDED / 2,
        counted_from: trace.nrows() / 2,
        r_hat: run.mixing.r_hat,
        ess: run.mixing.ess,
    };
    let missing =
        run.facts.without_data.iter().map(|why| format!("Drawn without the data: {}.", why.trim_end_matches('.')));
    render(&ReportData {
        title: format!("{}: {}", run.facts.spec.data.source, units_in_words(rbm)),
        verdict: Some(&Words::new(&run.verdict, run.log_z.as_ref(), advice, command)),
        notes: &missing.collect::<Vec<_>>(),
        facts: facts(run, advice),
        events: &run.facts.events,
        config_toml: &run.facts.config,
        rbm,
        data: data.view(),
        held_out: held_out.view(),
        samples: run.mixing.samples.view(),
        reconstructions: reconstructions.view(),
        image: notes.image,
        columns: notes.names.as_deref().unwrap_or_default(),
        words: notes.words.as_deref().unwrap_or_default(),
        alphabet: notes.alphabet.as_deref().unwrap_or_default(),
        idle: run.verdict.evidence.idle,
        mixing: (trace.nrows() > 0).then_some(mixing),
        preprocess: run.facts.preprocess,
    })
}

fn reconstructions(rbm: &Rbm<f32>, data: &Array2<f32>) -> Array2<f32> {
    let lowered = rbm.lower();
    let first = data.slice_axis(Axis(0), (..data.nrows().min(RECONSTRUCTED)).into());
    // Encoding cannot fail: the rows were decoded from states of these units.
    let Ok(x) = lowered.visible().encode(first, 1) else { return Array2::zeros((0, data.ncols())) };
    let means = lowered.down().means(lowered.up().means(x.view()).view());
    lowered.visible().decode(means.view())
}
