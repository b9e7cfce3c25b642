//! The library's errors as Python's: OSError for files, ArithmeticError for runs that went wrong, ValueError for the rest.

use harmonium::{Advice, Error};
use pyo3::PyErr;
use pyo3::exceptions::{PyArithmeticError, PyFileNotFoundError, PyOSError, PyValueError};
use std::borrow::Cow;
use std::io::ErrorKind;

/// Settings that have another name in Python than in a configuration.
const NAMES: &[(&str, &str)] = &[
    ("lr", "learning_rate"),
    ("chains", "n_chains"),
    ("valid-fraction", "validation_fraction"),
    ("valid", "validation_fraction"),
    ("early-stop", "early_stopping"),
    ("data", "X"),
];

/// The name of a setting in Python.
fn name(key: &str) -> String {
    let other = NAMES.iter().find(|n| n.0 == key);
    other.map_or_else(|| key.replace('-', "_"), |n| n.1.into())
}

/// The library's advice in words, with the names of Python's arguments; empty for none.
pub fn words(advice: &[Advice]) -> String {
    let all: Vec<Cow<str>> = advice.iter().map(|a| phrase(*a)).collect();
    match all.split_last() {
        None => String::new(),
        Some((last, [])) => last.to_string(),
        Some((last, rest)) => format!("{}, or {last}", rest.join(", ")),
    }
}

/// A problem and what to do about it.
pub fn sentence(problem: &str, advice: &[Advice]) -> String {
    if advice.is_empty() { problem.into() } else { format!("{problem}; {}", words(advice)) }
}

fn phrase(advice: Advice) -> Cow<'static, str> {
    let text = match advice {
        Advice::LongerBurnIn => "increase burn_in",
        Advice::LargerThin => "increase thin",
        Advice::TemperedSampler => "use sampler='tempering'",
        Advice::MoreChains => "increase n_chains",
        Advice::MoreTemperatures => "increase temperatures",
        Advice::GiveData => "give rows like the training data as data",
        Advice::BothDirections => "use method='bar', which anneals in both directions",
        Advice::SmallerRate => "use a smaller learning_rate",
        Advice::CheckData => "check X for outliers",
        Advice::HoldOutRows => "give validation_fraction",
        Advice::LeaveOutColumn | Advice::ChooseColumns => "leave the column out of X",
        Advice::MissingCells => "use missing=True to treat NaN as unknown, or fill the cells with impute",
        Advice::Binarize => {
            "use binarize='threshold:T' to turn values into 0 and 1, or visible='gaussian' for real numbers"
        }
        Advice::VisibleKind(kind) => return format!("use visible='{kind}' (fits this data)").into(),
        Advice::BuildWithFeature(feature) => return format!("build harmonium with --features {feature}").into(),
        Advice::ConvertFile => "convert the file to .npy",
        Advice::Resume => "continue with resume=True",
        Advice::MeasureLikelihood => "train with the likelihood measured",
        Advice::StopEarly => "stop earlier with early_stopping=10",
        Advice::WeightDecay => "use weight decay, such as l2=0.001",
        Advice::MoreRows => "train on more rows",
        Advice::MoreUpdates => "train for more epochs",
        Advice::FewerHidden => "use a smaller n_hidden",
        Advice::MoreHidden => "use a larger n_hidden",
        Advice::SparseHidden => "activate idle hidden units with sparsity=0.1",
        Advice::TemperedTraining => "train with method='pt'",
        Advice::MoreGibbsSteps => "increase gibbs_steps",
        _ => "",
    };
    text.into()
}

/// The exception for an error.
pub fn exception(error: Error) -> PyErr {
    let text = match error.plain() {
        Error::RowWeights(problem) => format!("sample_weight: {problem}"),
        Error::Config { key, problem } => format!("{}: {problem}", name(key)),
        other => other.to_string(),
    };
    let text = sentence(&text, error.advice());
    match error.plain() {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Diverged { .. } => PyArithmeticError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
