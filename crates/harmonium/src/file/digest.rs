//! digest = SHA-256 over every other metadata pair (sorted by key, each string behind its length) and the data section.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The metadata key the digest stands under; it is not part of what is hashed.
pub(super) const KEY: &str = "digest";

/// `sha256:` and the hash in hexadecimal.
pub(super) fn digest(metadata: &BTreeMap<String, String>, data: &[u8]) -> String {
    let mut hash = Sha256::new();
    for text in metadata.iter().filter(|(k, _)| *k != KEY).flat_map(|(k, v)| [k, v]) {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.update(data);
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}")
}
