//! The model file: a safetensors file whose tensors are W, a, b, z, α, β and whose metadata say what the units are.
//!
//! Everything is validated before a machine is built. The same machine gives the same bytes: keys are sorted and
//! nothing depends on time, path or threads.

use super::{atomic, digest};
use crate::data::{Binarize, Preprocess};
use crate::error::{Error, Result};
use crate::model::{Layer, Rbm};
use crate::real::Real;
use crate::units::{Kind, Options};
use ndarray::{Array1, Array2};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Largest model file that is read: about 100,000 × 40,000 single-precision weights.
pub const MOST_BYTES: u64 = 16 << 30;
const FORMAT: &str = "harmonium";
const VERSION: &str = "1";
const ABOUT: &str = "about.";

/// The number type of the tensors in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// A machine as it stands in a file: computed with in f64, stored in `precision`.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The machine.
    pub rbm: Rbm<f64>,
    /// What is done to data before it meets the machine.
    pub preprocess: Preprocess,
    /// Free notes, without the `about.` prefix.
    pub about: BTreeMap<String, String>,
    /// The number type of the tensors.
    pub precision: Precision,
}

impl ModelFile {
    /// A file for a machine, in its own precision.
    pub fn new<T: Real>(rbm: &Rbm<T>) -> ModelFile {
        let precision = if T::DTYPE == Dtype::F32 { Precision::F32 } else { Precision::F64 };
        ModelFile { rbm: rbm.cast(), preprocess: Preprocess::default(), about: BTreeMap::new(), precision }
    }

