//! The one way to open a file for reading: a regular file within a limit, and no more of it than it had when it was
//! opened.

use crate::error::{Error, Result};
use crate::memory;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::Path;

/// Opens a regular file and returns its length. A directory cannot be read, opening a named pipe would block, and a
/// device may never end.
pub fn regular(path: &Path) -> Result<(File, u64)> {
    let failed = |source| Error::Io { path: path.into(), action: "open", source };
    check(path, &fs::metadata(path).map_err(failed)?)?;
    let file = File::open(path).map_err(failed)?;
    // The name may have come to mean another file in the meantime.
    let meta = file.metadata().map_err(failed)?;
    check(path, &meta)?;
    Ok((file, meta.len()))
}

fn check(path: &Path, meta: &Metadata) -> Result<()> {
    if meta.is_file() {
        return Ok(());
    }
    let problem = if meta.is_dir() { "is a directory, not a regular file" } else { "is not a regular file" };
    Err(Error::File { path: path.into(), problem: problem.into() })
}

/// The content of a regular file of at most `most` bytes, if it fits in memory.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    let (file, length) = within(path, most)?;
    let refuse = |problem| Error::File { path: path.into(), problem };
    if length > memory::available() {
        return Err(refuse(format!("does not fit in memory: it has {}", memory::size(length as f64))));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length as usize).map_err(|_| refuse("does not fit in memory".into()))?;
    let read = file.take(length).read_to_end(&mut bytes);
    read.map_err(|source| Error::Io { path: path.into(), action: "read", source })?;
    Ok(bytes)
}

/// Opens a regular file of at most `most` bytes and returns its length.
pub(crate) fn within(path: &Path, most: u64) -> Result<(File, u64)> {
    let (file, length) = regular(path)?;
    if length > most {
        let problem = format!("has {length} bytes; the limit is {most}");
        return Err(Error::File { path: path.into(), problem });
    }
    Ok((file, length))
}

/// The same as text; bytes that are no text are replaced.
pub(crate) fn text(path: &Path, most: u64) -> Result<String> {
    let bytes = bytes(path, most)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (path, pipe) = (dir.path().join("file"), dir.path().join("pipe"));
        fs::write(&path, b"four").unwrap();
        assert_eq!(bytes(&path, 4).unwrap(), b"four");
        let refused = |path: &Path| bytes(path, 3).unwrap_err().to_string();
        assert!(refused(&path).ends_with("file has 4 bytes; the limit is 3"));
        assert!(refused(dir.path()).ends_with("is a directory, not a regular file"));
        assert!(refused(&dir.path().join("none")).ends_with("none: no such file"));
        #[cfg(unix)]
        {
            assert_eq!(refused(Path::new("/dev/zero")), "/dev/zero is not a regular file");
            if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
                assert!(refused(&pipe).ends_with("pipe is not a regular file"));
            }
        }
    }

    /// A file with holes claims any size and takes no space.
    #[test]
    fn a_file_that_does_not_fit_in_memory_is_refused_before_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("holes");
        // Some file systems have no files with holes, or none so large.
        if File::create(&path).unwrap().set_len(1 << 43).is_ok() {
            let refused = bytes(&path, u64::MAX).unwrap_err().to_string();
            assert!(refused.contains("holes does not fit in memory: it has 8.8 TB"), "{refused}");
        }
    }
}
