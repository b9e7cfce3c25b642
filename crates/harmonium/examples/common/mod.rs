//! Shared by the programs that `bench/` times: command-line options, and the protocol with the driver.
//!
//! A program prints `ready`. Then the driver sends `go` (do the work once and print the seconds it took), `save FILE` (write the
//! result and start again with the next seed) or `quit`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, StdinLock};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A command of the driver.
pub enum Command {
    Go,
    Save(PathBuf),
    Quit,
}

/// The driver, on standard input.
pub struct Driver {
    lines: std::io::Lines<StdinLock<'static>>,
}

impl Driver {
    /// Prints that everything is prepared.
    pub fn ready() -> Driver {
        println!("ready");
        Driver { lines: std::io::stdin().lock().lines() }
    }

    /// Waits for the next command; the end of the input is `quit`.
    pub fn next_command(&mut self) -> Result<Command> {
        let Some(line) = self.lines.next().transpose()? else { return Ok(Command::Quit) };
        match line.split_once(' ') {
            Some(("save", path)) => Ok(Command::Save(path.into())),
            _ if line == "go" => Ok(Command::Go),
            _ if ["", "quit"].contains(&line.as_str()) => Ok(Command::Quit),
            _ => Err(format!("'{line}' is not go, save FILE or quit").into()),
        }
    }
}

/// Prints the seconds since `since`.
pub fn print_seconds(since: Instant) {
    println!("{:.6}", since.elapsed().as_secs_f64());
}

/// The command-line options.
pub struct Options {
    values: BTreeMap<&'static str, String>,
}

impl Options {
    /// Reads the command line and starts the threads. `known` has the options and their defaults; an option with the default
    /// `false` is a flag, all others have a value.
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
