//! What the competitors of `bench/` share: the options that are typed, and the conversation with the driver.
//!
//! A competitor says `ready`. Then the driver says `go` (work once, and say the seconds it took), `save FILE` (write what came
//! out, and begin anew with the next seed) or `quit`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, StdinLock};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What the driver asks for.
pub enum Ask {
    Go,
    Save(PathBuf),
    Quit,
}

/// Who says what is to be done.
pub struct Driver {
    lines: std::io::Lines<StdinLock<'static>>,
}

impl Driver {
    /// Says that everything is prepared.
    pub fn ready() -> Driver {
        println!("ready");
        Driver { lines: std::io::stdin().lock().lines() }
    }

    /// Waits for the next line; the end of the input is an end.
    pub fn ask(&mut self) -> Result<Ask> {
        let Some(line) = self.lines.next().transpose()? else { return Ok(Ask::Quit) };
        match line.split_once(' ') {
            Some(("save", path)) => Ok(Ask::Save(path.into())),
            _ if line == "go" => Ok(Ask::Go),
            _ if ["", "quit"].contains(&line.as_str()) => Ok(Ask::Quit),
            _ => Err(format!("'{line}' is not go, save FILE or quit").into()),
        }
    }
}

/// Tells the driver how long it took.
pub fn say_seconds(since: Instant) {
    println!("{:.6}", since.elapsed().as_secs_f64());
}

/// What was typed.
pub struct Options {
    values: BTreeMap<&'static str, String>,
}

impl Options {
    /// Reads the command line and starts as many threads as it says. `known` has the options and their defaults; one whose
    /// default is `false` is a flag, all others have a value.
    pub fn parse(known: &[(&'static str, &str)]) -> Result<Options> {
        let mut options = Options { values: known.iter().map(|(name, value)| (*name, value.to_string())).collect() };
        let mut typed = std::env::args().skip(1);
        while let Some(word) = typed.next() {
            let Some(value) = word.strip_prefix("--").and_then(|name| options.values.get_mut(name)) else {
                let names: Vec<String> = known.iter().map(|(name, _)| format!("--{name}")).collect();
                return Err(format!("'{word}' is not one of {}", names.join(", ")).into());
            };
            *value = match value.as_str() {
                "false" => "true".into(),
                _ => typed.next().ok_or_else(|| format!("{word} needs a value"))?,
            };
        }
        // As the command does: this thread is one of the workers.
        rayon::ThreadPoolBuilder::new().num_threads(options.get("threads")?).use_current_thread().build_global()?;
        Ok(options)
    }

    pub fn text(&self, name: &str) -> String {
        self.values[name].clone()
    }

    pub fn get<T: FromStr<Err: Error + 'static>>(&self, name: &str) -> Result<T> {
        let text = &self.values[name];
        text.parse().map_err(|e: T::Err| format!("--{name} {text}: {e}").into())
    }
}
