//! The operations on a disk that can fail while a file is written; tests make each of them fail in turn.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A file that is being written.
pub(crate) struct Output(File);

impl Output {
    /// Makes a file, or empties the one there is.
    pub fn create(path: &Path) -> io::Result<Output> {
        fault("create")?;
        File::create(path).map(Output)
    }

    /// Opens a file to write behind what it holds.
    pub fn append(path: &Path) -> io::Result<Output> {
        fault("open")?;
        OpenOptions::new().append(true).open(path).map(Output)
    }

    /// Opens what is not a regular file, such as a pipe.
    pub fn open(path: &Path) -> io::Result<Output> {
        fault("open")?;
        OpenOptions::new().write(true).open(path).map(Output)
    }

    /// Waits until everything written is on the disk.
    pub fn sync(self) -> io::Result<()> {
        fault("sync")?;
        self.0.sync_all()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = fault("write") {
            // A disk that is full has taken a part.
            let _ = self.0.write(&bytes[..bytes.len() / 2]);
            return Err(error);
        }
        self.0.write(&bytes[..faults::part(bytes.len())])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Gives a file another name, in place of the file that has it.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fault("rename")?;
    fs::rename(from, to)
}

/// Makes names in a directory durable. Some file systems cannot sync a directory; the content of files is safe even then.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    fault("sync directory")?;
    match File::open(path).and_then(|d| d.sync_all()) {
        Err(e) if e.kind() != io::ErrorKind::InvalidInput && e.kind() != io::ErrorKind::Unsupported => Err(e),
        _ => Ok(()),
    }
}

use faults::next as fault;

/// Nothing fails on purpose outside the tests of this library.
#[cfg(not(test))]
mod faults {
    pub fn next(_: &str) -> std::io::Result<()> {
        Ok(())
    }

    pub fn part(length: usize) -> usize {
        length
    }
}

/// Operations of this thread that fail on purpose.
#[cfg(test)]
pub(crate) mod faults {
    use std::cell::{Cell, RefCell};
    use std::io;

    /// How an operation fails.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Fault {
        /// No space left on the device.
        Full,
        /// Input/output error.
        Broken,
        /// Only a part is written, without an error; other operations succeed.
        Short,
    }

    pub const ALL: [Fault; 3] = [Fault::Full, Fault::Broken, Fault::Short];

    thread_local! {
        /// Operations before the one that fails, and how it fails.
        static PLAN: Cell<Option<(usize, Fault)>> = const { Cell::new(None) };
        static SHORT: Cell<bool> = const { Cell::new(false) };
        static FAILED: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    /// Runs `work` with operation `n`, counted from 0, failing once; also returns which operation that was, if there were so many.
    pub fn with<T>(n: usize, fault: Fault, work: impl FnOnce() -> T) -> (T, Option<String>) {
        PLAN.set(Some((n, fault)));
        let done = work();
        PLAN.set(None);
        (done, FAILED.take())
    }

    pub(super) fn next(operation: &str) -> io::Result<()> {
        match PLAN.get() {
            None => Ok(()),
            Some((0, fault)) => {
                PLAN.set(None);
                FAILED.set(Some(format!("{operation}: {fault:?}")));
                fail(fault)
            }
            Some((n, fault)) => {
                PLAN.set(Some((n - 1, fault)));
                Ok(())
            }
        }
    }

    fn fail(fault: Fault) -> io::Result<()> {
        match fault {
            Fault::Full => Err(io::Error::from_raw_os_error(28)),
            Fault::Broken => Err(io::Error::from_raw_os_error(5)),
            Fault::Short => {
                SHORT.set(true);
                Ok(())
            }
        }
    }

    pub(super) fn part(length: usize) -> usize {
        if SHORT.replace(false) { length.div_ceil(2) } else { length }
    }
}
