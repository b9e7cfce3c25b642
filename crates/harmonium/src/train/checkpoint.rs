//! A checkpoint: the whole state of a run in one file, which only a run with the same configuration can take up.

use super::MOST_FAILURES;
use super::best::Best;
use super::state::{Chains, State};
use crate::bits::Bits;
use crate::error::Result;
use crate::events::MOST_COUNT;
use crate::file::tensors::{self, TensorWriter, invalid as lie, numbers};
use crate::file::{MOST_BYTES, ModelFile, digest};
use crate::layer::Layer;
use crate::layout::Block;
use crate::logz::online::Online;
use crate::model::{Gradient, Rbm};
use crate::real::Real;
use crate::rng::STREAM_VERSION;
use crate::states::States;
use ndarray::{Array1, Array2};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;

/// Largest checkpoint that is read: the model, its average, the best one, that of log Z, and up to three of the
/// optimiser.
pub const MOST_CHECKPOINT: u64 = 8 * MOST_BYTES;

const FORMAT: &str = "harmonium-checkpoint";
const VERSION: &str = "1";
/// The tensor of the averaged model.
const AVERAGE: &str = "average";
/// How long the run had taken; earlier versions did not record it.
const SECONDS: &str = "seconds";

pub(super) fn to_bytes<T: Real>(state: &State<T>, optimizer: &[&str], seed: u64, seconds: Option<f64>) -> Vec<u8> {
    let text = |x: &dyn std::fmt::Display| x.to_string();
    let mut metadata: BTreeMap<String, String> = [
        ("format", text(&FORMAT)),
        ("version", text(&VERSION)),
        ("stream", text(&STREAM_VERSION)),
        ("seed", text(&seed)),
        ("update", text(&state.update)),
        ("rate_factor", text(&state.rate_factor.to_bits())),
        ("failures", text(&state.failures)),
        ("waited", text(&state.waited)),
    ]
    .map(|(k, v)| (k.to_string(), v))
    .into();
    if let Some(seconds) = seconds {
        metadata.insert(SECONDS.into(), format!("{seconds:.3}"));
    }
    if let Some(best) = &state.best {
        metadata.insert("best.update".into(), text(&best.update));
        metadata.insert("best.score".into(), text(&best.score.to_bits()));
        if let Some(error) = best.std_err {
            metadata.insert("best.std_err".into(), text(&error.to_bits()));
        }
    }
    if let Some((score, error)) = &state.last {
        metadata.insert("last.score".into(), text(&score.to_bits()));
        if let Some(error) = error {
            metadata.insert("last.std_err".into(), text(&error.to_bits()));
        }
    }
    if let Some(online) = &state.online {
        metadata.insert("online.lost".into(), text(&u64::from(online.lost)));
        metadata.insert("online.temperatures".into(), text(&online.temperatures));
        for (name, x) in [("shared", online.shared), ("credit", online.credit), ("pace", online.pace)] {
            metadata.insert(format!("online.{name}"), text(&x.to_bits()));
        }
    }
    let mut out = TensorWriter::new(metadata);
    // Names in sorted order: average, best, chains, filled, model, online, optimizer, running.
    if let Some(average) = &state.average {
        bytes_tensor(&mut out, AVERAGE, &ModelFile::new(average).to_bytes());
    }
    if let Some(best) = &state.best {
        bytes_tensor(&mut out, "best", &ModelFile::new(&best.rbm).to_bytes());
    }
    if let Some(chains) = &state.chains {
        chains_tensor(&mut out, "chains", &chains.visible);
        if let Some(hidden) = &chains.hidden {
            chains_tensor(&mut out, "chains.hidden", hidden);
        }
        if !chains.numbers.is_empty() {
            out.numbers("chains.numbers", &[chains.numbers.len()], chains.numbers.iter().copied());
        }
    }
    if let Some(filled) = &state.filled {
        chains_tensor(&mut out, "filled", filled);
    }
    bytes_tensor(&mut out, "model", &ModelFile::new(&state.rbm).to_bytes());
    if let Some(online) = &state.online {
        chains_tensor(&mut out, "online", &online.chains);
        out.numbers("online.log_z", &[online.log_z.len()], online.log_z.iter().copied());
        bytes_tensor(&mut out, "online.model", &ModelFile::new(&online.rbm).to_bytes());
        chains_tensor(&mut out, "online.near", &online.near);
    }
    for (name, gradient) in optimizer.iter().zip(&state.optimizer) {
        for (part, m) in ["1", "2", "3"].iter().zip(gradient.parts()) {
            out.numbers(&format!("optimizer.{name}.{part}"), &[m.nrows(), m.ncols()], m.iter().copied());
        }
    }
    if let Some(running) = &state.running {
        for (layer, means) in ["hidden", "visible"].iter().zip(running.iter().rev()) {
            out.numbers(&format!("running.{layer}"), &[means.len()], means.iter().copied());
        }
    }
    out.finish()
}

