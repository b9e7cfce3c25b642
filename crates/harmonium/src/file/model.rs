//! The model file: a safetensors file whose tensors are W, a, b, z, α, β and whose metadata has the kinds of units.
//!
//! Everything is validated before a model is built. The same model always gives the same bytes: keys are sorted, and nothing
//! depends on time, path or threads.

use super::blocks::{self, BLOCKS, Units};
use super::digest;
use super::tensors::{self, TensorWriter, invalid, numbers};
use crate::atomic;
use crate::data::{Binarize, Preprocess};
use crate::error::{Error, Result, shown};
use crate::layer::Layer;
use crate::layout::Layout;
use crate::model::Rbm;
use crate::open;
use crate::real::Real;
use crate::schema::Schema;
use crate::units::{Kind, Options};
use ndarray::{Array1, Array2};
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::path::Path;

const FORMAT: &str = "harmonium";
/// Version 1 has a kind for each layer, version 2 a list of blocks, and perhaps a schema of the data.
const VERSIONS: [&str; 2] = ["1", "2"];
const ABOUT: &str = "about.";
const SCHEMA: &str = "data.schema";

/// The number type of the tensors in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// Shape and numbers.
pub(crate) type Tensor = (Vec<usize>, Vec<f64>);

/// The content of a model file. The model is in f64 in memory and in `precision` in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// The model.
    pub rbm: Rbm<f64>,
    /// How data is prepared for the model.
    pub preprocess: Preprocess,
    /// What the columns of its data are, if the data was a table with a schema.
    pub schema: Option<Schema>,
    /// Free notes, without the `about.` prefix.
    pub about: BTreeMap<String, String>,
    /// The number type of the tensors.
    pub precision: Precision,
}

impl ModelFile {
    /// A file for a model, in its own precision.
    pub fn new<T: Real>(rbm: &Rbm<T>) -> ModelFile {
        let precision = if T::DTYPE == Dtype::F32 { Precision::F32 } else { Precision::F64 };
        ModelFile {
            rbm: rbm.cast(),
            preprocess: Preprocess::default(),
            schema: None,
            about: BTreeMap::new(),
            precision,
        }
    }

