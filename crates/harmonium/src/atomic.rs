//! The one way files are written: sibling temporary, sync, rename, sync directory. A reader sees the old file or the
//! new one, never half of either, whenever the program or the computer stops.

use crate::disk::{self, Output};
use crate::error::{Error, Result};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Temporary files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Writes what `fill` writes to `path`. On failure the old file, if any, is unchanged and no temporary file is left, unless the
/// error is about the directory of the new file: then the new file is there, but may be gone after a power cut.
///
/// A path that is not a regular file (a pipe, a device) cannot be replaced and is written to directly.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |action| move |source| Error::Io { path: path.into(), action, source };
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let mut file = Output::open(path).map_err(failed("open"))?;
        return fill(&mut file).map_err(failed("write"));
    }
    let temporary = temporary_beside(path).ok_or_else(|| Error::Io {
        path: path.into(),
        action: "write",
        source: io::Error::new(io::ErrorKind::IsADirectory, "not a file name"),
    })?;
    unfinished(|all| all.push(temporary.clone()));
    let action = if path.is_file() { "replace the old file" } else { "write" };
    let done = fill_and_rename(path, &temporary, fill);
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    unfinished(|all| all.retain(|t| *t != temporary));
    done.map_err(failed(action))?;
    disk::sync_directory(directory(path)).map_err(failed("sync the directory of the new file"))
}

/// Removes the temporary files of unfinished writes: for a program that is about to end. Writes in other threads stop where they
/// are, so that none of them fails for want of its temporary file and reports that before the program has ended.
pub fn remove_unfinished() {
    let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    all.drain(..).for_each(|temporary| {
        let _ = fs::remove_file(temporary);
    });
    // The lock stays taken until the end.
    std::mem::forget(all);
}

fn unfinished(change: impl FnOnce(&mut Vec<PathBuf>)) {
    change(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner));
}

fn fill_and_rename(
    path: &Path,
    temporary: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, Output::create(temporary)?);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync()?;
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    disk::rename(temporary, path)
}

/// `.name.PID.tmp` in the same directory, so that the rename stays within one file system.
fn temporary_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    Some(path.with_file_name(format!(".{name}.{}.tmp", std::process::id())))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::faults;

    /// Larger than the buffer, so that it is written in several pieces.
    fn content(byte: u8) -> Vec<u8> {
        vec![byte; 300_000]
    }

    #[test]
    fn whatever_fails_the_old_file_stands_or_the_new_one_does_and_the_message_says_which() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        for (fault, old) in faults::ALL.into_iter().flat_map(|fault| [(fault, true), (fault, false)]) {
            let mut points = 0;
            loop {
                let _ = fs::remove_file(&path);
                if old {
                    fs::write(&path, content(1)).unwrap();
                }
                let new = |w: &mut dyn Write| content(2).chunks(1000).try_for_each(|part| w.write_all(part));
                let (done, failed) = faults::with(points, fault, || write(&path, new));
                let Some(failed) = failed else { break };
                let found = fs::read(&path).ok();
                let stands = |byte| found.as_ref() == Some(&content(byte));
                match done.map_err(|e| e.to_string()) {
                    Ok(()) => assert!(stands(2) && fault == faults::Fault::Short, "{failed}"),
                    Err(e) if e.contains("cannot replace the old file ") => assert!(old && stands(1), "{failed}: {e}"),
                    Err(e) if e.contains("cannot write ") => assert!(!old && found.is_none(), "{failed}: {e}"),
                    Err(e) => assert!(stands(2) && e.contains("the directory of the new file "), "{failed}: {e}"),
                }
                assert_eq!(fs::read_dir(dir.path()).unwrap().count(), usize::from(found.is_some()), "{failed}");
                points += 1;
            }
            // Create, five writes, sync, rename, sync of the directory.
            assert!(points >= 9, "{points}");
        }
    }

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
