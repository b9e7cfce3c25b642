//! The one way files are written: sibling temporary, sync, rename, sync directory. A reader sees the old file or the
//! new one, never half of either, whenever the program or the computer stops.

use crate::error::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Temporary files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Writes what `fill` writes to `path`. On failure the old file, if any, is unchanged and no temporary file is left.
///
/// A path that is not a regular file (a pipe, a device) cannot be replaced and is written to directly.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |action| move |source| Error::Io { path: path.into(), action, source };
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let mut file = OpenOptions::new().write(true).open(path).map_err(failed("open"))?;
        return fill(&mut file).map_err(failed("write"));
    }
    let temporary = temporary_beside(path).ok_or_else(|| Error::Io {
        path: path.into(),
        action: "write",
        source: io::Error::new(io::ErrorKind::IsADirectory, "not a file name"),
    })?;
    unfinished(|all| all.push(temporary.clone()));
    let done = fill_and_rename(path, &temporary, fill);
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    unfinished(|all| all.retain(|t| *t != temporary));
    done.map_err(failed("write"))
}

/// Removes the temporary files of unfinished writes: for a program that is about to end.
pub fn remove_unfinished() {
    unfinished(|all| {
        all.drain(..).for_each(|temporary| {
            let _ = fs::remove_file(temporary);
        });
    });
}

fn unfinished(change: impl FnOnce(&mut Vec<PathBuf>)) {
    change(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner));
}

fn fill_and_rename(
    path: &Path,
    temporary: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, File::create(temporary)?);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    fs::rename(temporary, path)?;
    sync_directory(path)
}

/// `.name.PID.tmp` in the same directory, so that the rename stays within one file system.
fn temporary_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    Some(path.with_file_name(format!(".{name}.{}.tmp", std::process::id())))
}

/// Makes the rename durable. Some file systems cannot sync a directory; the content of the file is safe even then.
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    match File::open(parent).and_then(|d| d.sync_all()) {
        Err(e) if e.kind() != io::ErrorKind::InvalidInput && e.kind() != io::ErrorKind::Unsupported => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_keeps_the_old_file_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write(&path, |w| {
            w.write_all(b"new")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn directories_and_missing_directories_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        assert!(write(dir.path(), |_| Ok(())).unwrap_err().to_string().contains("directory"));
        let lost = dir.path().join("no/such/file");
        assert!(write(&lost, |_| Ok(())).unwrap_err().to_string().contains("no/such/file"));
    }
}
