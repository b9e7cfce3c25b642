//! Tensors and metadata in one safetensors file: sorted keys, a digest over everything, and every claim is checked.

use super::digest;
use crate::error::{Error, Result, shown};
use crate::real::Real;
use safetensors::tensor::{TensorInfo, TensorView};
use safetensors::{Dtype, SafeTensorError, SafeTensors};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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

/// Largest header that is read or written: notes included, thousands of times what a model needs. Read into maps it
/// takes a dozen times as much memory.
pub const MOST_HEADER: u64 = 1 << 20;

/// The header of a file, if it is all there, within the limit, and says everything once.
pub(super) fn check_header(bytes: &[u8]) -> Result<()> {
    let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(()) };
    let length = u64::from_le_bytes(*length);
    if length > MOST_HEADER && length <= rest.len() as u64 {
        let problem = format!("has a header of {length} bytes (notes included); the limit is {MOST_HEADER}");
        return Err(invalid(problem));
    }
    let header = rest.get(..length as usize).and_then(|header| serde_json::from_slice::<Once>(header).ok());
    match header.and_then(|header| header.0) {
        Some(key) => Err(invalid(format!("has '{}' twice in its header", shown(&key)))),
        // What is no header at all is refused by the parser.
        None => Ok(()),
    }
}

/// A JSON value of which only a key that stands twice in an object is kept.
struct Once(Option<String>);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Once, D::Error> {
        from.deserialize_any(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Once;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Once, A::Error> {
        let (mut seen, mut twice) = (BTreeSet::new(), None);
        while let Some(key) = map.next_key::<String>()? {
            let below = map.next_value::<Once>()?.0;
            twice = twice.or(below).or_else(|| seen.contains(&key).then(|| key.clone()));
            seen.insert(key);
        }
        Ok(Once(twice))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Once, A::Error> {
        let mut twice = None;
        while let Some(below) = seq.next_element::<Once>()? {
            twice = twice.or(below.0);
        }
        Ok(Once(twice))
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Once, E> {
        Ok(Once(None))
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Once, E> {
        Ok(Once(None))
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Once, E> {
        Ok(Once(None))
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Once, E> {
        Ok(Once(None))
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Once, E> {
        Ok(Once(None))
    }

    fn visit_unit<E>(self) -> std::result::Result<Once, E> {
        Ok(Once(None))
    }
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
    check_header(bytes)?;
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
