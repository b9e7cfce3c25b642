//! events.jsonl: one event per line, written as it happens; a resumed run continues it from the checkpoint.

use crate::atomic;
use crate::disk::Output;
use crate::error::{Error, Result};
use crate::events::Event;
use crate::open;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Largest log that is read: about a million measurements.
const MOST_BYTES: u64 = 1 << 30;
/// Longest line of it: hundreds of times what an event needs.
const MOST_LINE: u64 = 1 << 20;

fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { path, action, source }
}

/// The log of a run. A line that cannot be written ends the run.
pub struct Log {
    path: PathBuf,
    file: Output,
    failure: Option<std::io::Error>,
    /// The last checkpoint written: an interrupted run may save the same one again.
    checkpoint: Option<u64>,
}

impl Log {
    /// Continues a log, keeping what happened up to the checkpoint `update`; `None` starts a new one.
    pub fn open(path: PathBuf, update: Option<u64>) -> Result<Log> {
        if path.exists() {
            open::regular(&path)?;
        }
        let kept = match update {
            Some(update) if path.exists() => lines_until(&path, update)?,
            _ => String::new(),
        };
        atomic::write(&path, |w| w.write_all(kept.as_bytes()))?;
        let checkpoint = kept.lines().filter_map(|l| checkpoint_of(&event(l)?)).next_back();
        let file = Output::append(&path).map_err(io(&path, "open"))?;
        let mut log = Log { path, file, failure: None, checkpoint };
        // The run may have been killed between writing its checkpoint and this line.
        if let Some(update) = update.filter(|u| *u > 0) {
            log.write(&Event::Checkpoint { update });
        }
        Ok(log)
    }

    /// Writes a line in one piece; false if it could not be written.
    pub fn write(&mut self, event: &Event) -> bool {
        if let Some(update) = checkpoint_of(event) {
            if self.checkpoint == Some(update) {
                return self.failure.is_none();
            }
            self.checkpoint = Some(update);
        }
        let written = serde_json::to_string(event).map_err(std::io::Error::from);
        let written = written.and_then(|line| self.file.write_all(format!("{line}\n").as_bytes()));
        if let Err(e) = written {
            self.failure.get_or_insert(e);
        }
        self.failure.is_none()
    }

    /// The failure, if there was one.
    pub fn finish(self) -> Result<()> {
        self.failure.map_or(Ok(()), |e| Err(io(&self.path, "write")(e)))
    }
}

/// Every event of a log; a line that is damaged, as the last one of a killed run may be, is skipped.
pub fn read(path: &Path) -> Result<Vec<Event>> {
    lines(path)?.filter_map(|line| line.map(|line| event(&line)).transpose()).collect()
}

/// The lines of events up to `update`, without the end of the run.
fn lines_until(path: &Path, update: u64) -> Result<String> {
    let keep = |event: Event| update_of(&event) <= update && !matches!(event, Event::Finished { .. });
    let mut kept = String::new();
    for line in lines(path)? {
        let line = line?;
        if event(&line).is_some_and(keep) {
            kept += &line;
            kept.push('\n');
        }
    }
    Ok(kept)
}

/// The event of a line, if it is one that a run can have.
fn event(line: &str) -> Option<Event> {
    serde_json::from_str(line).ok().filter(Event::is_possible)
}

/// The lines of a log, one at a time; lines that are too long or no text are empty.
fn lines(path: &Path) -> Result<impl Iterator<Item = Result<String>>> {
    let (file, length) = open::within(path, MOST_BYTES)?;
    let (mut reader, path) = (BufReader::new(file.take(length)), path.to_path_buf());
    Ok(std::iter::from_fn(move || {
        let mut line = Vec::new();
        let read = reader.by_ref().take(MOST_LINE).read_until(b'\n', &mut line);
        match read {
            Ok(0) => None,
            Ok(_) => Some(Ok(String::from_utf8(line).map_or(String::new(), |line| line.trim_end().into()))),
            Err(e) => Some(Err(io(&path, "read")(e))),
        }
    }))
}

fn checkpoint_of(event: &Event) -> Option<u64> {
    match event {
        Event::Checkpoint { update } => Some(*update),
        _ => None,
    }
}

/// The update an event belongs to.
fn update_of(event: &Event) -> u64 {
    match event {
        Event::Started { update, .. } | Event::Checkpoint { update } => *update,
        Event::Recovered { update, .. } | Event::Finished { update, .. } => *update,
        Event::Progress(p) => p.update,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_checkpoint_and_half_lines_are_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let line = |update: u64| format!("{{\"event\":\"checkpoint\",\"update\":{update}}}\n");
        std::fs::write(&path, [line(50), line(100), line(150), "{\"event\":\"checkp".into()].concat()).unwrap();
        let mut log = Log::open(path.clone(), Some(100)).unwrap();
        assert!(log.write(&Event::Checkpoint { update: 100 }));
        assert!(log.write(&Event::Checkpoint { update: 120 }));
        log.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), [line(50), line(100), line(120)].concat());
        Log::open(path.clone(), Some(110)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), [line(50), line(100), line(110)].concat());
        Log::open(path.clone(), None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }
}
