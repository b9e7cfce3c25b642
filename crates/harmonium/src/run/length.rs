//! How long to train: passes through the data or seconds, in place of a number of updates.

use crate::error::{Error, Result, number};
use crate::events::MOST_COUNT;
use crate::settings;

/// How long to train, where that is not a number of updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Passes through the data, which become updates once the rows are counted.
    Epochs(f64),
    /// Seconds, which become updates once some have been timed.
    Seconds(f64),
}

impl Length {
    /// The settings that are lengths; they are no keys of config.toml.
    pub const KEYS: [&'static str; 2] = ["epochs", "time"];

    /// The length that a setting asks for; none if the setting is no length.
    pub fn of(key: &str, value: f64) -> Option<Length> {
        match key {
            "epochs" => Some(Length::Epochs(value)),
            "time" => Some(Length::Seconds(value)),
            _ => None,
        }
    }

    pub(super) fn check(self) -> Result<()> {
        let (key, value) = match self {
            Length::Epochs(epochs) => ("epochs", epochs),
            Length::Seconds(seconds) => ("time", seconds),
        };
        settings::find(key).map_or(Ok(()), |setting| setting.check(value))?;
        if value > MOST_COUNT as f64 {
            let problem = format!("is {}, but must be at most {MOST_COUNT}", number(value));
            return Err(Error::Config { key, problem });
        }
        Ok(())
    }
}