/// The seconds that a run had taken before its checkpoint; 0 if that is not recorded.
pub(super) fn seconds(bytes: &[u8]) -> f64 {
    let recorded = tensors::read(bytes).ok().and_then(|(metadata, _)| metadata.get(SECONDS)?.parse::<f64>().ok());
    recorded.filter(|s| s.is_finite() && *s >= 0.0).unwrap_or(0.0)
}

fn bytes_tensor(out: &mut TensorWriter, name: &str, bytes: &[u8]) {
    out.add(name, Dtype::U8, &[bytes.len()], |data| data.extend_from_slice(bytes));
}

fn chains_tensor<T: Real>(out: &mut TensorWriter, name: &str, chains: &States<T>) {
    let shape = [chains.rows(), chains.sites()];
    match chains {
        States::Bits(b) => out.add(name, Dtype::U64, &[shape[0], b.words().len() / shape[0].max(1)], |data| {
            b.words().iter().for_each(|w| data.extend_from_slice(&w.to_le_bytes()));
        }),
        States::Codes(c) => out.add(name, Dtype::U16, &shape, |data| {
            c.iter().for_each(|c| data.extend_from_slice(&c.to_le_bytes()));
        }),
        States::Real(x) => out.numbers(name, &shape, x.iter().copied()),
        States::Blocks(parts) => {
            parts.iter().enumerate().for_each(|(k, part)| chains_tensor(out, &block_name(name, k), part));
        }
    }
}

/// The name of the tensor of a block; the first has that of the whole.
fn block_name(name: &str, block: usize) -> String {
    if block == 0 { name.into() } else { format!("{name}.block.{block}") }
}

