//! Tensors and metadata in one safetensors file: sorted keys, a digest over everything, and every claim is checked.

use super::digest;
use crate::error::{Error, Result, shown};
use crate::real::Real;
use safetensors::tensor::{TensorInfo, TensorView};
use safetensors::{Dtype, SafeTensorError, SafeTensors};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Largest file that is read: about 100,000 × 40,000 single-precision weights.
pub const MOST_BYTES: u64 = 16 << 30;

/// Builds a file. Tensors are written in the order they are added, which must be the order of their names.
pub(crate) struct TensorWriter {
    metadata: BTreeMap<String, String>,
    header: Map<String, Value>,
    places: BTreeMap<String, String>,
    data: Vec<u8>,
}

impl TensorWriter {
    pub fn new(metadata: BTreeMap<String, String>) -> TensorWriter {
        TensorWriter { metadata, header: Map::new(), places: BTreeMap::new(), data: Vec::new() }
    }

    /// Adds a tensor of numbers.
    pub fn numbers<T: Real>(&mut self, name: &str, shape: &[usize], numbers: impl Iterator<Item = T>) {
        self.add(name, T::DTYPE, shape, |data| numbers.for_each(|x| x.push_le(data)));
    }

    /// Adds a tensor whose bytes `fill` appends.
    pub fn add(&mut self, name: &str, dtype: Dtype, shape: &[usize], fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.data.len();
        fill(&mut self.data);
        let tensor = json!({"dtype": dtype, "shape": shape, "data_offsets": [start, self.data.len()]});
        self.header.insert(name.into(), tensor);
        self.places.insert(name.into(), digest::place(dtype, shape, start, self.data.len()));
    }

    /// The bytes of the file.
    pub fn finish(mut self) -> Vec<u8> {
        self.metadata.insert(digest::KEY.into(), digest::digest(&self.metadata, &self.places, &self.data));
        self.header.insert("__metadata__".into(), json!(self.metadata));
        let mut text = Value::Object(self.header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text);
        bytes.extend(self.data);
        bytes
    }
}

/// The content of a regular file within the limit.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let failed = |action| move |source| Error::Io { path: path.into(), action, source };
    let refuse = |problem| Error::Model { path: path.into(), problem };
    // Checked before opening: opening a pipe would block.
    let meta = fs::metadata(path).map_err(failed("open"))?;
    if !meta.is_file() {
        let problem = if meta.is_dir() { "is a directory, not a regular file" } else { "is not a regular file" };
        return Err(refuse(problem.into()));
    }
    if meta.len() > MOST_BYTES {
        return Err(refuse(format!("the file has {} bytes, the limit is {MOST_BYTES}", meta.len())));
    }
    let mut file = File::open(path).map_err(failed("open"))?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(meta.len() as usize).map_err(|_| refuse("the file does not fit in memory".into()))?;
    file.by_ref().take(meta.len()).read_to_end(&mut bytes).map_err(failed("read"))?;
    Ok(bytes)
}

/// Metadata and tensors of a file, after checking its layout and its digest, if it has one.
pub(crate) fn read(bytes: &[u8]) -> Result<(BTreeMap<String, String>, SafeTensors<'_>)> {
    let refuse = |e: SafeTensorError| match e {
        // These bytes are no header, so that this was never such a file.
        SafeTensorError::InvalidHeader(_)
        | SafeTensorError::InvalidHeaderDeserialization(_)
        | SafeTensorError::HeaderTooLarge
        | SafeTensorError::HeaderTooSmall => {
            invalid("is not a harmonium model file (such as model.safetensors, which training writes)".into())
        }
        other => invalid(format!("is damaged, or is not a harmonium model file ({other})")),
    };
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(refuse)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(refuse)?;
    let metadata: BTreeMap<String, String> = header.metadata().clone().unwrap_or_default().into_iter().collect();
    if let Some(written) = metadata.get(digest::KEY) {
        let data_len = tensors.iter().map(|(_, t)| t.data().len()).sum::<usize>();
        let place = |name: String, t: &TensorInfo| {
            let place = digest::place(t.dtype, &t.shape, t.data_offsets.0, t.data_offsets.1);
            (name, place)
        };
        let places = header.tensors().into_iter().map(|(name, t)| place(name, t)).collect();
        check_digest(written, &digest::digest(&metadata, &places, &bytes[bytes.len() - data_len..]))?;
    }
    Ok((metadata, tensors))
}

/// Compares the digest of the content with the one in the file; an unknown hash cannot be checked.
fn check_digest(written: &str, actual: &str) -> Result<()> {
    if written == actual {
        return Ok(());
    }
    let known = actual.split(':').next() == written.split(':').next();
    let problem = if known { "the digest does not match the content: the file is damaged" } else { "unknown digest" };
    Err(invalid(format!("{problem} ('{}')", shown(written))))
}

/// What is wrong with a file; the caller adds its name.
pub(crate) fn invalid(problem: String) -> Error {
    Error::Undefined(problem)
}

/// The numbers of a tensor in f64. NaN and infinities are refused where the numbers are used.
pub(crate) fn numbers(name: &str, tensor: &TensorView) -> Result<Vec<f64>> {
    fn all<T: Real>(bytes: &[u8]) -> Vec<f64> {
        bytes.chunks_exact(size_of::<T>()).map(|b| T::from_le(b).f64()).collect()
    }
    match tensor.dtype() {
        Dtype::F32 => Ok(all::<f32>(tensor.data())),
        Dtype::F64 => Ok(all::<f64>(tensor.data())),
        other => Err(invalid(format!("the tensor '{name}' holds {other:?}, expected F32 or F64"))),
    }
}
