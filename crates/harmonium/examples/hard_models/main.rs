//! Is log Z ever certain and wrong? Hard models whose log Z is known are estimated without enumeration.
//!
//! ```sh
//! cargo run --release -p harmonium --example hard_models -- --results hard-models.csv
//! cargo run --release -p harmonium --example hard_models -- --results hard-models.csv --summary
//! ```
//!
//! `models` has the families, `trained` models trained on real data, `results` one line per case, `summary` one table of all.

#[allow(dead_code)] // the driver's protocol is for the timings
#[path = "../common/mod.rs"]
mod common;
mod models;
mod results;
mod summary;
mod trained;

use common::{Options, Result};
use harmonium::Rbm;
use harmonium::logz::{self, LogZOptions, METHODS};
use models::{FAMILIES, Family};
use ndarray::Array2;
use results::{Case, Results, Row};
use std::path::PathBuf;
use std::time::Instant;

/// Seeds of the models that have several, which are those whose number is a multiple of `SEVERAL`.
const SEEDS: u64 = 5;
const SEVERAL: usize = 4;
/// Models per family of the short form.
const SHORT: usize = 2;

/// Which cases to run, and how.
struct Study {
    only: Option<(String, Option<usize>)>,
    seeds: Option<u64>,
    short: bool,
    /// Further models per family, in place of the usual ones; 0 for the usual ones.
    held_out: usize,
    method: String,
    results: Results,
}

/// One model to estimate.
struct Task<'a> {
    rbm: &'a Rbm<f64>,
    truth: f64,
    data: Option<&'a Array2<f64>>,
    collapse: bool,
}

impl Study {
    fn wants(&self, family: &str, number: usize) -> bool {
        let named = self.only.as_ref().is_none_or(|(f, n)| f == family && n.is_none_or(|n| n == number));
        named && !(self.short && self.held_out == 0 && number >= SHORT)
    }

    fn seeds(&self, number: usize) -> u64 {
        let several = number.is_multiple_of(SEVERAL) && !self.short && self.held_out == 0;
        self.seeds.unwrap_or(if several { SEEDS } else { 1 })
    }

    /// The numbers of the models of a family that are wanted.
    fn numbers(&self, family: &Family) -> Vec<usize> {
        let first = if self.held_out > 0 { family.models } else { 0 };
        let end = if self.held_out > 0 { family.models + self.held_out } else { family.models };
        (first..end).filter(|n| self.wants(family.name, *n)).collect()
    }

    fn case(&self, family: &str, number: usize, seed: u64, variant: &str) -> Case {
        Case { family: family.into(), number, seed, method: self.method.clone(), variant: variant.into() }
    }

    /// Estimates log Z, and adds and prints the line of results.
    fn run(&mut self, case: Case, task: &Task) -> Result<()> {
        let options =
            LogZOptions { seed: case.seed, data: task.data, collapse: task.collapse, ..LogZOptions::default() };
        let (clock, before) = (Instant::now(), processor_seconds());
        let found = logz::log_z(task.rbm, &self.method, options, &|_, _| ());
        let seconds = [clock.elapsed().as_secs_f64(), processor_seconds() - before];
        if let Err(error) = &found {
            eprintln!("{case}: {error}");
        }
        let sizes = (task.rbm.visible().sites(), task.rbm.hidden().sites());
        let row = Row::new(case, sizes, task.truth, found.as_ref().ok(), seconds);
        println!("{row}");
        self.results.add(row)
    }

    /// Runs the cases of a family that are not in the results yet.
    fn family(&mut self, family: &Family) -> Result<()> {
        const VARIANT: &str = "two-layers";
        for number in self.numbers(family) {
            let cases: Vec<Case> = (0..self.seeds(number))
                .map(|seed| self.case(family.name, number, seed, VARIANT))
                .filter(|case| !self.results.has(case))
                .collect();
            if !cases.is_empty() {
                let (rbm, truth) = family.model(number, false)?;
                let task = Task { rbm: &rbm, truth, data: None, collapse: false };
                cases.into_iter().try_for_each(|case| self.run(case, &task))?;
            }
        }
        Ok(())
    }
}

/// User and system time of this process on Linux, counted in hundredths of a second; NaN elsewhere.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let times: Vec<f64> = fields.skip(11).take(2).filter_map(|f| f.parse().ok()).collect();
    if times.len() == 2 { times.iter().sum::<f64>() / 100.0 } else { f64::NAN }
}

/// The method of the study unless asked otherwise: the best that does not enumerate.
fn default_method() -> &'static str {
    METHODS.iter().map(|m| m.name).find(|name| *name == "modes").unwrap_or("bar")
}

/// FAMILY or FAMILY:NUMBER.
fn parse_only(text: &str) -> Result<Option<(String, Option<usize>)>> {
    Ok(match text.split_once(':') {
        _ if text.is_empty() => None,
        Some((family, number)) => Some((family.into(), Some(number.parse()?))),
        None => Some((text.into(), None)),
    })
}

fn main() -> Result<()> {
    let options = Options::parse(&[
        ("only", ""),
        ("seeds", ""),
        ("held-out", "0"),
        ("method", default_method()),
        ("results", "target/hard-models.csv"),
        ("trained", ""),
        ("threads", "0"),
        ("short", "false"),
        ("summary", "false"),
        ("check", "false"),
        ("list", "false"),
    ])?;
    let flag = |name: &str| options.text(name) == "true";
    if flag("check") {
        return check();
    }
    let method = options.text("method");
    let results = Results::open(&PathBuf::from(options.text("results")))?;
    if flag("summary") {
        summary::print(&results.rows, &method);
        return Ok(());
    }
    let seeds = Some(options.text("seeds")).filter(|s| !s.is_empty()).map(|s| s.parse()).transpose()?;
    let only = parse_only(&options.text("only"))?;
    let held_out = options.get("held-out")?;
    let mut study = Study { only, seeds, short: flag("short"), held_out, method, results };
    let folder = Some(options.text("trained")).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    match (folder, flag("list")) {
        (None, false) => FAMILIES.iter().try_for_each(|family| study.family(family)),
        (None, true) => list(&study),
        (Some(folder), false) => trained::run(&mut study, &folder),
        (Some(folder), true) => trained::list(&study, &folder),
    }
}

/// Prints how far the closed forms are from enumeration.
fn check() -> Result<()> {
    for family in FAMILIES {
        println!("{:24} largest difference {:.1e} nats", family.name, family.largest_difference()?);
    }
    Ok(())
}

/// Prints every model with its sizes and log Z.
fn list(study: &Study) -> Result<()> {
    for family in FAMILIES {
        for number in study.numbers(family) {
            let clock = Instant::now();
            let (rbm, truth) = family.model(number, false)?;
            println!(
                "{}:{number}  {} {} × {} {}  log Z {truth:.6}  {:.1} s",
                family.name,
                rbm.visible().sites(),
                rbm.visible().layout(),
                rbm.hidden().sites(),
                rbm.hidden().layout(),
                clock.elapsed().as_secs_f64(),
            );
        }
    }
    Ok(())
}
