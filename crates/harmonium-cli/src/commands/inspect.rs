//! `inspect`: what stands in a model file.

use crate::args::Global;
use crate::model::{MODEL_HELP, Model};
use crate::output::CommandOutput;
use anyhow::Result;
use clap::Args;
use harmonium::error::shown;
use harmonium::exact::MOST_STATES_LOG2;
use harmonium::file::Precision;
use harmonium::{Layer, Rbm};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Show what is in a model file
#[derive(Args)]
#[command(after_help = "Example:\n  harmonium inspect model.safetensors --json")]
pub struct Inspect {
    #[arg(help = MODEL_HELP)]
    model: PathBuf,
}

impl Inspect {
    pub fn run(&self, _: &Global) -> Result<CommandOutput> {
        let Model { path, file, .. } = Model::read(&self.model)?;
        let rbm = &file.rbm;
        let precision = if file.precision == Precision::F32 { "f32" } else { "f64" };
        let parameters = rbm.weights().len() + rbm.visible().par().len() + rbm.hidden().par().len();
        let title = format!("{}: {parameters} parameters in {precision}", path.display());
        let report = layer(CommandOutput::new(title), "visible", rbm.visible());
        let report = layer(report, "hidden", rbm.hidden())
            .field("offsets", json!({"visible": is_centred(rbm.visible()), "hidden": is_centred(rbm.hidden())}))
            .field("parameters", parameters)
            .field("precision", precision);
        let report = data(exact(weights(report, rbm), rbm), &file.preprocess);
        let about: Map<String, Value> = file.about.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
        let report = file.about.iter().fold(report, |report, (k, v)| report.line(&shown(k), shown(v)));
        Ok(report.field("about", about))
    }
}

/// Kind, options, number and offset of a layer's units.
fn layer(report: CommandOutput, side: &str, layer: &Layer<f64>) -> CommandOutput {
    let centred = if is_centred(layer) { ", centred" } else { "" };
    let options: Map<String, Value> = layer.kind().options().into_iter().map(|(k, v)| (k, v.into())).collect();
    report
        .line(side, format!("{} {} units{centred}", layer.sites(), layer.kind()))
        .field(side, layer.kind().name())
        .field(&format!("n_{side}"), layer.sites())
        .field(&format!("{side}_options"), options)
}

fn is_centred(layer: &Layer<f64>) -> bool {
    layer.offset().iter().any(|x| *x != 0.0)
}

fn weights(report: CommandOutput, rbm: &Rbm<f64>) -> CommandOutput {
    let w = rbm.weights();
    let rms = (w.iter().map(|w| w * w).sum::<f64>() / w.len() as f64).sqrt();
    let largest = w.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    report
        .line("weights", format!("root mean square {rms:.4}, largest {largest:.4}"))
        .field("weights_rms", rms)
        .field("weights_largest", largest)
}

/// Whether log Z can be computed exactly, and over how many states.
fn exact(report: CommandOutput, rbm: &Rbm<f64>) -> CommandOutput {
    let unit = |layer: &Layer<f64>| layer.kind().unit::<f64>().quadratic();
    let log2 = |layer: &Layer<f64>| {
        let states = layer.kind().unit::<f64>().n_states()?;
        Some(layer.sites() as f64 * (states as f64).log2())
    };
    let smaller = [rbm.visible(), rbm.hidden()].into_iter().filter_map(log2).reduce(f64::min);
    let possible = match smaller {
        Some(smaller) => smaller <= f64::from(MOST_STATES_LOG2),
        None => unit(rbm.visible()) && unit(rbm.hidden()),
    };
    let text = match (smaller, possible) {
        (Some(n), true) => format!("exact, over 2^{n:.0} states of one layer"),
        (Some(n), false) => {
            format!("not exact: the smaller layer has 2^{n:.0} states, the limit is 2^{MOST_STATES_LOG2}")
        }
        (None, true) => "exact, a Gaussian integral".into(),
        (None, false) => "not exact".into(),
    };
    let states = smaller.map_or(Value::Null, Value::from);
    report.line("log Z", text).field("exact", possible).field("states_log2", states)
}

/// What is done to data before it meets the model.
fn data(report: CommandOutput, preprocess: &harmonium::data::Preprocess) -> CommandOutput {
    let binarize = preprocess.binarize.map(|b| b.to_string());
    let standardized = preprocess.shift.is_some() || preprocess.scale.is_some();
    report
        .maybe("data", standardized.then(|| "(x - shift)/scale, remembered for every column".into()))
        .maybe("binarize", binarize.clone())
        .field("standardized", standardized)
        .field("binarize", binarize.map_or(Value::Null, Value::from))
}