    /// Writes the file atomically.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let bytes = self.to_bytes();
        // Nothing is written that could not be read again.
        tensors::check_header(&bytes)
            .map_err(|e| Error::Model { path: path.as_ref().into(), problem: e.to_string() })?;
        atomic::write(path.as_ref(), |w| w.write_all(&bytes))
    }

    /// Reads and validates a file.
    pub fn read(path: impl AsRef<Path>) -> Result<ModelFile> {
        let path = path.as_ref();
        let bytes = open::bytes(path, tensors::MOST_BYTES)?;
        Self::from_bytes(&bytes).map_err(|e| Error::Model { path: path.into(), problem: e.to_string() })
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self.precision {
            Precision::F32 => self.to_bytes_as::<f32>(),
            Precision::F64 => self.to_bytes_as::<f64>(),
        }
    }

    fn to_bytes_as<T: Real>(&self) -> Vec<u8> {
        let mut out = TensorWriter::new(self.metadata());
        for (name, (shape, numbers)) in self.tensors() {
            out.numbers(&name, &shape, numbers.iter().map(|&x| T::of(x)));
        }
        out.finish()
    }

    /// A file from its metadata and named tensors, validated like the bytes of a file.
    pub fn from_tensors(
        metadata: BTreeMap<String, String>,
        tensors: &BTreeMap<String, Tensor>,
        precision: Precision,
    ) -> Result<ModelFile> {
        let is_new = |key: &String| key.ends_with(BLOCKS) || key == SCHEMA;
        let version = VERSIONS[usize::from(metadata.keys().any(is_new))];
        let named = [("format".into(), FORMAT.into()), ("version".into(), version.into())];
        let mut out = TensorWriter::new(metadata.into_iter().chain(named).collect());
        for (name, (shape, numbers)) in tensors {
            match precision {
                Precision::F32 => out.numbers(name, shape, numbers.iter().map(|&x| x as f32)),
                Precision::F64 => out.numbers(name, shape, numbers.iter().copied()),
            }
        }
        Self::from_bytes(&out.finish())
    }

    /// Every tensor by name, with its shape and numbers.
    pub fn tensors(&self) -> BTreeMap<String, Tensor> {
        let mut all = BTreeMap::new();
        let weights = self.rbm.weights();
        all.insert("weights".into(), (weights.shape().to_vec(), weights.iter().copied().collect()));
        let mut row = |name: String, numbers: Vec<f64>| all.insert(name, (vec![numbers.len()], numbers));
        for (side, layer) in [("visible", self.rbm.visible()), ("hidden", self.rbm.hidden())] {
            for (field, number, _) in layer.layout().fields() {
                row(format!("{side}.{}", field.name), layer.par().row(number).to_vec());
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

    /// The kinds of units, the preprocessing and the notes, by their names in the file.
    pub fn metadata(&self) -> BTreeMap<String, String> {
        let mut all: BTreeMap<String, String> =
            [("format".into(), FORMAT.into()), ("version".into(), self.version().into())].into();
        for (side, layer) in [("visible", self.rbm.visible()), ("hidden", self.rbm.hidden())] {
            match layer.kind().filter(|_| self.version() == VERSIONS[0]) {
                Some(kind) => {
                    all.insert(format!("{side}.kind"), kind.name().into());
                    all.extend(kind.options().into_iter().map(|(k, v)| (format!("{side}.{k}"), v)));
                }
                None => _ = all.insert(format!("{side}{BLOCKS}"), blocks::to_json(layer.layout())),
            }
        }
        all.extend(self.schema.as_ref().map(|schema| (SCHEMA.into(), schema.to_json())));
        all.extend(self.preprocess.binarize.map(|b| ("data.binarize".into(), b.to_string())));
        all.extend(self.about.iter().map(|(k, v)| (format!("{ABOUT}{k}"), v.clone())));
        all
    }

    /// The oldest version that can say what the file has to say.
    fn version(&self) -> &'static str {
        let single = [self.rbm.visible(), self.rbm.hidden()].iter().all(|layer| layer.kind().is_some());
        VERSIONS[usize::from(!single || self.schema.is_some())]
    }

    /// Validates the bytes of a file and builds the model.
    pub fn from_bytes(bytes: &[u8]) -> Result<ModelFile> {
        let (metadata, tensors) = tensors::read(bytes)?;
        Parts { metadata, tensors }.build()
    }
}

/// The content of a file while it is read: every known metadata key is taken out, and nothing may be left.
struct Parts<'a> {
    metadata: BTreeMap<String, String>,
    tensors: SafeTensors<'a>,
}

