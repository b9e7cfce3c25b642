//! `inspect`: what is in a model file.

use crate::args::Global;
use crate::model::{MODEL_HELP, Model};
use crate::output::CommandOutput;
use anyhow::Result;
use clap::Args;
use harmonium::data::Preprocess;
use harmonium::error::shown;
use harmonium::exact::MOST_STATES_LOG2;
use harmonium::file::Precision;
use harmonium::layout::Block;
use harmonium::schema::{Column, Schema};
use harmonium::units::Kind;
use harmonium::{Layer, Layout, Rbm};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Columns that are listed.
const MOST_COLUMNS: usize = 20;

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
        let report = data(exact(weights(report, rbm), rbm), &file.preprocess, rbm.visible().layout());
        let report = columns(report, file.schema.as_ref());
        let about: Map<String, Value> = file.about.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
        let report = file.about.iter().fold(report, |report, (k, v)| report.line(&shown(k), shown(v)));
        Ok(report.field("about", about))
    }
}

/// The columns of its data, if the file describes them.
fn columns(report: CommandOutput, schema: Option<&Schema>) -> CommandOutput {
    let Some(schema) = schema else { return report };
    let column = |c: &Column| format!("{} ({})", shown(&c.name), c.kind_text());
    let names: Vec<String> = schema.columns.iter().take(MOST_COLUMNS).map(column).collect();
    let more = if schema.columns.len() > MOST_COLUMNS { ", …" } else { "" };
    let json: Value = serde_json::from_str(&schema.to_json()).unwrap_or_default();
    report.line("columns", names.join(", ") + more).field("schema", json)
}

/// Kind, options, number and offset of a layer's units.
fn layer(report: CommandOutput, side: &str, layer: &Layer<f64>) -> CommandOutput {
    let centred = if is_centred(layer) { ", centred" } else { "" };
    let options =
        |kind: &Kind| -> Map<String, Value> { kind.options().into_iter().map(|(k, v)| (k, v.into())).collect() };
    let report = report.field(&format!("n_{side}"), layer.sites());
    let Some(kind) = layer.kind() else {
        let block =
            |b: &Block| json!({"kind": b.kind().name(), "sites": b.sites().len(), "options": options(b.kind())});
        let blocks: Vec<Value> = layer.layout().blocks().iter().map(block).collect();
        return report
            .line(side, format!("{} units{centred}: {}", layer.sites(), layer.layout()))
            .field(side, "mixed")
            .field(&format!("{side}_blocks"), blocks);
    };
    report
        .line(side, format!("{} {kind} units{centred}", layer.sites()))
        .field(side, kind.name())
        .field(&format!("{side}_options"), options(kind))
}

fn is_centred(layer: &Layer<f64>) -> bool {
    layer.offset().iter().any(|x| *x != 0.0)
}

fn weights(report: CommandOutput, rbm: &Rbm<f64>) -> CommandOutput {
    let w = rbm.weights();
    let rms = (w.iter().map(|w| w * w).sum::<f64>() / w.len() as f64).sqrt();
    let largest = w.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    report
        .line("weights", format!("root mean square {rms:.3}, largest {largest:.3}"))
        .field("weights_rms", rms)
        .field("weights_largest", largest)
}

/// Whether log Z can be computed exactly, and over how many states.
fn exact(report: CommandOutput, rbm: &Rbm<f64>) -> CommandOutput {
    let unit = |layer: &Layer<f64>| layer.layout().is_quadratic();
    let log2 = |layer: &Layer<f64>| Some(layer.layout().log_states()? / std::f64::consts::LN_2);
    let smaller = [rbm.visible(), rbm.hidden()].into_iter().filter_map(log2).reduce(f64::min);
    let possible = match smaller {
        Some(smaller) => smaller <= f64::from(MOST_STATES_LOG2),
        None => unit(rbm.visible()) && unit(rbm.hidden()),
    };
    let text = match (smaller, possible) {
        (Some(n), true) => format!("can be computed exactly, by summing over 2^{n:.0} states of one layer"),
        (Some(n), false) => {
            format!("needs an estimate: the smaller layer has 2^{n:.0} states, the limit is 2^{MOST_STATES_LOG2}")
        }
        (None, true) => "can be computed exactly, as a Gaussian integral".into(),
        (None, false) => "needs an estimate".into(),
    };
    let states = smaller.map_or(Value::Null, Value::from);
    report.line("log Z", text).field("exact", possible).field("states_log2", states)
}

/// What is done to data before the model sees it.
fn data(report: CommandOutput, preprocess: &Preprocess, visible: &Layout) -> CommandOutput {
    let binarize = preprocess.binarize.map(|b| b.to_string());
    let standardized = preprocess.shift.is_some() || preprocess.scale.is_some();
    let sum = 0.0 - preprocess.log_jacobian(visible); // 0, not -0, without scales
    let text = || {
        format!(
            "columns were standardised; means and scales are stored in this file (sum of the logs of the scales: {sum:.4})"
        )
    };
    report
        .maybe("data", standardized.then(text))
        .maybe("binarize", binarize.clone())
        .field("standardized", standardized)
        .field("sum_log_scales", sum)
        .field("binarize", binarize.map_or(Value::Null, Value::from))
}