/// `like` is a model of the run, whose kinds and sizes the checkpoint must have.
pub(super) fn from_bytes<T: Real>(bytes: &[u8], like: &Rbm<T>, optimizer: &[&str], seed: u64) -> Result<State<T>> {
    let (metadata, tensors) = tensors::read(bytes)?;
    let get = |key: &str| metadata.get(key).ok_or_else(|| lie(format!("the checkpoint has no '{key}'")));
    let number =
        |key: &str| get(key)?.parse::<u64>().map_err(|_| lie(format!("the checkpoint's '{key}' is no number")));
    get(digest::KEY)?;
    let (stream, seed) = (STREAM_VERSION.to_string(), seed.to_string());
    for (key, want) in [("format", FORMAT), ("version", VERSION), ("stream", &stream), ("seed", &seed)] {
        let found = get(key)?;
        if found != want {
            return Err(lie(format!("the checkpoint's {key} is '{found}', this run needs '{want}'")));
        }
    }
    let optional = |key: &str| match metadata.contains_key(key) {
        true => number(key).map(|bits| Some(f64::from_bits(bits))),
        false => Ok(None),
    };
    let last = match optional("last.score")? {
        Some(score) => Some((score, optional("last.std_err")?)),
        None => None,
    };
    let best = match metadata.contains_key("best.update") {
        false => None,
        true => Some(Best {
            score: f64::from_bits(number("best.score")?),
            std_err: optional("best.std_err")?,
            update: number("best.update")?,
            rbm: lowered(&tensors, "best", like)?,
        }),
    };
    let state = State {
        rbm: lowered(&tensors, "model", like)?,
        average: tensors.tensor(AVERAGE).ok().map(|_| lowered(&tensors, AVERAGE, like)).transpose()?,
        optimizer: optimizer.iter().map(|name| gradient(&tensors, name, like)).collect::<Result<_>>()?,
        chains: match tensors.tensor("chains") {
            Err(_) => None,
            Ok(_) => Some(Chains {
                visible: chains(&tensors, "chains", like.visible())?,
                hidden: optional_chains(&tensors, "chains.hidden", like.hidden())?,
                numbers: match tensors.tensor("chains.numbers") {
                    Err(_) => Vec::new(),
                    Ok(_) => finite(&tensors, "chains.numbers")?,
                },
            }),
        },
        update: number("update")?,
        rate_factor: f64::from_bits(number("rate_factor")?),
        failures: u32::try_from(number("failures")?).unwrap_or(u32::MAX),
        best,
        waited: number("waited")?,
        last,
        running: match tensors.tensor("running.visible") {
            Err(_) => None,
            Ok(_) => Some([
                means(&tensors, "running.visible", like.visible())?,
                means(&tensors, "running.hidden", like.hidden())?,
            ]),
        },
        filled: optional_chains(&tensors, "filled", like.visible())?,
        online: match tensors.tensor("online") {
            Err(_) => None,
            Ok(_) => Some(Online {
                chains: chains(&tensors, "online", like.visible())?,
                near: chains(&tensors, "online.near", like.visible())?,
                rbm: lowered(&tensors, "online.model", like)?,
                log_z: finite(&tensors, "online.log_z")?,
                shared: f64::from_bits(number("online.shared")?),
                credit: f64::from_bits(number("online.credit")?),
                pace: f64::from_bits(number("online.pace")?),
                temperatures: number("online.temperatures")? as usize,
                lost: number("online.lost")? == 1,
            }),
        },
    };
    let rate = state.rate_factor > 0.0 && state.rate_factor <= 1.0;
    let counts = state.update <= MOST_COUNT && state.waited <= MOST_COUNT && state.failures <= MOST_FAILURES;
    if !(counts && rate) {
        return Err(lie("the checkpoint has numbers that no run has".into()));
    }
    Ok(state)
}

/// The model in the bytes of a checkpoint, averaged if the run averages, and the updates it has seen.
pub(crate) fn model_of_checkpoint(bytes: &[u8]) -> Result<(ModelFile, u64)> {
    let (metadata, tensors) = tensors::read(bytes)?;
    for (key, want) in [("format", FORMAT), ("version", VERSION)] {
        if metadata.get(key).map(String::as_str) != Some(want) {
            return Err(lie(format!("it is no checkpoint: its {key} is not '{want}'")));
        }
    }
    let update = metadata.get("update").and_then(|u| u.parse().ok());
    let update = update.ok_or_else(|| lie("the checkpoint has no number of updates".into()))?;
    let model = if tensors.tensor(AVERAGE).is_ok() { AVERAGE } else { "model" };
    Ok((ModelFile::from_bytes(tensor(&tensors, model)?.data())?, update))
}

fn tensor<'a>(tensors: &SafeTensors<'a>, name: &str) -> Result<TensorView<'a>> {
    tensors.tensor(name).map_err(|_| lie(format!("the checkpoint has no tensor '{name}'")))
}

