//! The run directory: one process at a time, nothing of an earlier run destroyed, nothing left behind by a refusal.

use anyhow::{Context, Result, bail};
use harmonium::file::atomic;
use std::fs::{self, DirEntry, File, TryLockError};
use std::path::{Path, PathBuf};

/// The files of a run; a directory with a model holds a finished run.
pub const CONFIG: &str = "config.toml";
pub const EVENTS: &str = "events.jsonl";
pub const CHECKPOINT: &str = "checkpoint.safetensors";
pub const MODEL: &str = "model.safetensors";
pub const REPORT: &str = "report.html";
/// What `train --json` said at the end.
pub const SUMMARY: &str = "summary.json";

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Nothing,
    Unfinished,
    Finished,
}

/// A run directory that is ours as long as this lives.
pub struct RunDir {
    path: PathBuf,
    /// Held, not read: the lock ends with the file handle, also when the process is killed.
    _lock: Option<File>,
    /// Whether the directory was made for this run.
    new: bool,
    /// Whether something worth keeping is in it.
    kept: bool,
}

impl RunDir {
    /// Makes the directory if it is not there, and takes it.
    pub fn open(path: &Path) -> Result<(RunDir, Content)> {
        let shown = path.display();
        let new = !path.exists();
        if !new && !path.is_dir() {
            bail!("{shown}: is not a directory");
        }
        fs::create_dir_all(path).with_context(|| format!("{shown}: making the directory"))?;
        let mut dir = RunDir { path: path.into(), _lock: None, new, kept: false };
        dir._lock = lock(path)?;
        let content = dir.content()?;
        dir.remove_leftovers();
        dir.probe().with_context(|| format!("{shown}: writing into the directory"))?;
        Ok((dir, content))
    }

    /// A directory that holds a run, to look at and to draw: nobody is kept from training in it.
    pub fn look(path: &Path) -> Result<RunDir> {
        if !path.join(CONFIG).is_file() {
            bail!("{}: is not the directory of a run, which has a {CONFIG}", path.display());
        }
        Ok(RunDir { path: path.into(), _lock: None, new: false, kept: true })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// From now on the directory holds something worth keeping.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// Nothing came of the run: takes away what it has written, and with it the directory if it was made for it.
    pub fn undo(&mut self) -> Result<()> {
        self.kept = false;
        self.clear()
    }

    /// Writes a file of the run, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        Ok(atomic::write(&self.file(name), |w| w.write_all(bytes))?)
    }

    /// Takes away the files of an earlier run, the sign that it was finished first.
    pub fn clear(&self) -> Result<()> {
        for name in [MODEL, SUMMARY, REPORT, CHECKPOINT, EVENTS, CONFIG] {
            let path = self.file(name);
            if path.exists() {
                fs::remove_file(&path).with_context(|| path.display().to_string())?;
            }
        }
        Ok(())
    }

    fn content(&self) -> Result<Content> {
        let has = |name: &str| self.file(name).exists();
        if has(MODEL) {
            return Ok(Content::Finished);
        }
        if has(CONFIG) {
            return Ok(Content::Unfinished);
        }
        let shown = self.path.display();
        let mut entries = fs::read_dir(&self.path).with_context(|| shown.to_string())?.flatten();
        match entries.all(|e| is_leftover(&e)) {
            true => Ok(Content::Nothing),
            false => bail!("{shown}: is not empty and holds no run; choose a new directory"),
        }
    }

    /// A directory that cannot be written is better found before the work than after it.
    fn probe(&self) -> std::io::Result<()> {
        let path = self.file(&format!(".probe.{}.tmp", std::process::id()));
        File::create(&path)?;
        fs::remove_file(path)
    }

    /// Takes away half-written files of a process that was killed: it is gone, or it would hold the lock.
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

/// The directory itself is locked, so that no lock file stays behind. Where directories cannot be locked there is no lock.
fn lock(path: &Path) -> Result<Option<File>> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => bail!("{}: another process is training in this directory", path.display()),
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
