//! One table of settings: name, type, range, one sentence. Flags, config.toml, Python's signature and all checks follow it.
//!
//! **To add a setting: add its field to the configuration and its row to [`SETTINGS`].** Its default is the one of
//! [`Spec::default`](crate::run::Spec); a default that depends on the data is described in the row.

use crate::data::Header;
use crate::error::{Error, Result, number, shown};
use crate::estimate::estimators;
use crate::events::MOST_COUNT;
use crate::keep::Keep;
use crate::layout::Layout;
use crate::optimize::{Schedule, optimizers};
use crate::schema::Unseen;
use crate::start::Start;
use crate::units::Kind;
use crate::units::gaussian::Coupling;
use toml::Value;

/// A setting of a training run.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Its key in config.toml, such as `train.lr`.
    pub key: &'static str,
    /// Its option on the command line, without dashes; `DATA` is the argument. None if it has no option.
    pub flag: Option<&'static str>,
    /// Its parameter in Python; none if Python has no use for it.
    pub python: Option<&'static str>,
    /// Where it stands in help.
    pub group: Group,
    /// What it may be.
    pub takes: Takes,
    /// What it is, in a phrase without a full stop.
    pub about: &'static str,
    /// What else there is to know; may be empty.
    pub more: &'static str,
    /// Its default in words, where that depends on the data or is not a value; may be empty.
    pub usual: &'static str,
    /// The settings with which it has an effect: one of them must be one of the values, or be set if none is listed. Empty
    /// means that it always has an effect.
    pub(crate) only_with: &'static [OnlyWith],
}

