//! A file that is read up to a limit, so that entries that point at one another are not followed without end.

use hdf5_pure::{FormatError, ReadSeekSource, Source};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that may be read at any length of the file…
const ALWAYS_READ: u64 = 1 << 24;
/// …and this many times its length: names are looked up one by one.
const MOST_PASSES: u64 = 1000;
/// The same for an index of chunks and for a block of rows, which are read once or twice; what it lists stays in memory.
const MOST_PASSES_OF_CHUNKS: u64 = 100;

/// How many bytes of a file may still be read.
#[derive(Clone)]
pub(super) struct Meter {
    left: Arc<AtomicU64>,
    length: u64,
}

impl Meter {
    /// For opening a file of `length` bytes.
    pub fn new(length: u64) -> Meter {
        let left = AtomicU64::new(ALWAYS_READ.max(length.saturating_mul(MOST_PASSES)));
        Meter { left: Arc::new(left), length }
    }

    /// Allows what the chunks of a table or of a block of rows take.
    pub fn allow_chunks(&self) {
        let most = ALWAYS_READ.max(self.length.saturating_mul(MOST_PASSES_OF_CHUNKS));
        self.left.store(most, Relaxed);
    }

    /// Counts bytes before they are read.
    fn spend(&self, bytes: u64) -> Result<(), FormatError> {
        let spent = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        let problem = || "its entries are too many, or point at one another".into();
        spent.map(|_| ()).map_err(|_| FormatError::Source(problem()))
    }
}

/// A file and its meter.
pub(super) struct Metered {
    file: ReadSeekSource<File>,
    meter: Meter,
}

impl Metered {
    pub fn new(file: File, meter: Meter) -> Result<Metered, FormatError> {
        Ok(Metered { file: ReadSeekSource::new(file)?, meter })
    }
}

impl Source for Metered {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), FormatError> {
        self.meter.spend(bytes.len() as u64)?;
        self.file.read_at(offset, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_too_often_is_refused() {
        let meter = Meter::new(ALWAYS_READ);
        assert!(meter.spend(ALWAYS_READ * MOST_PASSES).is_ok() && meter.spend(1).is_err());
        meter.allow_chunks();
        assert!(meter.spend(ALWAYS_READ * MOST_PASSES_OF_CHUNKS).is_ok() && meter.spend(1).is_err());
        let small = Meter::new(100);
        assert!(small.spend(ALWAYS_READ).is_ok() && small.spend(1).is_err());
    }
}
