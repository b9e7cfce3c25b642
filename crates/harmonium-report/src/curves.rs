//! Learning curves: how each measure moved with the updates.

use crate::ReportData;
use crate::axis::Axis;
use crate::figure::{Figure, Section};
use crate::plot::{Key, Layout, Plot};
use crate::text::{count, number, short, shortened};
use harmonium::events::{Event, Progress, Reason};
use harmonium::measure::{Better, MEASURES, Measure, Needs, Quantity};
use std::collections::BTreeMap;

/// Mended updates told in words at most; all are marked in the curves.
const MOST_NOTES: usize = 5;

/// The curves that stand beside the weights.
const SPECTRUM: &str = "weight-spectrum";

/// Colours of lines, in their order.
const CLASSES: [&str; 5] = ["line one", "line two", "line three", "line four", "line five"];

/// The same for as many runs again.
const DASHED: [&str; 5] =
    ["line one dashed", "line two dashed", "line three dashed", "line four dashed", "line five dashed"];

/// One figure over the run.
struct Curve {
    name: String,
    title: String,
    unit: &'static str,
    about: String,
    /// Whether it is logarithmic when it changes a lot.
    positive: bool,
    value: Value,
}

/// Where the numbers of a figure are found.
enum Value {
    /// On training and held-out rows, by name.
    Rows(&'static str),
    /// Several on training rows.
    Several(Vec<&'static Quantity>),
    /// Once per measurement, by name; between two there may be measurements without it.
    Once(Vec<&'static Quantity>),
    /// Likewise, from the run itself.
    Run(fn(&Progress) -> f64),
}

impl Curve {
    fn of_run(name: &str, title: &str, unit: &'static str, about: &str, value: Value) -> Curve {
        let positive = name == "gradient-length";
        Curve { name: name.into(), title: title.into(), unit, about: about.into(), positive, value }
    }

    /// The figure of a family of numbers.
    fn of_family(measure: &Measure, family: Vec<&'static Quantity>) -> Curve {
        let first = family[0];
        let better = match first.better.in_words() {
            "" => String::new(),
            words => format!(" {}.", capital(words)),
        };
        Curve {
            name: first.family.replace(' ', "-"),
            title: capital(first.family),
            unit: first.unit,
            about: format!("{}{better}", first.about),
            positive: first.better == Better::Smaller,
            value: match measure.needs {
                Needs::Rows if family.len() == 1 => Value::Rows(first.name),
                Needs::Rows => Value::Several(family),
                _ => Value::Once(family),
            },
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The likelihood, measures that are means over rows, and what the run did.
fn learning() -> Vec<Curve> {
    let mut curves = vec![Curve::of_run(
        "log-likelihood",
        "Log likelihood",
        "nats per row",
        "Mean log likelihood of the rows; higher is better. Bars: two standard errors, where it is an estimate and not exact. \
         Dashed: independent units, which know only each column by itself.",
        Value::Rows("log_likelihood"),
    )];
    curves.extend(of_measures(true));
    curves.push(Curve::of_run(
        "gradient-length",
        "Gradient length",
        "nats per unit of parameters",
        "Euclidean length of the estimated gradient.",
        Value::Run(|p| p.gradient_norm),
    ));
    let about = "What the gradient is multiplied by.";
    curves.push(Curve::of_run("learning-rate", "Learning rate", "per update", about, Value::Run(|p| p.learning_rate)));
    curves
}

/// Figures of the library's list of measures: of those that are means over rows, or of all others.
fn of_measures(mean_of_rows: bool) -> impl Iterator<Item = Curve> {
    let families = MEASURES.iter().flat_map(|m| m.families().into_iter().map(move |f| (m, f)));
    families.filter(move |(_, f)| f[0].mean_of_rows == mean_of_rows).map(|(m, f)| Curve::of_family(m, f))
}

/// A line of a plot.
struct Line {
    class: &'static str,
    name: &'static str,
    points: Vec<(f64, f64)>,
    /// Standard error of the last point.
    error: Option<f64>,
    /// Standard errors of all points, where they are drawn.
    bars: Vec<Option<f64>>,
}

/// A run as it counts: measurements in the order of updates, where a repeated stretch replaces the abandoned one.
struct Run<'a> {
    progress: BTreeMap<u64, &'a Progress>,
    baseline: Option<f64>,
    recovered: Vec<(f64, String)>,
    kept: Option<f64>,
}

impl Run<'_> {
    fn new(events: &[Event]) -> Run<'_> {
        let mut run = Run { progress: BTreeMap::new(), baseline: None, recovered: Vec::new(), kept: None };
        for event in events {
            match event {
                Event::Started { baseline, .. } => run.baseline = Some(*baseline).filter(|b| b.is_finite()),
                Event::Progress(p) => drop(run.progress.insert(p.update, p)),
                Event::Recovered { update, back_to, reason, rate_factor } => {
                    let text = format!(
                        "Update {update}: {reason}; the run went back to update {back_to} with {} times the learning rate.",
                        number(*rate_factor)
                    );
                    run.recovered.push((*update as f64, text));
                }
                Event::Finished { kept, reason: Reason::EarlyStop, .. } => run.kept = Some(*kept as f64),
                _ => {}
            }
        }
        run
    }

    /// The updates, from 0 to the last event.
    fn updates(&self) -> Axis {
        let last = self.progress.keys().last().map_or(0.0, |u| *u as f64);
        let last = self.recovered.iter().map(|r| r.0).fold(last, f64::max).max(1.0);
        Axis::between(0.0, last, "updates")
    }

    /// The same in passes through the data.
    fn epochs(&self) -> Option<Axis> {
        let (update, last) = self.progress.iter().next_back()?;
        let per_update = last.epoch / *update as f64;
        (per_update.is_finite() && per_update > 0.0)
            .then(|| Axis::between(0.0, per_update * self.updates().hi, "epochs"))
    }

    /// The lines of a curve; those without any number are left out.
    fn lines(&self, curve: &Curve) -> Vec<Line> {
        let points = |value: &dyn Fn(&Progress) -> Option<f64>| -> Vec<(f64, f64)> {
            self.progress.iter().map(|(u, p)| (*u as f64, value(p).unwrap_or(f64::NAN))).collect()
        };
        let present = |points: Vec<(f64, f64)>| points.into_iter().filter(|p| p.1.is_finite()).collect();
        let line = |k: usize, name: &'static str, points| {
            let name = if name.is_empty() { "at the end" } else { name };
            Line { class: CLASSES[k % CLASSES.len()], name, points, error: None, bars: Vec::new() }
        };
        let lines: Vec<Line> = match &curve.value {
            Value::Rows(name) => {
                let mut lines = vec![
                    line(0, "training rows", points(&|p| p.train.get(name))),
                    line(1, "held-out rows", points(&|p| p.valid.as_ref().and_then(|v| v.get(name)))),
                ];
                if *name == "log_likelihood" {
                    let bars: Vec<Option<f64>> =
                        self.progress.values().map(|p| p.train.log_likelihood_std_err).collect();
                    let last = bars.iter().rev().find_map(|e| *e);
                    lines.iter_mut().for_each(|l| (l.bars, l.error) = (bars.clone(), last));
                }
                lines
            }
            Value::Several(family) => {
                let one = |(k, q): (usize, &&'static Quantity)| line(k, q.title, points(&|p| p.train.get(q.name)));
                family.iter().enumerate().map(one).collect()
            }
            Value::Once(family) => {
                let one = |(k, q): (usize, &&'static Quantity)| Line {
                    error: self.last_error(q.name),
                    ..line(k, q.title, present(points(&|p| p.more.get(q.name).copied())))
                };
                family.iter().enumerate().map(one).collect()
            }
            Value::Run(of) => vec![line(0, "at the end", points(&|p| Some(of(p))))],
        };
        lines.into_iter().filter(|l| l.points.iter().any(|p| p.1.is_finite())).collect()
    }

    /// The standard error that belongs to the last measurement of a number.
    fn last_error(&self, name: &str) -> Option<f64> {
        let last = self.progress.values().rev().find(|p| p.more.contains_key(name))?;
        last.more.get(&format!("{name}_std_err")).copied()
    }

    fn figure(&self, curve: &Curve) -> Option<Figure> {
        let lines = self.lines(curve);
        let baseline = self.baseline.filter(|_| curve.name == "log-likelihood");
        let values: Vec<f64> = lines.iter().flat_map(|l| &l.points).map(|p| p.1).collect();
        let y = match curve.name.as_str() {
            _ if lines.is_empty() => None,
            "learning-rate" => Axis::around(values.into_iter().chain([0.0]), ""),
            _ if curve.positive => Axis::around_maybe_log(values, ""),
            _ => Axis::around(values.into_iter().chain(baseline), ""),
        }?;
        let unit = if y.is_log() { format!("{}, log scale", curve.unit) } else { curve.unit.into() };
        let ends = (y.lo, y.hi);
        let mut layout = Layout::new(&curve.title, &unit, self.updates(), y);
        layout.above = self.epochs();
        layout.legend = self.legend(&lines, baseline);
        let mut plot = layout.plot();
        if let Some(baseline) = baseline {
            plot.line(&[(0.0, baseline), (self.updates().hi, baseline)], "line base");
        }
        for line in &lines {
            plot.line(&line.points, line.class);
            for (&(x, y), error) in line.points.iter().zip(&line.bars) {
                if let Some(error) = error.filter(|_| y.is_finite()) {
                    let [below, above] = [y - 2.0 * error, y + 2.0 * error].map(|end| end.clamp(ends.0, ends.1));
                    plot.line(&[(x, below), (x, above)], line.class);
                }
            }
        }
        self.mark(&mut plot);
        Some(Figure { name: curve.name.clone(), caption: curve.about.clone(), svg: plot.finish(), png: None })
    }

    /// What each line is, and where it ended.
    fn legend(&self, lines: &[Line], baseline: Option<f64>) -> Vec<Key> {
        let of_line = |line: &Line| Key { class: line.class, label: ended(line.name, line) };
        let mut keys: Vec<Key> = lines.iter().map(of_line).collect();
        let independent = |b| Key { class: "line base", label: format!("independent units {}", number(b)) };
        keys.extend(baseline.map(independent));
        if self.kept.is_some() {
            keys.push(Key { class: "line kept", label: "kept model".into() });
        }
        if !self.recovered.is_empty() {
            keys.push(Key { class: "line mark", label: "mended update".into() });
        }
        keys
    }

    fn mark(&self, plot: &mut Plot) {
        self.recovered.iter().for_each(|(update, text)| plot.vertical(*update, "line mark", text));
        if let Some(kept) = self.kept {
            plot.vertical(kept, "line kept", &format!("The model of update {kept} was kept."));
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.recovered.iter().take(MOST_NOTES).map(|r| r.1.clone()).collect();
        if let Some(more) = self.recovered.len().checked_sub(MOST_NOTES).filter(|n| *n > 0) {
            notes.push(format!("{} more failed and were mended.", count(more, "update")));
        }
        notes
    }
}

/// What a line is called, and where it ended.
fn ended(name: &str, line: &Line) -> String {
    let last = line.points.iter().rev().find(|p| p.1.is_finite()).map_or(f64::NAN, |p| p.1);
    format!("{name} {}{}", number(last), line.error.map_or(String::new(), |e| format!(" ± {}", short(e))))
}

/// All curves of learning that have at least one number.
pub fn section(report: &ReportData) -> Option<Section> {
    let run = Run::new(report.events);
    let figures: Vec<Figure> = learning().iter().filter_map(|c| run.figure(c)).collect();
    (!figures.is_empty()).then(|| Section { heading: "Learning", folded: false, notes: run.notes(), figures })
}

/// Curves of several runs on one axis, measures of training rows and of held-out rows each by themselves.
pub fn overlaid(runs: &[(&str, &[Event])]) -> Vec<Figure> {
    let runs: Vec<(&str, Run)> = runs.iter().map(|(name, events)| (*name, Run::new(events))).collect();
    let mut figures = Vec::new();
    for curve in learning() {
        // Free energies of different models have nothing to do with each other.
        if !matches!(curve.value, Value::Rows(name) if name != "free_energy") {
            continue;
        }
        figures.extend(["training rows", "held-out rows"].iter().filter_map(|rows| side_by_side(&runs, &curve, rows)));
    }
    figures
}

/// One measure of one kind of rows, a line for every run.
fn side_by_side(runs: &[(&str, Run)], curve: &Curve, rows: &str) -> Option<Figure> {
    let of_run = |(k, (name, run)): (usize, &(&str, Run))| {
        let line = run.lines(curve).into_iter().find(|l| l.name == rows)?;
        let class = [CLASSES, DASHED][k / CLASSES.len() % 2][k % CLASSES.len()];
        Some((shortened(name, 24), Line { class, ..line }))
    };
    let lines: Vec<(String, Line)> = runs.iter().enumerate().filter_map(of_run).collect();
    let values: Vec<f64> = lines.iter().flat_map(|l| &l.1.points).map(|p| p.1).collect();
    let y = if curve.positive { Axis::around_maybe_log(values, "") } else { Axis::around(values, "") }?;
    let last = runs.iter().map(|r| r.1.updates().hi).fold(1.0, f64::max);
    let unit = if y.is_log() { format!("{}, log scale", curve.unit) } else { curve.unit.into() };
    let mut layout = Layout::new(
        &format!("{}, {}", curve.title, rows.trim_end_matches(" rows")),
        &unit,
        Axis::between(0.0, last, "updates"),
        y,
    );
    layout.legend = lines.iter().map(|(name, line)| Key { class: line.class, label: ended(name, line) }).collect();
    let mut plot = layout.plot();
    lines.iter().for_each(|(_, line)| plot.line(&line.points, line.class));
    let name = format!("{}-{}", curve.name, rows.replace(' ', "-"));
    let caption = format!("{} of the {rows}, a line for every run.", curve.title);
    Some(Figure { name, caption, svg: plot.finish(), png: None })
}

/// How the largest singular values of the weights grew.
pub fn spectrum(report: &ReportData) -> Option<Figure> {
    let run = Run::new(report.events);
    of_measures(false).find(|c| c.name == SPECTRUM).and_then(|c| run.figure(&c))
}

/// All other measures, folded.
pub fn measures(report: &ReportData) -> Option<Section> {
    let run = Run::new(report.events);
    let figures: Vec<Figure> =
        of_measures(false).filter(|c| c.name != SPECTRUM).filter_map(|c| run.figure(&c)).collect();
    let heading = "More measures: overfitting, moments, weights, hidden units, chains";
    (!figures.is_empty()).then(|| Section { heading, folded: true, notes: Vec::new(), figures })
}

#[cfg(test)]
mod tests {
    use super::*;
    use harmonium::events::Measures;

    fn progress(update: u64, free_energy: f64) -> Event {
        let train = Measures { free_energy, ..Measures::default() };
        Event::Progress(Progress { update, epoch: update as f64 / 10.0, train, ..Progress::default() })
    }

    #[test]
    fn a_repeated_stretch_replaces_the_abandoned_one() {
        let back = Event::Recovered { update: 250, back_to: 150, reason: "NaN".into(), rate_factor: 0.5 };
        let events = [progress(100, 1.0), progress(200, 9.0), back, progress(200, 2.0)];
        let run = Run::new(&events);
        let values: Vec<f64> = run.progress.values().map(|p| p.train.free_energy).collect();
        assert_eq!(values, [1.0, 2.0]);
        assert_eq!(run.updates().hi, 250.0);
        assert_eq!(run.epochs().map(|e| e.hi), Some(25.0));
        assert!(run.notes()[0].contains("back to update 150"));
    }

    #[test]
    fn lines_without_numbers_are_left_out() {
        let events = [progress(100, f64::NAN), progress(200, f64::NAN)];
        let run = Run::new(&events);
        let names: Vec<String> = learning().iter().filter_map(|c| run.figure(c)).map(|f| f.name).collect();
        assert_eq!(names, ["reconstruction-error", "gradient-length", "learning-rate"]);
    }
}