fn lowered<T: Real>(tensors: &SafeTensors, name: &str, like: &Rbm<T>) -> Result<Rbm<T>> {
    let rbm: Rbm<T> = ModelFile::from_bytes(tensor(tensors, name)?.data())?.rbm.cast();
    let same = |a: &Layer<T>, b: &Layer<T>| a.layout() == b.layout();
    match same(rbm.visible(), like.visible()) && same(rbm.hidden(), like.hidden()) {
        true => Ok(rbm),
        false => Err(lie("the checkpoint holds another kind or size of model".into())),
    }
}

fn gradient<T: Real>(tensors: &SafeTensors, name: &str, like: &Rbm<T>) -> Result<Gradient<T>> {
    let mut gradient = Gradient::zeros(like);
    let Gradient { visible, hidden, weights } = &mut gradient;
    for (part, m) in ["1", "2", "3"].iter().zip([visible, hidden, weights]) {
        let name = format!("optimizer.{name}.{part}");
        let tensor = tensor(tensors, &name)?;
        let values = numbers(&name, &tensor)?;
        if tensor.shape() != m.shape() || !values.iter().all(|x| x.is_finite()) {
            return Err(lie(format!("the checkpoint's '{name}' does not fit")));
        }
        m.iter_mut().zip(values).for_each(|(m, x)| *m = T::of(x));
    }
    Ok(gradient)
}

fn optional_chains<T: Real>(tensors: &SafeTensors, name: &str, like: &Layer<T>) -> Result<Option<States<T>>> {
    tensors.tensor(name).ok().map(|_| chains(tensors, name, like)).transpose()
}

fn finite(tensors: &SafeTensors, name: &str) -> Result<Vec<f64>> {
    let values = numbers(name, &tensor(tensors, name)?)?;
    match values.iter().all(|x| x.is_finite()) {
        true => Ok(values),
        false => Err(lie(format!("the checkpoint's '{name}' has a number that is not finite"))),
    }
}

fn means<T: Real>(tensors: &SafeTensors, name: &str, like: &Layer<T>) -> Result<Array1<T>> {
    let values = finite(tensors, name)?;
    if values.len() != like.offset().len() {
        return Err(lie(format!("the checkpoint's '{name}' does not fit")));
    }
    Ok(values.into_iter().map(T::of).collect())
}

fn chains<T: Real>(tensors: &SafeTensors, name: &str, like: &Layer<T>) -> Result<States<T>> {
    let blocks = like.layout().blocks();
    let read = |(k, block): (usize, &Block)| part(&tensor(tensors, &block_name(name, k))?, block.sites().len());
    let mut parts = blocks.iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
    let states = if parts.len() == 1 { parts.remove(0) } else { States::Blocks(parts) };
    states.check(like.layout())?;
    Ok(states)
}

/// The chains of a block of so many sites.
fn part<T: Real>(tensor: &TensorView, sites: usize) -> Result<States<T>> {
    let bad = || lie("the checkpoint's chains do not fit the model".into());
    let &[rows, columns] = tensor.shape() else { return Err(bad()) };
    let bytes = tensor.data();
    match tensor.dtype() {
        Dtype::U64 => {
            let word = |b: &[u8]| b.iter().rev().fold(0u64, |w, b| w << 8 | u64::from(*b));
            let words = bytes.chunks_exact(8).map(word).collect();
            Bits::from_words(sites, words).filter(|b| b.rows() == rows).map(States::Bits).ok_or_else(bad)
        }
        Dtype::U16 if columns == sites => {
            let codes = bytes.chunks_exact(2).map(|b| u16::from(b[0]) | u16::from(b[1]) << 8).collect();
            Array2::from_shape_vec((rows, columns), codes).map(States::Codes).map_err(|_| bad())
        }
        dtype if dtype == T::DTYPE && columns == sites => {
            let values = numbers("chains", tensor)?.into_iter().map(T::of).collect();
            Array2::from_shape_vec((rows, columns), values).map(States::Real).map_err(|_| bad())
        }
        _ => Err(bad()),
    }
}