    /// Writes the file atomically.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes();
        atomic::write(path, |w| w.write_all(&bytes))
    }

    /// Reads and validates a file.
    pub fn read(path: &Path) -> Result<ModelFile> {
        let failed = |action| move |source| Error::Io { path: path.into(), action, source };
        let mut file = File::open(path).map_err(failed("opening"))?;
        let meta = file.metadata().map_err(failed("reading"))?;
        let refuse = |problem| Error::Model { path: path.into(), problem };
        if !meta.is_file() {
            return Err(refuse("not a regular file".into()));
        }
        if meta.len() > MOST_BYTES {
            return Err(refuse(format!("{} bytes is more than the limit of {MOST_BYTES}", meta.len())));
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(meta.len() as usize).map_err(|_| refuse("does not fit in memory".into()))?;
        file.by_ref().take(meta.len()).read_to_end(&mut bytes).map_err(failed("reading"))?;
        Self::from_bytes(&bytes).map_err(|e| refuse(e.to_string()))
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self.precision {
            Precision::F32 => self.to_bytes_as::<f32>(),
            Precision::F64 => self.to_bytes_as::<f64>(),
        }
    }

    fn to_bytes_as<T: Real>(&self) -> Vec<u8> {
        let mut data = Vec::new();
        let mut header = Map::new();
        for (name, (shape, numbers)) in self.tensors() {
            let begin = data.len();
            numbers.iter().for_each(|&x| T::of(x).push_le(&mut data));
            let tensor = json!({"dtype": T::DTYPE, "shape": shape, "data_offsets": [begin, data.len()]});
            header.insert(name, tensor);
        }
        let mut metadata = self.metadata();
        metadata.insert(digest::KEY.into(), digest::digest(&metadata, &data));
        header.insert("__metadata__".into(), json!(metadata));
        let mut text = Value::Object(header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text);
        bytes.extend(data);
        bytes
    }

    /// Every tensor by name, with its shape and numbers.
    fn tensors(&self) -> BTreeMap<String, (Vec<usize>, Vec<f64>)> {
        let mut all = BTreeMap::new();
        let weights = self.rbm.weights();
        all.insert("weights".into(), (weights.shape().to_vec(), weights.iter().copied().collect()));
        let mut row = |name: String, numbers: Vec<f64>| all.insert(name, (vec![numbers.len()], numbers));
        for (side, layer) in [("visible", self.rbm.visible()), ("hidden", self.rbm.hidden())] {
            for (field, numbers) in layer.kind().unit::<f64>().fields().iter().zip(layer.par().rows()) {
                row(format!("{side}.{}", field.name), numbers.to_vec());
            }
            if layer.offset().iter().any(|x| *x != 0.0) {
                row(format!("{side}.offset"), layer.offset().to_vec());
            }
        }
        for (name, numbers) in [("data.shift", &self.preprocess.shift), ("data.scale", &self.preprocess.scale)] {
            if let Some(numbers) = numbers {
                row(name.into(), numbers.to_vec());
            }
        }
        all
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let mut all: BTreeMap<String, String> =
            [("format".into(), FORMAT.into()), ("version".into(), VERSION.into())].into();
        for (side, layer) in [("visible", self.rbm.visible()), ("hidden", self.rbm.hidden())] {
            all.insert(format!("{side}.kind"), layer.kind().name().into());
            all.extend(layer.kind().options().into_iter().map(|(k, v)| (format!("{side}.{k}"), v)));
        }
        all.extend(self.preprocess.binarize.map(|b| ("data.binarize".into(), b.to_string())));
        all.extend(self.about.iter().map(|(k, v)| (format!("{ABOUT}{k}"), v.clone())));
        all
    }

    /// Validates the bytes of a file and builds the machine.
    pub fn from_bytes(bytes: &[u8]) -> Result<ModelFile> {
        let refuse = |e: safetensors::SafeTensorError| lie(format!("not a readable safetensors file ({e})"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(refuse)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(refuse)?;
        let metadata: BTreeMap<String, String> = header.metadata().clone().unwrap_or_default().into_iter().collect();
        let data_len = tensors.iter().map(|(_, t)| t.data().len()).sum::<usize>();
        let data = &bytes[bytes.len() - data_len..];
        if let Some(written) = metadata.get(digest::KEY) {
            check_digest(written, &digest::digest(&metadata, data))?;
        }
        Parts { metadata, tensors }.build()
    }
}

/// The digest of the content must be the one written; a hash this version does not know cannot be checked.
fn check_digest(written: &str, actual: &str) -> Result<()> {
    if written == actual {
        return Ok(());
    }
    let known = actual.split(':').next() == written.split(':').next();
    let problem = if known { "the digest does not fit the content: the file is damaged" } else { "unknown digest" };
    Err(lie(format!("{problem} ('{written}')")))
}

fn lie(problem: String) -> Error {
    Error::Undefined(problem)
}

/// What a file claims; every metadata key and tensor that is understood is taken out, and nothing may be left.
struct Parts<'a> {
    metadata: BTreeMap<String, String>,
    tensors: SafeTensors<'a>,
}

impl Parts<'_> {
    fn build(mut self) -> Result<ModelFile> {
        self.expect("format", FORMAT)?;
        self.expect("version", VERSION)?;
        self.metadata.remove(digest::KEY);
        let binarize = self.metadata.remove("data.binarize").map(|b| Binarize::parse(&b)).transpose()?;
        let mut about = BTreeMap::new();
        self.metadata.retain(|key, value| match key.strip_prefix(ABOUT) {
            Some(name) => about.insert(name.into(), value.clone()).is_some(),
            None => true,
        });
        let (visible_kind, hidden_kind) = (self.kind("visible")?, self.kind("hidden")?);
        if let Some(key) = self.metadata.keys().next() {
            return Err(lie(format!("unknown metadata key '{key}'")));
        }
        self.check_names(&visible_kind, &hidden_kind)?;
        let weights = self.matrix("weights")?;
        let visible = self.layer("visible", visible_kind, weights.nrows())?;
        let hidden = self.layer("hidden", hidden_kind, weights.ncols())?;
        let rbm = Rbm::from_parts(visible, hidden, weights)?;
        let columns = rbm.visible().sites();
        let preprocess = Preprocess {
            binarize,
            shift: self.optional("data.shift", columns)?,
            scale: self.optional("data.scale", columns)?,
        };
        preprocess.check(columns)?;
        let single = self.tensors.iter().all(|(_, t)| t.dtype() == Dtype::F32);
        let precision = if single { Precision::F32 } else { Precision::F64 };
        Ok(ModelFile { rbm, preprocess, about, precision })
    }

    fn expect(&mut self, key: &str, value: &str) -> Result<()> {
        match self.metadata.remove(key) {
            None => Err(lie(format!("the metadata key '{key}' is missing: not a harmonium model"))),
            Some(found) if found != value => Err(lie(format!("{key} is '{found}', this program reads '{value}'"))),
            Some(_) => Ok(()),
        }
    }

    fn kind(&mut self, side: &str) -> Result<Kind> {
        let name = self.metadata.remove(&format!("{side}.kind"));
        let name = name.ok_or_else(|| lie(format!("the metadata key '{side}.kind' is missing")))?;
        let prefix = format!("{side}.");
        let mut options = Options::new();
        self.metadata.retain(|key, value| match key.strip_prefix(&prefix) {
            Some(option) => options.insert(option.into(), value.clone()).is_some(),
            None => true,
        });
        Kind::new(&name, &options)
    }

    /// Every tensor of the file must be one this machine has.
    fn check_names(&self, visible: &Kind, hidden: &Kind) -> Result<()> {
        let mut known: Vec<String> = ["weights", "data.shift", "data.scale"].map(String::from).into();
        for (side, kind) in [("visible", visible), ("hidden", hidden)] {
            known.extend(kind.unit::<f64>().fields().iter().map(|f| format!("{side}.{}", f.name)));
            known.push(format!("{side}.offset"));
        }
        match self.tensors.names().into_iter().find(|name| !known.iter().any(|k| k == name)) {
            Some(name) => Err(lie(format!("unknown tensor '{name}'"))),
            None => Ok(()),
        }
    }

    fn layer(&self, side: &str, kind: Kind, columns: usize) -> Result<Layer<f64>> {
        let fields = kind.unit::<f64>().fields();
        let mut par = Array2::zeros((fields.len(), columns));
        for (field, mut row) in fields.iter().zip(par.rows_mut()) {
            let name = format!("{side}.{}", field.name);
            let numbers = self.optional(&name, columns)?;
            row.assign(&numbers.ok_or_else(|| lie(format!("the tensor '{name}' is missing")))?);
        }
        let offset = self.optional(&format!("{side}.offset"), columns)?;
        Layer::from_parts(kind, par, offset.unwrap_or_else(|| Array1::zeros(columns)))
            .map_err(|e| lie(format!("{side} layer: {e}")))
    }

    fn matrix(&self, name: &str) -> Result<Array2<f64>> {
        let tensor = self.tensors.tensor(name).map_err(|_| lie(format!("the tensor '{name}' is missing")))?;
        let &[rows, columns] = tensor.shape() else {
            return Err(lie(format!("the tensor '{name}' has shape {:?}, expected two dimensions", tensor.shape())));
        };
        let shape = |_| lie(format!("the tensor '{name}' has an impossible shape {:?}", tensor.shape()));
        Array2::from_shape_vec((rows, columns), numbers(name, &tensor)?).map_err(shape)
    }

    fn optional(&self, name: &str, len: usize) -> Result<Option<Array1<f64>>> {
        let Ok(tensor) = self.tensors.tensor(name) else { return Ok(None) };
        if tensor.shape() != [len] {
            return Err(lie(format!("the tensor '{name}' has shape {:?}, expected [{len}]", tensor.shape())));
        }
        Ok(Some(numbers(name, &tensor)?.into()))
    }
}

/// The numbers of a tensor in f64; NaN and infinities are refused where the machine is built.
fn numbers(name: &str, tensor: &TensorView) -> Result<Vec<f64>> {
    fn all<T: Real>(bytes: &[u8]) -> Vec<f64> {
        bytes.chunks_exact(size_of::<T>()).map(|b| T::from_le(b).f64()).collect()
    }
    match tensor.dtype() {
        Dtype::F32 => Ok(all::<f32>(tensor.data())),
        Dtype::F64 => Ok(all::<f64>(tensor.data())),
        other => Err(lie(format!("the tensor '{name}' holds {other:?}, expected F32 or F64"))),
    }
}
