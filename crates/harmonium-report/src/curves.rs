//! Learning curves: every measure against the number of updates.

use crate::ReportData;
use crate::axis::Axis;
use crate::curve_list::{Curve, Value, learning, of_measures};
use crate::figure::{Figure, Section};
use crate::plot::{Key, Layout, Plot};
use crate::text::with_error;
use crate::text::{count, number, shortened};
use harmonium::events::{Event, Progress, Reason};
use harmonium::measure::Quantity;
use std::collections::BTreeMap;

/// Recoveries described in words at most; all are marked in the curves.
const MAX_NOTES: usize = 5;

/// The curve that is shown beside the weights.
const SPECTRUM: &str = "weight-spectrum";

/// Classes of lines, in their order.
const CLASSES: [&str; 5] = ["line one", "line two", "line three", "line four", "line five"];

/// Classes of single points, in the order of [`CLASSES`].
const DOTS: [&str; 5] = ["dot one", "dot two", "dot three", "dot four", "dot five"];

/// Names of the rows, in legends.
const TRAINING: &str = "training rows";
const HELD_OUT: &str = "held-out rows";

/// The name of a line of lower bounds.
const AT_LEAST: &str = "at least";

/// Classes of the next five runs of a comparison.
const DASHED: [&str; 5] =
    ["line one dashed", "line two dashed", "line three dashed", "line four dashed", "line five dashed"];

/// A line of a plot.
struct Line {
    class: &'static str,
    name: &'static str,
    points: Vec<(f64, f64)>,
    /// Standard error of the last point, shown in the legend.
    error: Option<f64>,
    /// Standard errors of all points, if they are drawn.
    bars: Vec<Option<f64>>,
}

/// The measurements of a run by update. After a recovery the repeated updates replace the abandoned ones.
struct Run<'a> {
    progress: BTreeMap<u64, &'a Progress>,
    baseline: Option<f64>,
    recovered: Vec<(f64, String)>,
    kept: Option<f64>,
    /// Training and held-out rows of the run.
    rows: usize,
}

