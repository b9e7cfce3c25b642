//! The digest of a file: SHA-256 over every other metadata pair, every tensor's name and place (both sorted, each string
//! after its length), and the data section, so every byte that has a meaning.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The metadata key of the digest; it is not hashed itself.
pub(crate) const KEY: &str = "digest";

/// The place of a tensor as it is hashed: `F32 [4,3] 0 48` is its type, shape, first byte and end.
pub(crate) fn place(dtype: safetensors::Dtype, shape: &[usize], start: usize, end: usize) -> String {
    let shape = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    format!("{dtype:?} [{shape}] {start} {end}")
}

/// `sha256:` and the hash in hexadecimal; `places` has [`place`] of every tensor by name.
pub(super) fn digest(metadata: &BTreeMap<String, String>, places: &BTreeMap<String, String>, data: &[u8]) -> String {
    let mut hash = Sha256::new();
    let pairs = metadata.iter().filter(|(k, _)| *k != KEY).chain(places);
    for text in pairs.flat_map(|(k, v)| [k, v]) {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.update(data);
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}")
}
