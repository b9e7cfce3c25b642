//! `convert`: the same distribution in other coordinates: another coupling, other offsets. Only log Z changes.

use crate::args::{DataOptions, Global, couplings, hidden_couplings};
use crate::model::{MODEL_HELP, Model};
use crate::output::{CommandOutput, say};
use crate::stream::Stream;
use anyhow::Result;
use clap::{Args, ValueEnum};
use harmonium::file::{ModelFile, Precision};
use harmonium::units::Kind;
use harmonium::{Layout, Rbm};
use ndarray::{Array1, Axis};
use std::path::PathBuf;

/// Change the coupling, offsets or precision of a model file
///
/// The distribution stays the same. Only log Z changes, by the number that is printed.
#[derive(Args)]
#[command(after_help = "Examples:
  harmonium convert model.safetensors -o new.safetensors --offsets zero
  harmonium convert model.safetensors -o new.safetensors --offsets data:data.npy
  harmonium convert gaussian.safetensors -o k.safetensors --coupling krizhevsky")]
pub struct Convert {
    #[arg(help = MODEL_HELP)]
    model: PathBuf,
    /// Model file to write (.safetensors)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Coupling of Gaussian visible units
    ///
    /// A coupling is the way the standard deviation sigma of Gaussian units enters the interaction v W h (see NOTATION.md).
    #[arg(long, value_name = "NAME", value_parser = couplings())]
    coupling: Option<String>,
    /// Coupling of Gaussian hidden units
    #[arg(long, value_name = "NAME", value_parser = hidden_couplings())]
    hidden_coupling: Option<String>,
    /// New offsets: zero, or the means of both layers over data:FILE
    #[arg(long, value_name = "zero|data:FILE", value_parser = parse_offsets)]
    offsets: Option<Offsets>,
    /// Number type of the output [default: that of MODEL]
    #[arg(long)]
    precision: Option<Numbers>,
    #[command(flatten)]
    options: DataOptions,
}

/// The offsets that were asked for.
#[derive(Clone)]
enum Offsets {
    Zero,
    Data(String),
}

#[derive(Clone, Copy, ValueEnum)]
enum Numbers {
    F32,
    F64,
}

fn parse_offsets(text: &str) -> Result<Offsets, String> {
    match text.strip_prefix("data:") {
        None if text == "zero" => Ok(Offsets::Zero),
        Some(file) if !file.is_empty() => Ok(Offsets::Data(file.into())),
        _ => Err("expected zero or data:FILE".into()),
    }
}

impl Convert {
    pub fn run(&self, global: &Global) -> Result<CommandOutput> {
        let model = Model::read(&self.model)?;
        let (offset_v, offset_h) = self.new_offsets(&model, global)?;
        let units_v = with_coupling("model.coupling", model.file.rbm.visible().layout(), self.coupling.as_deref())?;
        let hidden = model.file.rbm.hidden().layout();
        let units_h = with_coupling("model.hidden_coupling", hidden, self.hidden_coupling.as_deref())?;
        let mut rbm = model.file.rbm.clone();
        rbm.rechart(units_v, units_h, offset_v.view(), offset_h.view())?;
        // Both models are the same distribution, so that only the constant in the energy changes log Z.
        let shift = model.lowered.constant() - rbm.lower().constant();
        let file = ModelFile { rbm, precision: self.precision(&model.file), ..model.file.clone() };
        warn(&model.file.rbm, &file);
        file.write(&self.output)?;
        let path = self.output.display().to_string();
        Ok(CommandOutput::new(format!("{path}: {} × {}", file.rbm.visible().layout(), file.rbm.hidden().layout()))
            .line("log Z", if shift == 0.0 { "unchanged".into() } else { format!("changes by {shift:.6} nats") })
            .field("output", path)
            .field("log_z_shift", shift))
    }

    fn precision(&self, file: &ModelFile) -> Precision {
        match self.precision {
            Some(Numbers::F32) => Precision::F32,
            Some(Numbers::F64) => Precision::F64,
            None => file.precision,
        }
    }

    fn new_offsets(&self, model: &Model, global: &Global) -> Result<(Array1<f64>, Array1<f64>)> {
        let (visible, hidden) = (model.file.rbm.visible(), model.file.rbm.hidden());
        match &self.offsets {
            None => Ok((visible.offset().to_owned(), hidden.offset().to_owned())),
            Some(Offsets::Zero) => Ok((Array1::zeros(visible.columns()), Array1::zeros(hidden.columns()))),
            Some(Offsets::Data(data)) => means(model, Stream::open(model, data, &self.options, global)?),
        }
    }
}

/// The units with the coupling of Gaussian ones changed; a layer without any refuses it by name.
fn with_coupling(key: &'static str, units: &Layout, coupling: Option<&str>) -> harmonium::Result<Layout> {
    let changed = |kind: &Kind| {
        let mut options = kind.options();
        options.extend(coupling.map(|c| ("coupling".into(), c.into())));
        Kind::new(kind.name(), &options)
    };
    let kinds: Vec<_> = units.blocks().iter().map(|block| changed(block.kind())).collect();
    if kinds.iter().all(|kind| kind.is_err()) {
        return Err(harmonium::Error::Config { key, problem: format!("is for gaussian units, but these are {units}") });
    }
    let kept = kinds.into_iter().zip(units.blocks()).map(|(kind, block)| kind.unwrap_or(block.kind().clone()));
    Ok(units.with_kinds(kept))
}

/// ⟨v⟩ of the data, and ⟨h̄(v)⟩ over it.
fn means(model: &Model, mut stream: Stream) -> Result<(Array1<f64>, Array1<f64>)> {
    let (up, columns) = (model.lowered.up(), model.lowered.hidden().columns());
    let (mut v, mut h) = (Array1::zeros(model.lowered.visible().columns()), Array1::zeros(columns));
    let mut rows = 0;
    while let Some(mapped) = stream.map(columns, |v| up.means(v))? {
        v += &mapped.block.columns()?.sum_axis(Axis(0));
        h += &mapped.result.sum_axis(Axis(0));
        rows += mapped.result.nrows();
    }
    Ok((v / rows as f64, h / rows as f64))
}

/// Warns where single precision would lose digits of a large offset.
fn warn(old: &Rbm<f64>, new: &ModelFile) {
    let single = new.precision == Precision::F32;
    if let Some(text) = old.offset_warning().or_else(|| new.rbm.offset_warning()).filter(|_| single) {
        say("warning", &text);
    }
}
