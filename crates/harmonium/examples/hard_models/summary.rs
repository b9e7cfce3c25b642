//! One table of all results: verdicts, wrong ones, coverage and time per family, and the bars of the study.

use super::models::{TRAP, is_held_out};
use super::results::{ERROR, Row};
use super::trained::TRAINED;

const VERDICTS: [&str; 6] = ["exact", "certain", "likely", "imprecise", "disagree", ERROR];
/// The bars: least coverage of the intervals of certain and likely, least part of models that are certain or exact in this time.
const LEAST_COVERAGE: f64 = 0.93;
const LEAST_CERTAIN: f64 = 0.70;
const SECONDS: f64 = 60.0;

/// Counts over some rows.
struct Counts<'a>(Vec<&'a Row>);

impl Counts<'_> {
    fn count(&self, f: impl Fn(&Row) -> bool) -> usize {
        self.0.iter().filter(|row| f(row)).count()
    }

    fn verdict(&self, name: &str) -> usize {
        self.count(|row| row.verdict == name)
    }

    fn wrong(&self, verdict: &str) -> usize {
        self.count(|row| row.verdict == verdict && row.wrong())
    }

    /// Covered intervals of certain and likely, and how many there are.
    fn covered(&self) -> (usize, usize) {
        let stated = |row: &Row| ["certain", "likely"].contains(&row.verdict.as_str());
        (self.count(|row| stated(row) && row.covers()), self.count(stated))
    }

    /// Models that are certain or exact with the first seed in a time, and how many there are.
    fn in_time(&self, in_time: impl Fn(&Row) -> bool) -> (usize, usize) {
        let first = |row: &Row| row.case.seed == 0;
        let good = |row: &Row| ["certain", "exact"].contains(&row.verdict.as_str()) && in_time(row);
        (self.count(|row| first(row) && good(row)), self.count(first))
    }

    fn line(&self, name: &str) -> String {
        let mut seconds: Vec<f64> = self.0.iter().map(|row| row.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let verdicts: Vec<String> = VERDICTS.iter().map(|v| format!("{:>4}", self.verdict(v))).collect();
        let (covered, stated) = self.covered();
        format!(
            "| {name:40} | {:>5} | {} | {:>4} | {:>4} | {:>13} | {:>6.1} | {:>6.1} |",
            self.0.len(),
            verdicts.join(" | "),
            self.wrong("certain"),
            self.wrong("likely"),
            percent(covered, stated),
            seconds.get(seconds.len() / 2).unwrap_or(&0.0),
            seconds.last().unwrap_or(&0.0),
        )
    }
}

fn percent(part: usize, all: usize) -> String {
    if all == 0 { "".into() } else { format!("{:.1} % of {all}", 100.0 * part as f64 / all as f64) }
}

fn judged(holds: bool) -> &'static str {
    if holds { "holds" } else { "FAILS" }
}

/// Prints the table of one class and its total.
fn table<'a>(title: &str, rows: Vec<&'a Row>) -> Option<Counts<'a>> {
    if rows.is_empty() {
        return None;
    }
    println!("\n{title}\n");
    println!(
        "| {:40} | cases | exact | cert | like | impr | disa | error | wrong certain | wrong likely | ±2σ covers | median s | max s |",
        "family"
    );
    println!("|{}", "---|".repeat(13));
    let name = |row: &Row| format!("{}, {}", row.case.family, row.case.variant);
    let mut names: Vec<String> = Vec::new();
    rows.iter().map(|row| name(row)).for_each(|n| {
        if !names.contains(&n) {
            names.push(n);
        }
    });
    for family in names {
        println!("{}", Counts(rows.iter().filter(|row| name(row) == family).copied().collect()).line(&family));
    }
    let all = Counts(rows);
    println!("{}", all.line("all"));
    Some(all)
}

fn bars(all: &Counts) {
    let ((covered, stated), (good, models)) = (all.covered(), all.in_time(|row| row.seconds <= SECONDS));
    let wrong = all.wrong("certain");
    println!("\nwrong and certain: {wrong} ({})", judged(wrong == 0));
    let holds = covered as f64 >= LEAST_COVERAGE * stated as f64;
    println!("intervals of certain and likely cover {} ({})", percent(covered, stated), judged(holds));
    let holds = good as f64 >= LEAST_CERTAIN * models as f64;
    println!("certain or exact within {SECONDS} s, first seed: {} models ({})", percent(good, models), judged(holds));
    // On a computer that does other work too, this is the fairer number.
    if all.0.iter().all(|row| row.processor_seconds.is_finite()) {
        let (good, models) = all.in_time(|row| row.processor_seconds <= 2.0 * SECONDS);
        println!("certain or exact within {} s of processor time: {} models", 2.0 * SECONDS, percent(good, models));
    }
}

/// Prints everything about the results of one method.
pub fn print(rows: &[Row], method: &str) {
    let mine = || rows.iter().filter(|row| row.case.method == method);
    let class = |row: &Row| [TRAP, TRAINED].into_iter().find(|c| row.case.family.starts_with(c)).unwrap_or("");
    let of = |name: &str, held_out: bool| {
        mine().filter(|row| class(row) == name && is_held_out(&row.case.family, row.case.number) == held_out).collect()
    };
    for (held_out, which) in [(false, ""), (true, ", held out")] {
        if let Some(all) = table(&format!("Generated models{which}, method {method}"), of("", held_out)) {
            bars(&all);
        }
    }
    if let Some(all) = table("Trained models", of(TRAINED, false)) {
        println!("\nwrong and certain: {} ({})", all.wrong("certain"), judged(all.wrong("certain") == 0));
    }
    table("Traps, for which nothing is promised", of(TRAP, false));
    table("Traps, held out", of(TRAP, true));
    let wrong: Vec<&Row> = mine().filter(|row| row.verdict == "certain" && row.wrong()).collect();
    if !wrong.is_empty() {
        println!("\nWrong and certain:");
        wrong.iter().for_each(|row| println!("{row}"));
    }
}