impl Parts<'_> {
    fn build(mut self) -> Result<ModelFile> {
        self.expect("format", FORMAT)?;
        let is_first = self.version()? == VERSIONS[0];
        self.metadata.remove(digest::KEY);
        let binarize = self.metadata.remove("data.binarize").map(|b| Binarize::parse(&b)).transpose()?;
        let schema = if is_first { None } else { self.metadata.remove(SCHEMA) };
        let mut about = BTreeMap::new();
        self.metadata.retain(|key, value| match key.strip_prefix(ABOUT) {
            Some(name) => about.insert(name.into(), value.clone()).is_some(),
            None => true,
        });
        let units = ["visible", "hidden"].map(|side| if is_first { self.kind(side) } else { self.blocks(side) });
        let [visible, hidden] = units;
        let (visible, hidden) = (visible?, hidden?);
        if let Some(key) = self.metadata.keys().next() {
            return Err(invalid(format!("unknown metadata key '{}'", shown(key))));
        }
        let weights = self.matrix("weights")?;
        let visible = visible.layout("visible", weights.nrows())?;
        let hidden = hidden.layout("hidden", weights.ncols())?;
        self.check_names(&visible, &hidden)?;
        let visible = self.layer("visible", visible)?;
        let hidden = self.layer("hidden", hidden)?;
        let rbm = Rbm::from_parts(visible, hidden, weights)?;
        let columns = rbm.visible().sites();
        let preprocess = Preprocess {
            binarize,
            shift: self.optional("data.shift", columns)?,
            scale: self.optional("data.scale", columns)?,
        };
        preprocess.check(columns)?;
        let schema = schema.map(|text| Schema::from_json(&text)).transpose();
        let schema = schema.map_err(|e| invalid(format!("'{SCHEMA}': {e}")))?;
        if let Some(schema) = &schema {
            schema.check_layout(rbm.visible().layout()).map_err(|e| invalid(format!("'{SCHEMA}': {e}")))?;
        }
        let single = self.tensors.iter().all(|(_, t)| t.dtype() == Dtype::F32);
        let precision = if single { Precision::F32 } else { Precision::F64 };
        Ok(ModelFile { rbm, preprocess, schema, about, precision })
    }

    fn expect(&mut self, key: &str, value: &str) -> Result<()> {
        match self.metadata.remove(key) {
            None => Err(invalid(format!("the metadata key '{key}' is missing: this is not a harmonium model"))),
            Some(found) if found != value => {
                Err(invalid(format!("{key} is '{}', this version reads '{value}'", shown(&found))))
            }
            Some(_) => Ok(()),
        }
    }

    fn version(&mut self) -> Result<&'static str> {
        let newer = self.metadata.get("version").and_then(|found| VERSIONS.into_iter().find(|v| v == found));
        let version = newer.unwrap_or(VERSIONS[0]);
        self.expect("version", version).map(|()| version)
    }

    /// The units of a layer of several blocks.
    fn blocks(&mut self, side: &str) -> Result<Units> {
        let key = format!("{side}{BLOCKS}");
        let text = self.metadata.remove(&key).ok_or_else(|| invalid(format!("the metadata key '{key}' is missing")))?;
        blocks::from_json(&key, &text).map(Units::Blocks)
    }

    fn kind(&mut self, side: &str) -> Result<Units> {
        let name = self.metadata.remove(&format!("{side}.kind"));
        let name = name.ok_or_else(|| invalid(format!("the metadata key '{side}.kind' is missing")))?;
        let prefix = format!("{side}.");
        let mut options = Options::new();
        self.metadata.retain(|key, value| match key.strip_prefix(&prefix) {
            Some(option) => options.insert(option.into(), value.clone()).is_some(),
            None => true,
        });
        Kind::new(&name, &options).map(Units::Kind)
    }

    /// Refuses tensors that this model does not have.
    fn check_names(&self, visible: &Layout, hidden: &Layout) -> Result<()> {
        let mut known: Vec<String> = ["weights", "data.shift", "data.scale"].map(String::from).into();
        for (side, layout) in [("visible", visible), ("hidden", hidden)] {
            known.extend(layout.fields().iter().map(|(field, ..)| format!("{side}.{}", field.name)));
            known.push(format!("{side}.offset"));
        }
        match self.tensors.names().into_iter().find(|name| !known.iter().any(|k| k == name)) {
            Some(name) => Err(invalid(format!("unknown tensor '{}'", shown(name)))),
            None => Ok(()),
        }
    }

    fn layer(&self, side: &str, layout: Layout) -> Result<Layer<f64>> {
        let columns = layout.columns();
        let mut par = Array2::zeros(layout.parameters());
        for (field, row, _) in layout.fields() {
            let name = format!("{side}.{}", field.name);
            let numbers = self.optional(&name, columns)?;
            let numbers = numbers.ok_or_else(|| invalid(format!("the tensor '{name}' is missing")))?;
            par.row_mut(row).assign(&numbers);
        }
        let offset = self.optional(&format!("{side}.offset"), columns)?;
        Layer::from_layout(layout, par, offset.unwrap_or_else(|| Array1::zeros(columns)))
            .map_err(|e| invalid(format!("{side} layer: {e}")))
    }

    fn matrix(&self, name: &str) -> Result<Array2<f64>> {
        let tensor = self.tensors.tensor(name).map_err(|_| invalid(format!("the tensor '{name}' is missing")))?;
        let &[rows, columns] = tensor.shape() else {
            return Err(invalid(format!(
                "the tensor '{name}' has shape {:?}, expected two dimensions",
                tensor.shape()
            )));
        };
        let shape = |_| invalid(format!("the tensor '{name}' has an impossible shape {:?}", tensor.shape()));
        // A shape such as [2^60, 0] claims any number of units without a byte for them.
        if rows == 0 || columns == 0 {
            return Err(invalid(format!("the tensor '{name}' has shape [{rows}, {columns}], which holds no numbers")));
        }
        Array2::from_shape_vec((rows, columns), numbers(name, &tensor)?).map_err(shape)
    }

    fn optional(&self, name: &str, len: usize) -> Result<Option<Array1<f64>>> {
        let Ok(tensor) = self.tensors.tensor(name) else { return Ok(None) };
        if tensor.shape() != [len] {
            return Err(invalid(format!("the tensor '{name}' has shape {:?}, expected [{len}]", tensor.shape())));
        }
        Ok(Some(numbers(name, &tensor)?.into()))
    }
}
