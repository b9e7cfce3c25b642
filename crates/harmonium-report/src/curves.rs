//! Learning curves: how each measure moved with the updates.

use crate::Report;
use crate::axis::Axis;
use crate::figure::{Figure, Section};
use crate::plot::{Key, Layout, Plot};
use crate::text::{count, number};
use harmonium::events::{Event, Measures, Progress, Reason};
use std::collections::BTreeMap;

/// Mended updates told in words at most; all are marked in the curves.
const MOST_NOTES: usize = 5;

/// One measure over the run.
struct Curve {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    about: &'static str,
    /// Whether it is logarithmic when it changes a lot.
    positive: bool,
    value: Value,
}

/// Where a measure is found.
enum Value {
    /// On training and held-out rows.
    Measure(fn(&Measures) -> Option<f64>),
    /// Once per measurement.
    Run(fn(&Progress) -> f64),
}

/// The list.
const CURVES: &[Curve] = &[
    Curve {
        name: "log-likelihood",
        title: "Log likelihood",
        unit: "nats per row",
        about: "Exact mean log likelihood of the rows; higher is better. Dashed: independent units, which know only \
                each column by itself.",
        positive: false,
        value: Value::Measure(|m| m.log_likelihood),
    },
    Curve {
        name: "pseudo-log-likelihood",
        title: "Pseudo log likelihood",
        unit: "nats per row",
        about: "Sum over the columns of the log probability of each given all others; higher is better.",
        positive: false,
        value: Value::Measure(|m| m.pseudo_log_likelihood),
    },
    Curve {
        name: "free-energy",
        title: "Mean free energy",
        unit: "nats",
        about: "Only the gap between training and held-out rows has a meaning: it widens when the machine overfits.",
        positive: false,
        value: Value::Measure(|m| Some(m.free_energy)),
    },
    Curve {
        name: "reconstruction-error",
        title: "Reconstruction error",
        unit: "squared, per column",
        about: "Mean squared difference between rows and their mean-field reconstruction. It is not what is learned: it may \
                rise while the likelihood rises.",
        positive: true,
        value: Value::Measure(|m| Some(m.reconstruction_error)),
    },
    Curve {
        name: "gradient-length",
        title: "Gradient length",
        unit: "nats per unit of parameters",
        about: "Euclidean length of the estimated gradient.",
        positive: true,
        value: Value::Run(|p| p.gradient_norm),
    },
    Curve {
        name: "learning-rate",
        title: "Learning rate",
        unit: "per update",
        about: "What the gradient is multiplied by.",
        positive: false,
        value: Value::Run(|p| p.learning_rate),
    },
];

/// A line of a plot: class, name and points.
type Line = (&'static str, &'static str, Vec<(f64, f64)>);

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
        let lines = match curve.value {
            Value::Measure(of) => vec![
                ("line one", "training rows", points(&|p| of(&p.train))),
                ("line two", "held-out rows", points(&|p| p.valid.as_ref().and_then(of))),
            ],
            Value::Run(of) => vec![("line one", "at the end", points(&|p| Some(of(p))))],
        };
        lines.into_iter().filter(|l| l.2.iter().any(|p| p.1.is_finite())).collect()
    }

    fn figure(&self, curve: &Curve) -> Option<Figure> {
        let lines = self.lines(curve);
        let baseline = self.baseline.filter(|_| curve.name == "log-likelihood");
        let values: Vec<f64> = lines.iter().flat_map(|l| &l.2).map(|p| p.1).collect();
        let y = match curve.value {
            _ if lines.is_empty() => None,
            _ if curve.name == "learning-rate" => Axis::around(values.into_iter().chain([0.0]), ""),
            _ if curve.positive => Axis::around_maybe_log(values, ""),
            _ => Axis::around(values.into_iter().chain(baseline), ""),
        }?;
        let unit = if y.is_log() { format!("{}, log scale", curve.unit) } else { curve.unit.into() };
        let mut layout = Layout::new(curve.title, &unit, self.updates(), y);
        layout.above = self.epochs();
        layout.legend = self.legend(&lines, baseline);
        let mut plot = layout.plot();
        if let Some(baseline) = baseline {
            plot.line(&[(0.0, baseline), (self.updates().hi, baseline)], "line base");
        }
        lines.iter().for_each(|line| plot.line(&line.2, line.0));
        self.mark(&mut plot);
        let caption = curve.about.into();
        Some(Figure { name: curve.name.into(), caption, svg: plot.finish(), png: None })
    }

    /// What each line is, and where it ended.
    fn legend(&self, lines: &[Line], baseline: Option<f64>) -> Vec<Key> {
        let last = |points: &[(f64, f64)]| points.iter().rev().find(|p| p.1.is_finite()).map_or(f64::NAN, |p| p.1);
        let key = |class, name: &str, value| Key { class, label: format!("{name} {}", number(value)) };
        let mut keys: Vec<Key> = lines.iter().map(|(class, name, points)| key(class, name, last(points))).collect();
        keys.extend(baseline.map(|b| key("line base", "independent units", b)));
        if self.kept.is_some() {
            keys.push(Key { class: "line kept", label: "kept machine".into() });
        }
        if !self.recovered.is_empty() {
            keys.push(Key { class: "line mark", label: "mended update".into() });
        }
        keys
    }

    fn mark(&self, plot: &mut Plot) {
        self.recovered.iter().for_each(|(update, text)| plot.vertical(*update, "line mark", text));
        if let Some(kept) = self.kept {
            plot.vertical(kept, "line kept", &format!("The machine of update {kept} was kept."));
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

/// All curves that have at least one number.
pub fn section(report: &Report) -> Option<Section> {
    let run = Run::new(report.events);
    let figures: Vec<Figure> = CURVES.iter().filter_map(|c| run.figure(c)).collect();
    (!figures.is_empty()).then(|| Section { heading: "Learning", notes: run.notes(), figures })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let names: Vec<String> = Run::new(&events)
            .lines(&CURVES[2])
            .into_iter()
            .map(|l| l.1.into())
            .chain(CURVES.iter().filter_map(|c| Run::new(&events).figure(c)).map(|f| f.name))
            .collect();
        assert_eq!(names, ["reconstruction-error", "gradient-length", "learning-rate"]);
    }
}
