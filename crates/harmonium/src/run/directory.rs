//! The run directory: one process at a time, nothing of an earlier run destroyed, nothing left behind by a refusal.

use crate::advice::Advice;
use crate::atomic;
use crate::disk;
use crate::error::{Error, Result};
use crate::file::ModelFile;
use crate::open;
use crate::train::{MOST_CHECKPOINT, model_of_checkpoint};
use std::fs::{self, DirEntry, File, TryLockError};
use std::path::{Path, PathBuf};

/// The settings of the run, complete.
pub const CONFIG: &str = "config.toml";
/// What happened, one event per line.
pub const EVENTS: &str = "events.jsonl";
/// The state that a resumed run goes on from.
pub const CHECKPOINT: &str = "checkpoint.safetensors";
/// The trained model; a directory that has it holds a finished run.
pub const MODEL: &str = "model.safetensors";
/// The page about the run.
pub const REPORT: &str = "report.html";
/// What the run ended with, as JSON.
pub const SUMMARY: &str = "summary.json";

/// Largest summary that is read: it has some kilobytes.
const MOST_SUMMARY: u64 = 1 << 24;

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// No run.
    Nothing,
    /// A run without its model.
    Unfinished,
    /// A run with its model.
    Finished,
}

/// A run directory; while it is open for writing, no other process may write to it.
pub struct RunDir {
    path: PathBuf,
    /// Held, not read: the lock ends with the file handle, also when the process is killed.
    _lock: Option<File>,
    /// Whether the directory was made for this run.
    new: bool,
    /// Whether it holds something to keep.
    kept: bool,
}

fn refused(path: &Path, problem: impl Into<String>) -> Error {
    Error::Directory { path: path.into(), problem: problem.into() }
}

fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { path, action, source }
}

impl RunDir {
    /// Opens a directory for a run and locks it; makes it if it does not exist.
    pub(crate) fn open(path: &Path) -> Result<(RunDir, Content)> {
        let new = !path.exists();
        if !new && !path.is_dir() {
            return Err(refused(path, "is not a directory"));
        }
        fs::create_dir_all(path).map_err(io(path, "create"))?;
        let mut dir = RunDir { path: path.into(), _lock: None, new, kept: false };
        dir._lock = lock(path)?;
        let content = dir.content()?;
        dir.remove_leftovers();
        dir.try_writing().map_err(io(path, "write into"))?;
        Ok((dir, content))
    }

    /// Opens the directory of a run to read it; another process may train in it meanwhile.
    pub(crate) fn read(path: &Path) -> Result<RunDir> {
        if !path.join(CONFIG).exists() {
            return Err(refused(path, format!("is not a run directory: it has no {CONFIG}")));
        }
        Ok(RunDir { path: path.into(), _lock: None, new: false, kept: true })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether a finished run was judged to the end: it may have been killed while its likelihood was estimated.
    pub fn is_judged(&self) -> bool {
        let summary = self.summary();
        summary.is_object() && summary["pending"] != true
    }

    /// How long training took, as the run recorded at its end.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.summary()["seconds"].as_f64()
    }

    fn summary(&self) -> serde_json::Value {
        let bytes = open::bytes(&self.file(SUMMARY), MOST_SUMMARY).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Lets other processes write to the directory.
    pub(crate) fn unlock(&mut self) {
        self._lock = None;
    }

    /// Marks that the directory holds something to keep.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }

    /// Removes what a run without any result has written, and the directory if it was made for it.
    pub(crate) fn undo(&mut self) -> Result<()> {
        self.kept = false;
        self.clear()
    }

    /// Writes a file of the run, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.file(name);
        // Writing into a pipe would wait for a reader.
        if path.exists() {
            open::regular(&path)?;
        }
        atomic::write(&path, |w| w.write_all(bytes))
    }

    /// Removes the files of an earlier run, the model first.
    pub(crate) fn clear(&self) -> Result<()> {
        for name in [MODEL, SUMMARY, REPORT, CHECKPOINT, EVENTS, CONFIG] {
            let path = self.file(name);
            if path.exists() {
                fs::remove_file(&path).map_err(io(&path, "remove"))?;
            }
        }
        Ok(())
    }

    /// Makes a finished run unfinished, so that it can go on: its model stays under the number of its updates.
    pub(crate) fn reopen(&self, updates: u64) -> Result<()> {
        let (model, kept) = (self.file(MODEL), self.file(&format!("model-{updates}.safetensors")));
        disk::rename(&model, &kept).map_err(io(&model, "rename"))
    }

    /// The bytes of the last checkpoint, if there is one.
    pub(crate) fn checkpoint(&self) -> Result<Option<Vec<u8>>> {
        let path = self.file(CHECKPOINT);
        if path.exists() { open::bytes(&path, MOST_CHECKPOINT).map(Some) } else { Ok(None) }
    }

    /// The model at the last checkpoint, and the updates it has seen.
    pub(crate) fn checkpoint_model(&self) -> Result<(ModelFile, u64)> {
        match self.checkpoint()? {
            Some(bytes) => model_of_checkpoint(&bytes).map_err(|e| e.in_file(&self.file(CHECKPOINT))),
            None => Err(refused(&self.path, "has no model yet").advise(&[Advice::Resume])),
        }
    }

    fn content(&self) -> Result<Content> {
        let has = |name: &str| self.file(name).exists();
        if has(MODEL) {
            return Ok(Content::Finished);
        }
        if has(CONFIG) {
            return Ok(Content::Unfinished);
        }
        let mut entries = fs::read_dir(&self.path).map_err(io(&self.path, "read"))?.flatten();
        if entries.all(|e| is_leftover(&e)) {
            return Ok(Content::Nothing);
        }
        Err(refused(&self.path, "is not empty and holds no run").advise(&[Advice::OtherDirectory]))
    }

    /// Finds out before the work, not after it, that a directory cannot be written.
    fn try_writing(&self) -> std::io::Result<()> {
        let path = self.file(&format!(".try.{}.tmp", std::process::id()));
        File::create(&path)?;
        fs::remove_file(path)
    }

    /// Removes half-written files of a process that was killed; a living one would hold the lock.
    fn remove_leftovers(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten().filter(is_leftover) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// `.NAME.PID.tmp`, which the atomic writer renames when it is complete.
fn is_leftover(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy().into_owned();
    let pid = name.strip_prefix('.').and_then(|n| n.strip_suffix(".tmp")).and_then(|n| n.rsplit_once('.'));
    pid.is_some_and(|(_, pid)| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()))
}

/// Locks the directory itself, so that no lock file stays behind. Where directories cannot be locked there is no lock.
fn lock(path: &Path) -> Result<Option<File>> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(refused(path, "another process is training in this directory")),
        Err(TryLockError::Error(_)) => Ok(None),
        Ok(()) => Ok(Some(file)),
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if self.new && !self.kept {
            let _ = fs::remove_dir(&self.path);
        }
    }
}