impl Run<'_> {
    fn new(events: &[Event]) -> Run<'_> {
        let mut run = Run { progress: BTreeMap::new(), baseline: None, recovered: Vec::new(), kept: None, rows: 0 };
        for event in events {
            match event {
                Event::Started { baseline, rows, valid_rows, .. } => {
                    run.baseline = Some(*baseline).filter(|b| b.is_finite());
                    run.rows = rows + valid_rows;
                }
                Event::Progress(p) => drop(run.progress.insert(p.update, p)),
                Event::Recovered { update, back_to, reason, rate_factor } => {
                    let text = format!(
                        "Update {update}: {reason}; training went back to update {back_to} with half the learning rate ({} times the \
                         first).",
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

    /// The axis of updates, from 0 to the last event.
    fn updates(&self) -> Axis {
        let last = self.progress.keys().last().map_or(0.0, |u| *u as f64);
        let last = self.recovered.iter().map(|r| r.0).fold(last, f64::max).max(1.0);
        Axis::between(0.0, last, "updates")
    }

    /// The same axis in epochs.
    fn epochs(&self) -> Option<Axis> {
        let (update, last) = self.progress.iter().next_back()?;
        let per_update = last.epoch / *update as f64;
        (per_update.is_finite() && per_update > 0.0)
            .then(|| Axis::between(0.0, per_update * self.updates().hi, "epochs"))
    }

    /// The lines of a curve; lines without a finite value are left out.
    fn lines(&self, curve: &Curve) -> Vec<Line> {
        let points = |value: &dyn Fn(&Progress) -> Option<f64>| -> Vec<(f64, f64)> {
            self.progress.iter().map(|(u, p)| (*u as f64, value(p).unwrap_or(f64::NAN))).collect()
        };
        let present = |points: Vec<(f64, f64)>| points.into_iter().filter(|p| p.1.is_finite()).collect();
        let line = |k: usize, name: &'static str, points| {
            let name = if name.is_empty() { "final" } else { name };
            Line { class: CLASSES[k % CLASSES.len()], name, points, error: None, bars: Vec::new() }
        };
        let lines: Vec<Line> = match &curve.value {
            Value::Rows(name) => {
                let std_err = format!("{name}_std_err");
                let last = |of: &dyn Fn(&Progress) -> Option<f64>| self.progress.values().rev().find_map(|p| of(p));
                let held_out = |p: &Progress, name: &str| p.valid.as_ref().and_then(|v| v.get(name));
                let mut lines = vec![
                    Line {
                        error: last(&|p| p.train.get(&std_err)),
                        ..line(0, TRAINING, points(&|p| p.train.get(name)))
                    },
                    Line {
                        error: last(&|p| held_out(p, &std_err)),
                        ..line(1, HELD_OUT, points(&|p| held_out(p, name)))
                    },
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
            Value::Model(family) => {
                let one = |(k, q): (usize, &&'static Quantity)| Line {
                    error: self.last_error(q.name),
                    ..line(k, q.title, present(points(&|p| p.more.get(q.name).copied())))
                };
                family.iter().enumerate().map(one).collect()
            }
            Value::Run(of) => vec![line(0, "final", points(&|p| Some(of(p))))],
        };
        lines.into_iter().filter(|l| l.points.iter().any(|p| p.1.is_finite())).collect()
    }

    /// Whether a curve has values, and all of them are 0.
    fn is_zero(&self, curve: &Curve) -> bool {
        let lines = self.lines(curve);
        !lines.is_empty() && lines.iter().flat_map(|l| &l.points).all(|p| p.1 == 0.0 || !p.1.is_finite())
    }

    /// The standard error of the last value of a measure.
    fn last_error(&self, name: &str) -> Option<f64> {
        let last = self.progress.values().rev().find(|p| p.more.contains_key(name))?;
        last.more.get(&format!("{name}_std_err")).copied()
    }

    /// The figure of a curve, if it has values.
    fn figure(&self, curve: &Curve) -> Option<Figure> {
        let lines = self.lines(curve);
        let baseline = self.baseline.filter(|_| curve.name == "log-likelihood");
        let values: Vec<f64> = lines.iter().flat_map(|l| &l.points).map(|p| p.1).collect();
        let y = match curve.name.as_str() {
            _ if lines.is_empty() => None,
            "learning-rate" => Axis::around(values.into_iter().chain([0.0]), ""),
            _ if curve.positive => Axis::around_positive(values, ""),
            _ => Axis::around(values.into_iter().chain(baseline), ""),
        }?;
        let unit = curve.unit_on(&y);
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
        let mut caption = curve.about.clone();
        if curve.name == "log-likelihood" {
            caption += &self.how_measured(&lines);
        }
        if lines.iter().any(|line| line.name == AT_LEAST) {
            caption += " \"At least\" marks lower bounds, where the chains were too short.";
        }
        if lines.iter().any(|line| line.name == HELD_OUT) {
            caption += " A growing gap between training and held-out rows suggests overfitting.";
        }
        Some(Figure { name: curve.name.clone(), caption, svg: plot.finish(), png: None })
    }

    /// Why the end of the likelihood's curve can differ from the final value; empty if it cannot.
    fn how_measured(&self, lines: &[Line]) -> String {
        let estimated = lines.iter().any(|line| line.bars.iter().any(Option::is_some));
        let measured = |p: &Progress| p.train.rows + p.valid.as_ref().map_or(0, |v| v.rows);
        let some_rows = self.progress.values().next_back().is_some_and(|p| measured(p) < self.rows);
        let held_out = lines.iter().any(|line| line.name == HELD_OUT);
        let rows = match (some_rows, held_out) {
            (true, true) => " on at most 1,000 training and 1,000 held-out rows",
            (true, false) => " on at most 1,000 rows",
            _ => "",
        };
        let log_z = if estimated { " with a rougher log Z (error bars: two standard errors)" } else { "" };
        let and = if some_rows && estimated { ", and" } else { "" };
        if !some_rows && !estimated {
            return String::new();
        }
        format!(
            " During training it is measured{rows}{and}{log_z}, so the end of the curve can differ slightly from the result at the top."
        )
    }

    /// A key for each line, with its last value, and for the marks.
    fn legend(&self, lines: &[Line], baseline: Option<f64>) -> Vec<Key> {
        let mut keys: Vec<Key> = lines.iter().map(|line| line.key(line.name)).collect();
        let independent = |b| Key { class: "line base", label: format!("independent columns {}", number(b)) };
        keys.extend(baseline.map(independent));
        if self.kept.is_some() {
            keys.push(Key { class: "line kept", label: "kept model".into() });
        }
        if !self.recovered.is_empty() {
            keys.push(Key { class: "line mark", label: "recovery".into() });
        }
        keys
    }

    fn mark(&self, plot: &mut Plot) {
        self.recovered.iter().for_each(|(update, text)| plot.vertical(*update, "line mark", text));
        if let Some(kept) = self.kept {
            plot.vertical(kept, "line kept", &format!("Early stopping kept the model of update {kept}."));
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.recovered.iter().take(MAX_NOTES).map(|r| r.1.clone()).collect();
        if let Some(more) = self.recovered.len().checked_sub(MAX_NOTES).filter(|n| *n > 0) {
            notes.push(format!("Training also recovered from {}.", count(more, "more divergence")));
        }
        notes
    }
}

impl Line {
    /// The legend: a name and the last value with its error. A single value is drawn as a dot, so its key is a dot too.
    fn key(&self, name: &str) -> Key {
        let mut finite = self.points.iter().map(|p| p.1).filter(|y| y.is_finite());
        let single = finite.clone().count() == 1;
        let k = CLASSES.iter().position(|class| *class == self.class).filter(|_| single);
        let last = finite.next_back().unwrap_or(f64::NAN);
        let value = self.error.filter(|e| *e > 0.0).map_or_else(|| number(last), |e| with_error(last, e));
        let label = format!("{name} {value}");
        Key { class: k.map_or(self.class, |k| DOTS[k]), label }
    }
}

/// The learning curves that have values.
pub fn section(report: &ReportData) -> Option<Section> {
    let run = Run::new(report.events);
    let figures: Vec<Figure> = learning().iter().filter_map(|c| run.figure(c)).collect();
    (!figures.is_empty()).then(|| Section { heading: "Learning", folded: false, notes: run.notes(), figures })
}

/// Learning curves of several runs on common axes, training rows and held-out rows in separate figures.
pub fn overlaid(runs: &[(&str, &[Event])]) -> Vec<Figure> {
    let runs: Vec<(&str, Run)> = runs.iter().map(|(name, events)| (*name, Run::new(events))).collect();
    let mut figures = Vec::new();
    for curve in learning() {
        // Free energies of different models cannot be compared.
        if !matches!(curve.value, Value::Rows(name) if name != "free_energy") {
            continue;
        }
        figures.extend([TRAINING, HELD_OUT].iter().filter_map(|rows| overlaid_figure(&runs, &curve, rows)));
    }
    figures
}

/// One measure of one kind of rows, one line per run.
fn overlaid_figure(runs: &[(&str, Run)], curve: &Curve, rows: &str) -> Option<Figure> {
    let of_run = |(k, (name, run)): (usize, &(&str, Run))| {
        let line = run.lines(curve).into_iter().find(|l| l.name == rows)?;
        let class = [CLASSES, DASHED][k / CLASSES.len() % 2][k % CLASSES.len()];
        Some((shortened(name, 24), Line { class, ..line }))
    };
    let lines: Vec<(String, Line)> = runs.iter().enumerate().filter_map(of_run).collect();
    let values: Vec<f64> = lines.iter().flat_map(|l| &l.1.points).map(|p| p.1).collect();
    let y = if curve.positive { Axis::around_positive(values, "") } else { Axis::around(values, "") }?;
    let last = runs.iter().map(|r| r.1.updates().hi).fold(1.0, f64::max);
    let unit = curve.unit_on(&y);
    let mut layout = Layout::new(
        &format!("{}, {}", curve.title, rows.trim_end_matches(" rows")),
        &unit,
        Axis::between(0.0, last, "updates"),
        y,
    );
    layout.legend = lines.iter().map(|(name, line)| line.key(name)).collect();
    let mut plot = layout.plot();
    lines.iter().for_each(|(_, line)| plot.line(&line.points, line.class));
    let name = format!("{}-{}", curve.name, rows.replace(' ', "-"));
    let caption = format!("{} of the {rows}, one line per run.", curve.title);
    Some(Figure { name, caption, svg: plot.finish(), png: None })
}

/// The largest singular values of the weights over the run.
pub fn spectrum(report: &ReportData) -> Option<Figure> {
    let run = Run::new(report.events);
    of_measures(false).find(|c| c.name == SPECTRUM).and_then(|c| run.figure(&c))
}

/// All other measures, folded. A measure that was 0 throughout has a sentence in place of a figure.
pub fn measures(report: &ReportData) -> Option<Section> {
    let run = Run::new(report.events);
    let curves = of_measures(false).filter(|c| c.name != SPECTRUM);
    let (none, some): (Vec<Curve>, Vec<Curve>) = curves.partition(|c| run.is_zero(c));
    let notes: Vec<String> = none.iter().map(|c| format!("{}: none.", c.title)).collect();
    let figures: Vec<Figure> = some.iter().filter_map(|c| run.figure(c)).collect();
    let heading = "More measures: overfitting, moments, weights, hidden units, chains";
    (!figures.is_empty() || !notes.is_empty()).then_some(Section { heading, folded: true, notes, figures })
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
    fn repeated_updates_replace_the_abandoned_ones() {
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
        assert_eq!(names, ["reconstruction-error", "gradient-norm", "learning-rate"]);
    }

    #[test]
    fn captions_mention_held_out_rows_only_if_there_are_some() {
        let mut events = [progress(100, 1.0), progress(200, 2.0)];
        let captions = |events: &[Event]| -> Vec<String> {
            let run = Run::new(events);
            learning().iter().filter_map(|c| run.figure(c)).map(|f| f.caption).collect()
        };
        assert!(captions(&events).iter().all(|c| !c.contains("held-out")));
        for event in &mut events {
            let Event::Progress(p) = event else { continue };
            p.valid = Some(p.train.clone());
        }
        assert!(captions(&events).iter().any(|c| c.contains("held-out")));
    }

    #[test]
    fn a_single_value_has_a_dot_in_the_legend() {
        let events = [progress(100, 1.0), progress(200, f64::NAN)];
        let run = Run::new(&events);
        let curve = learning().into_iter().find(|c| c.name == "free-energy").unwrap();
        assert_eq!(run.lines(&curve)[0].key("rows").class, "dot one");
    }
}