/// A setting by its key, and values of it.
pub(crate) type OnlyWith = (&'static str, &'static [&'static str]);

/// The groups of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Where rows come from and what is done to them.
    Data,
    /// What is trained.
    Model,
    /// How it is trained.
    Learning,
    /// Penalties on the parameters.
    Penalties,
    /// What is measured and written during the run.
    Run,
}

impl Group {
    /// Every group with its heading, in order.
    pub const LIST: [(Group, &'static str); 5] = [
        (Group::Data, "Data"),
        (Group::Model, "Model"),
        (Group::Learning, "Learning"),
        (Group::Penalties, "Penalties"),
        (Group::Run, "Run"),
    ];
}

/// Names with a description each.
pub(crate) type Choices = Vec<(&'static str, &'static str)>;

/// What a setting may be.
#[derive(Clone, Copy)]
pub enum Takes {
    /// Text; the word stands for it in help.
    Text(&'static str),
    /// One of some names.
    Choice(fn() -> Choices),
    /// One of some kinds of units, or a list of blocks such as `bernoulli*10,gaussian*4`.
    Units(fn() -> Choices),
    /// Texts, each given by the option once more; the word stands for them in help.
    Texts(&'static str),
    /// A whole number in a range.
    Whole(i64, i64),
    /// A whole number in a range; the option without a number means the third.
    WholeOr(i64, i64, &'static str),
    /// A number.
    Number(Range),
    /// Yes or no; the option sets this.
    Switch(bool),
    /// Yes or no; the option takes `auto` (yes) or `none` (no).
    Auto,
    /// Yes or no, by the data unless it is given; the option means yes, and the other option, named here, no.
    YesOrNo(&'static str),
}

/// A range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Above 0.
    Positive,
    /// 0 or more.
    NotNegative,
    /// Above 0 and below 1.
    Inside,
    /// At least 0 and below 1.
    BelowOne,
    /// Any finite number.
    Finite,
}

impl Range {
    fn holds(self, x: f64) -> bool {
        x.is_finite()
            && match self {
                Range::Positive => x > 0.0,
                Range::NotNegative => x >= 0.0,
                Range::Inside => x > 0.0 && x < 1.0,
                Range::BelowOne => (0.0..1.0).contains(&x),
                Range::Finite => true,
            }
    }

    fn words(self) -> &'static str {
        match self {
            Range::Positive => "a number above 0",
            Range::NotNegative => "0 or more",
            Range::Inside => "above 0 and below 1",
            Range::BelowOne => "at least 0 and below 1",
            Range::Finite => "a finite number",
        }
    }
}

impl Setting {
    /// Its name in config.toml without the section: `lr`.
    pub fn name(&self) -> &'static str {
        self.key.rsplit('.').next().unwrap_or(self.key)
    }

    /// Refuses a number outside its range.
    pub fn check(&self, x: f64) -> Result<()> {
        if self.holds(x) { Ok(()) } else { Err(self.refusal(number(x), x < 1.0)) }
    }

    fn holds(&self, x: f64) -> bool {
        match self.takes {
            Takes::Whole(least, most) | Takes::WholeOr(least, most, _) => {
                x.fract() == 0.0 && x >= least as f64 && x <= most as f64
            }
            Takes::Number(range) => range.holds(x),
            _ => true,
        }
    }

    /// Refuses a value of a configuration that is no number where one is needed, or outside its range, or no choice.
    pub(crate) fn check_value(&self, value: &Value) -> Result<()> {
        match (self.takes, value) {
            (Takes::Choice(_), Value::String(name)) => self.check_choice(name),
            (Takes::Units(_), Value::String(text)) if Layout::is_list(text) => {
                Layout::parse(text).map(|_| ()).map_err(|e| Error::Config { key: self.key, problem: e.to_string() })
            }
            (Takes::Units(_), Value::String(name)) => self.check_choice(name),
            (Takes::Whole(..) | Takes::WholeOr(..) | Takes::Number(_), Value::Float(x)) => self.check(*x),
            (Takes::Whole(..) | Takes::WholeOr(..) | Takes::Number(_), other) => {
                let x = other.as_integer().map(|n| n as f64);
                if x.is_some_and(|x| self.holds(x)) {
                    return Ok(());
                }
                let text = other.as_str().map(|text| format!("'{}'", shown(text)));
                Err(self.refusal(text.unwrap_or_else(|| shown(&other.to_string())), x.is_none_or(|x| x < 1.0)))
            }
            // Texts and switches are checked where they are read.
            _ => Ok(()),
        }
    }

    /// The refusal of a value; a range without a practical upper end is not shown to those who are below it.
    fn refusal(&self, value: String, below: bool) -> Error {
        let words = match self.takes {
            Takes::Whole(least, MANY..) | Takes::WholeOr(least, MANY.., _) if below => format!("at least {least}"),
            Takes::Whole(least, most) | Takes::WholeOr(least, most, _) => format!("{least} to {most}"),
            Takes::Number(range) => range.words().into(),
            _ => String::new(),
        };
        Error::Config { key: self.key, problem: format!("is {value}, but must be {words}") }
    }

    /// Refuses a name that is not one of its choices.
    pub(crate) fn check_choice(&self, name: &str) -> Result<()> {
        let (Takes::Choice(list) | Takes::Units(list)) = self.takes else { return Ok(()) };
        let known: Vec<&str> = list().iter().map(|c| c.0).collect();
        if known.contains(&name) {
            return Ok(());
        }
        Err(Error::Config { key: self.key, problem: format!("'{name}' is not one of {}", known.join(", ")) })
    }
}

/// The setting with this key.
pub fn find(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|s| s.key == key)
}

/// Refuses numbers outside the ranges of their settings.
pub(crate) fn check_all(values: &[(&str, Option<f64>)]) -> Result<()> {
    values.iter().try_for_each(|(key, x)| match (find(key), x) {
        (Some(setting), Some(x)) => setting.check(*x),
        _ => Ok(()),
    })
}

fn kinds() -> Choices {
    Kind::LIST.to_vec()
}

/// Interaction terms without offsets, see NOTATION.md.
fn headers() -> Choices {
    Header::LIST.iter().map(|h| (h.0, h.2)).collect()
}

fn unseen() -> Choices {
    Unseen::LIST.iter().map(|u| (u.0, u.2)).collect()
}

fn couplings() -> Choices {
    let about = |name| match name {
        "cho" => "v W h / sigma^2",
        "krizhevsky" => "v W h / sigma",
        "goodfellow" => "(v - a) W h / sigma^2",
        _ => "",
    };
    Coupling::LIST.iter().map(|c| (c.0, about(c.0))).collect()
}

/// Hidden Gaussian units take no Goodfellow coupling.
fn hidden_couplings() -> Choices {
    couplings().into_iter().filter(|c| c.0 != "goodfellow").collect()
}

fn starts() -> Choices {
    Start::LIST.iter().map(|s| (s.1, s.2)).collect()
}

fn methods() -> Choices {
    estimators::<f32>().map(|e| (e.name, e.about)).to_vec()
}

fn keeps() -> Choices {
    Keep::LIST.to_vec()
}

fn optimizer_names() -> Choices {
    optimizers::<f32>().map(|o| (o.name, o.about)).to_vec()
}

fn schedules() -> Choices {
    let about = |schedule| match schedule {
        Schedule::Constant => "the same for all updates",
        Schedule::Step => "divided by 10 at half of the run and by 100 at three quarters",
        Schedule::Cosine => "falls to 0 along a cosine",
        Schedule::Inverse => "falls to a tenth, as 1/(1 + 9t), where t goes from 0 to 1",
    };
    Schedule::LIST.iter().map(|s| (s.0, about(s.1))).collect()
}

/// A row with what most rows have.
const fn row(key: &'static str, flag: &'static str, group: Group, takes: Takes, about: &'static str) -> Setting {
    let python = if flag.is_empty() { None } else { Some(flag) };
    Setting { key, flag: python, python, group, takes, about, more: "", usual: "", only_with: &[] }
}

impl Setting {
    const fn python(self, name: &'static str) -> Setting {
        Setting { python: if name.is_empty() { None } else { Some(name) }, ..self }
    }
    const fn usual(self, usual: &'static str) -> Setting {
        Setting { usual, ..self }
    }
    const fn more(self, more: &'static str) -> Setting {
        Setting { more, ..self }
    }
    const fn only_with(self, only_with: &'static [OnlyWith]) -> Setting {
        Setting { only_with, ..self }
    }
}

/// Updates and rows beyond this are a mistake.
const MANY: i64 = MOST_COUNT as i64;
/// So are sweeps; times the number of updates they can still be counted.
const MOST_SWEEPS: i64 = 1 << 20;
/// Chains, rows of a batch or hidden units beyond this are a mistake.
const MOST_UNITS: i64 = 1 << 24;

/// What a coupling is.
const BLOCKS: &str = "Units of several kinds are a list of blocks, KIND(OPTION=VALUE)*UNITS, in the order of the columns, such as \
    'bernoulli*10,potts(states=5)*3,gaussian*4'.";
const COUPLING: &str = "A coupling is the way the standard deviation sigma of Gaussian units enters the interaction v W h (see \
                        NOTATION.md); keep cho if unsure.";

/// The table, in the order of help and of config.toml.
#[rustfmt::skip] // one setting per row
pub const SETTINGS: &[Setting] = &[
    row("data.source", "DATA", Group::Data, Takes::Text("DATA"), "Data: a file, or builtin:NAME").python(""),
    row("data.skip_rows", "skip-rows", Group::Data, Takes::Whole(0, MANY), "Lines to skip at the top of a text file").python(""),
    row("data.header", "header", Group::Data, Takes::Choice(headers), "What the first line of a text file is").python(""),
    row("data.columns", "columns", Group::Data, Takes::Text("LIST"), "Columns to use: numbers and ranges from 1, or names").python("")
        .usual("all").more("For text and Parquet files, such as 1-4,7."),
    row("data.label_column", "label-column", Group::Data, Takes::Text("COLUMN"), "Column to leave out").python("")
        .usual("none").more("first, last, a number from 1, or a name; for text and Parquet files."),
    row("data.column", "column", Group::Data, Takes::Texts("NAME=KIND"), "Kind of a column: a kind of visible units, or ignore").python("columns")
        .usual("as the column looks").more("May be given several times. potts reads all cells of the column as words; ignore leaves the column out. \
               A column without a name has its number, from 1."),
    row("data.schema", "schema", Group::Data, Takes::Text("FILE"), "Kinds and categories of columns, as harmonium schema writes them")
        .usual("as the columns look").more("Columns that the file does not name are described as they look. auto describes all columns so."),
    row("data.unseen", "unseen", Group::Data, Takes::Choice(unseen), "What to do with words that are not among the categories"),
    row("data.alphabet", "alphabet", Group::Data, Takes::Text("LETTERS"), "Alphabet of sequence data: protein, rna, dna, or its letters").python("")
        .usual("detected in FASTA files"),
    row("data.weights", "weights", Group::Data, Takes::Text("FILE|HOW"), "Row weights: a file of one column, similarity:F, or none").python("")
        .usual("none; similarity:0.8 for FASTA files")
        .more("similarity:0.8 gives a row the weight 1/n if n rows (itself included) agree with it in at least 80 % of the columns."),
    row("data.valid", "valid", Group::Data, Takes::Text("FILE"), "File of held-out rows").python("").usual("none"),
    row("data.valid_fraction", "valid-fraction", Group::Data, Takes::Number(Range::BelowOne), "Fraction of the rows to hold out, chosen at random")
        .python("validation_fraction").usual("0.1 if there are at least 1,000 rows, otherwise 0 (none)").more("The random seed decides which rows."),
    row("data.binarize", "binarize", Group::Data, Takes::Text("HOW"), "How to turn values between 0 and 1 into 0 or 1")
        .more("auto: as in the model to start from, if there is one; otherwise threshold:0.5 if the units are Bernoulli and some value lies strictly between \
               0 and 1. none: keep values as probabilities of a 1. threshold:T: 1 above T, otherwise 0. sample: draw a 1 with the value as \
               its probability."),
    row("data.standardize", "standardize", Group::Data, Takes::YesOrNo("no-standardize"), "Give every column mean 0 and standard deviation 1")
        .usual("for continuous units").more("The model file stores the means and scales; samples, filled cells and likelihoods are on the scale of the data."),
    row("data.missing", "missing", Group::Data, Takes::YesOrNo("no-missing"), "Treat empty, NaN, NA and ? cells as missing")
        .usual("yes").more("Missing cells are summed out of the likelihood. If this is off, they are an error."),
    row("data.image", "image", Group::Data, Takes::Text("HxW"), "Height and width of the rows as images, for the report")
        .usual("that of the file, or a square if the number of columns is a square number of at least 64"),
    row("model.visible", "visible", Group::Model, Takes::Units(kinds), "Kind of visible units")
        .usual("for tables with names or words, a kind for each column; else bernoulli; potts for sequences; built-in data sets have their own").more(BLOCKS),
    row("model.coupling", "coupling", Group::Model, Takes::Choice(couplings), "Coupling of Gaussian visible units").usual("cho")
        .more(COUPLING),
    row("model.states", "states", Group::Model, Takes::Whole(2, 65_536), "Number of states of Potts visible units")
        .usual("letters of the alphabet, or the largest code + 1"),
    row("model.hidden", "hidden", Group::Model, Takes::Units(kinds), "Kind of hidden units (for their number see n_hidden)")
        .usual("bernoulli; gaussian for up to 32 continuous columns with missing cells").more(BLOCKS),
    row("model.hidden_coupling", "hidden-coupling", Group::Model, Takes::Choice(hidden_couplings), "Coupling of Gaussian hidden units")
        .python("hidden_coupling").usual("cho").more(COUPLING),
    row("model.hidden_states", "hidden-states", Group::Model, Takes::Whole(2, 65_536), "Number of states of Potts hidden units")
        .python("hidden_states").usual("none"),
    row("model.n_hidden", "n-hidden", Group::Model, Takes::Whole(1, MOST_UNITS), "Number of hidden units").python("n_hidden")
        .usual("4 per column or 1 per 100 rows, whichever is more, from 16 to 256; continuous columns: 16 for up to 64 columns without missing cells, \
                else 1 per column; if the hidden units are Gaussian too, the number that fits left-out rows best, or with missing cells 1 less than columns"),
    row("model.start", "start", Group::Model, Takes::Choice(starts), "Where learning begins")
        .usual("factors for continuous columns if the hidden units are Gaussian, or binary, at most 16 and no cell is missing; else independent"),
    row("model.init", "init", Group::Model, Takes::Text("MODEL"), "Model file to start from").usual("none")
        .more("Unit kinds, layer sizes and preprocessing are taken from that model and cannot be set by options."),
    row("train.seed", "", Group::Run, Takes::Whole(0, i64::MAX), "Seed of all random numbers").python("random_state"),
    row("train.method", "method", Group::Learning, Takes::Choice(methods), "How the model's side of the gradient (negative phase) is estimated")
        .usual("pt, or pcd for large models; exact for very small models, and for continuous data with up to 16 binary hidden units"),
    row("train.gibbs_steps", "gibbs-steps", Group::Learning, Takes::Whole(1, MOST_SWEEPS), "Gibbs sweeps per update")
        .python("gibbs_steps").usual("1; 5 for large models").only_with(&[("train.method", &["pcd", "cd", "pt", "wpcd"])]),
    row("train.chains", "chains", Group::Learning, Takes::Whole(1, MOST_UNITS), "Number of persistent chains")
        .python("n_chains").usual("100; 200 for large models").only_with(&[("train.method", &["pcd", "pt", "wpcd"])]),
    row("train.temperatures", "temperatures", Group::Learning, Takes::Whole(2, 1000), "Number of temperatures of parallel tempering")
        .python("n_temperatures").only_with(&[("train.method", &["pt"])]),
    row("train.batch_size", "batch-size", Group::Learning, Takes::Whole(1, MOST_UNITS), "Rows per update").python("batch_size")
        .usual("100; 200 for large models; all rows, at most 2,000, with the exact gradient and start factors"),
    row("epochs", "epochs", Group::Learning, Takes::Number(Range::NotNegative), "Passes through the data, instead of updates")
        .usual("300 epochs, but at least 40,000 (exact gradient: 10,000) and at most 80,000 updates; fewer for large models, but at least 10 epochs"),
    row("time", "time", Group::Learning, Takes::Number(Range::Positive), "Seconds to train for, instead of updates")
        .usual("none").more("Trial updates are timed before the run. The number of updates is recorded in config.toml; a run with that number of updates \
                             gives the same model."),
    row("train.updates", "updates", Group::Learning, Takes::Whole(0, MANY), "Number of updates").python("updates")
        .usual("as for epochs; up to 10,000 with the exact gradient and start factors; 0 if both layers are Gaussian: the start is already optimal"),
    row("train.lr", "lr", Group::Learning, Takes::Number(Range::Positive), "Learning rate").python("learning_rate")
        .usual("0.003; 0.005 with the exact gradient, with sgd, or if you give the method; 0.03 with the exact gradient and start factors")
        .more("With sgd it multiplies the gradient of the mean log likelihood; with adam it is about the size of a step. If you give a rate without a schedule, it stays constant."),
    row("train.max_drift", "max-drift", Group::Learning, Takes::Number(Range::Positive), "Limit of the model's change per update, in nats")
        .python("max_drift").usual("0.3; none if a method or a learning rate is given").only_with(&[("train.method", &["pt", "wpcd"])])
        .more("The learning rate is lowered while the KL divergence between the models before and after an update exceeds this."),
    row("train.quick_start", "quick-start", Group::Learning, Takes::Whole(0, MANY), "First updates, made fast: one sweep, no tempering, larger rate")
        .python("quick_start").usual("a fortieth of the updates; 0 for large models, or if a method or a learning rate is given").only_with(&[("train.method", &["pcd", "pt", "wpcd"])])
        .more("The rate rises to 8 times the learning rate as long as an update changes the model by less than 0.04 nats, and falls back along the quick start."),
    row("train.schedule", "schedule", Group::Learning, Takes::Choice(schedules), "How the learning rate falls")
        .usual("cosine; constant if a learning rate is given"),
    row("train.optimizer.name", "optimizer", Group::Learning, Takes::Choice(optimizer_names), "Optimizer"),
    row("train.optimizer.momentum", "momentum", Group::Learning, Takes::Number(Range::BelowOne), "Momentum of sgd, or beta 1 of adam"),
    row("train.optimizer.nesterov", "nesterov", Group::Learning, Takes::Switch(true), "Nesterov momentum (sgd)")
        .only_with(&[("train.optimizer.name", &["sgd"])]),
    row("train.variance_rate", "variance-rate", Group::Learning, Takes::Number(Range::NotNegative), "Learning rate of Gaussian log-variances, as a multiple of the main one")
        .python("variance_rate").only_with(&[("model.visible", &["gaussian"]), ("model.hidden", &["gaussian"])]),
    row("train.centering", "no-centering", Group::Learning, Takes::Switch(false), "Centering (measuring each unit from its running mean)")
        .python("centering"),
    row("train.offset_rate", "", Group::Learning, Takes::Number(Range::BelowOne), "How fast the running means (offsets) follow the units"),
    row("train.average", "average", Group::Learning, Takes::Number(Range::BelowOne), "Average the parameters over this last part of the updates")
        .python("average").usual("0.1; none if a method is given, or the gradient is exact")
        .more("Single updates are noisy; their average fits better at any time of a run. 0 is the model of the last update."),
    row("train.keep", "keep", Group::Learning, Takes::Choice(keeps), "Which model of the run is the result")
        .usual("best with held-out rows, else last"),
    row("train.early_stop", "early-stop", Group::Learning, Takes::WholeOr(1, MANY, "10"), "Stop after N measurements without improvement on held-out rows")
        .python("early_stopping").usual("off; N is 10 if left out").more("The likelihood of the held-out rows is compared, and the best model is kept."),
    row("train.penalty.l1", "l1", Group::Penalties, Takes::Number(Range::NotNegative), "L1 penalty: weight of the sum of |W|"),
    row("train.penalty.l2", "l2", Group::Penalties, Takes::Number(Range::NotNegative), "Weight decay: weight of half the sum of W²")
        .usual("4/rows × min(1, hidden units/256) × max(1, √(columns/100)); 0 with the exact gradient, or if you give the method or an L1 penalty"),
    row("train.penalty.max_norm", "max-norm", Group::Penalties, Takes::Number(Range::Positive), "Largest norm of a hidden unit's weights")
        .python("max_norm").usual("none"),
    row("train.penalty.sparsity", "sparsity", Group::Penalties, Takes::Number(Range::Finite), "Target for the mean activity of hidden units").usual("none"),
    row("train.penalty.sparsity_cost", "sparsity-cost", Group::Penalties, Takes::Number(Range::NotNegative), "Weight of the sparsity penalty")
        .python("sparsity_cost").usual("0.1 with a sparsity target, else 0").only_with(&[("train.penalty.sparsity", &[])]),
    row("train.penalty.clip", "clip", Group::Penalties, Takes::Number(Range::Positive), "Clip the gradient to this norm").usual("none"),
    row("train.likelihood", "likelihood", Group::Run, Takes::Auto, "Whether to measure the likelihood, while training and at the end")
        .more("auto: yes, exactly if that is cheap, otherwise by an estimate where one can be trusted. none: no."),
    row("train.report_every", "report-every", Group::Run, Takes::Whole(1, MANY), "Updates between measurements").python("report_every"),
    row("checkpoint_every", "checkpoint-every", Group::Run, Takes::Whole(1, MANY), "Updates between checkpoints (does not change the result)")
        .python("checkpoint_every"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_help_lines_are_short() {
        for (k, setting) in SETTINGS.iter().enumerate() {
            let same = |other: &Setting| {
                other.key == setting.key
                    || (other.flag.is_some() && other.flag == setting.flag)
                    || (other.python.is_some() && other.python == setting.python)
            };
            assert!(!SETTINGS[..k].iter().any(same), "{} is there twice", setting.key);
            assert!(setting.about.chars().count() <= 70, "{}: {}", setting.key, setting.about);
            for (other, values) in setting.only_with {
                let other = find(other).unwrap();
                assert!(values.iter().all(|v| other.check_choice(v).is_ok()), "{}", setting.key);
            }
            assert!(setting.python.is_none_or(|p| !p.contains('-')), "{}", setting.key);
        }
    }

    #[test]
    fn numbers_outside_a_range_are_refused_by_name() {
        let refused = |key, x| find(key).unwrap().check(x).unwrap_err().to_string();
        assert_eq!(refused("train.lr", -1.0), "lr is -1, but must be a number above 0");
        assert_eq!(refused("train.temperatures", 1.0), "temperatures is 1, but must be 2 to 1000");
        assert_eq!(refused("train.batch_size", 0.0), "batch_size is 0, but must be 1 to 16777216");
        assert!(refused("train.penalty.clip", f64::NAN).contains("is NaN"));
        assert!(find("train.penalty.sparsity").unwrap().check(0.1).is_ok());
    }
}
