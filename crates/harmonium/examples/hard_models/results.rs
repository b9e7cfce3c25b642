//! One line of results per case, appended to a file as soon as it is known.

use super::common::Result;
use harmonium::logz::LogZ;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What decides a line of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub family: String,
    pub number: usize,
    pub seed: u64,
    pub method: String,
    /// How the estimate was made: `two-layers` or `collapsed`, and `rows` if rows of data were given.
    pub variant: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Case { family, number, seed, method, variant } = self;
        write!(f, "{family},{number},{seed},{method},{variant}")
    }
}

/// A line of results.
#[derive(Clone, Debug)]
pub struct Row {
    pub case: Case,
    pub visible: usize,
    pub hidden: usize,
    pub truth: f64,
    pub value: f64,
    pub std_err: f64,
    pub lower: f64,
    pub upper: f64,
    pub verdict: String,
    pub seconds: f64,
    /// Processor time, which other processes do not affect; NaN if it is unknown.
    pub processor_seconds: f64,
}

/// The verdict of a case where the method returned an error.
pub const ERROR: &str = "error";
/// A wrong value is off by more than this many stated errors, and by more than this many nats.
const WRONG: (f64, f64) = (4.0, 0.1);
/// Rounding of the interval's ends in the file.
const ROUNDING: f64 = 2e-6;

const HEADER: &str = "family,number,seed,method,variant,visible,hidden,truth,value,std_err,lower,upper,verdict,seconds,errors,wrong,processor_seconds";

impl Row {
    pub fn new(
        case: Case,
        sizes: (usize, usize),
        truth: f64,
        found: Option<&LogZ>,
        [seconds, processor_seconds]: [f64; 2],
    ) -> Row {
        let number = |f: &dyn Fn(&LogZ) -> f64| found.map_or(f64::NAN, f);
        Row {
            case,
            visible: sizes.0,
            hidden: sizes.1,
            truth,
            value: number(&|z| z.value),
            std_err: number(&|z| z.std_err),
            lower: number(&|z| z.lower),
            upper: number(&|z| z.upper),
            verdict: found.map_or(ERROR, |z| z.verdict.name()).into(),
            seconds,
            processor_seconds,
        }
    }

    fn parse(line: &str) -> Option<Row> {
        let mut f = line.split(',');
        let case = Case {
            family: f.next()?.into(),
            number: f.next()?.parse().ok()?,
            seed: f.next()?.parse().ok()?,
            method: f.next()?.into(),
            variant: f.next()?.into(),
        };
        let (visible, hidden) = (f.next()?.parse().ok()?, f.next()?.parse().ok()?);
        let mut number = || f.next()?.parse::<f64>().ok();
        let [truth, value, std_err, lower, upper] = [number()?, number()?, number()?, number()?, number()?];
        let verdict = f.next()?.into();
        // Errors and the mark of a wrong value follow from the rest.
        let (seconds, _) = (f.next()?.parse().ok()?, f.nth(1)?);
        let processor_seconds = f.next().and_then(|s| s.parse().ok()).unwrap_or(f64::NAN);
        Some(Row { case, visible, hidden, truth, value, std_err, lower, upper, verdict, seconds, processor_seconds })
    }

    /// How far the value is off, in stated errors.
    pub fn errors(&self) -> f64 {
        (self.value - self.truth) / self.std_err
    }

    pub fn wrong(&self) -> bool {
        let off = (self.value - self.truth).abs();
        off > WRONG.0 * self.std_err && off > WRONG.1
    }

    /// Whether the interval holds the truth.
    pub fn covers(&self) -> bool {
        (self.lower - ROUNDING..=self.upper + ROUNDING).contains(&self.truth)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Row { case, visible, hidden, truth, value, std_err, lower, upper, verdict, seconds, processor_seconds } =
            self;
        write!(f, "{case},{visible},{hidden},{truth:.6},{value:.6},{std_err:.6},{lower:.6},{upper:.6},{verdict},")?;
        write!(f, "{seconds:.2},{:.2},{},{processor_seconds:.2}", self.errors(), u8::from(self.wrong()))
    }
}

/// The file and what is in it.
pub struct Results {
    path: PathBuf,
    pub rows: Vec<Row>,
    /// What must stand before the next line: the header, or the end of a line that was cut off.
    start: String,
}

impl Results {
    /// Reads a file, if it exists. A line that an interrupt has cut off is no result.
    pub fn open(path: &Path) -> Result<Results> {
        let text = if path.exists() { std::fs::read_to_string(path)? } else { String::new() };
        let complete = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let rows = complete.filter_map(Row::parse).collect();
        let start = if text.is_empty() {
            format!("{HEADER}\n")
        } else if text.ends_with('\n') {
            String::new()
        } else {
            "\n".into()
        };
        Ok(Results { path: path.into(), rows, start })
    }

    pub fn has(&self, case: &Case) -> bool {
        self.rows.iter().any(|row| row.case == *case)
    }

    pub fn add(&mut self, row: Row) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(format!("{}{row}\n", std::mem::take(&mut self.start)).as_bytes())?;
        self.rows.push(row);
        Ok(())
    }
}
