//! Conversion of the library's errors: OSError for files, ArithmeticError for failed runs, ValueError for the rest.

use harmonium::run::MEMORY;
use harmonium::{Advice, Error, settings};
use pyo3::PyErr;
use pyo3::exceptions::{PyArithmeticError, PyFileNotFoundError, PyOSError, PyValueError};
use std::borrow::Cow;
use std::io::ErrorKind;

/// The name of a setting in Python.
pub fn name(key: &str) -> String {
    match settings::find(key) {
        Some(setting) if setting.key == "data.source" => "X".into(),
        Some(setting) => setting.python.unwrap_or(setting.name()).into(),
        None if key == "chains" => "n_chains".into(),
        None => key.replace('-', "_"),
    }
}

/// The library's advice in words, with the names of Python's arguments; empty for none.
pub fn words(advice: &[Advice]) -> String {
    let kind = |a: &Advice| match a {
        Advice::VisibleKind(kind) => Some(format!("'{kind}'")),
        _ => None,
    };
    let kinds: Vec<String> = advice.iter().filter_map(kind).collect();
    let rest: Vec<Advice> = advice.iter().copied().filter(|a| kind(a).is_none()).collect();
    match (kinds.is_empty(), rest.is_empty()) {
        (true, _) => Advice::join(&rest, phrase),
        (false, true) => format!("use visible={}", kinds.join(" or ")),
        (false, false) => format!("use visible={}, or {}", kinds.join(" or "), Advice::join(&rest, phrase)),
    }
}

/// A problem and what to do about it.
pub fn sentence(problem: &str, advice: &[Advice]) -> String {
    harmonium::advice::sentence(problem, &words(advice))
}

fn phrase(advice: Advice) -> Cow<'static, str> {
    let text = match advice {
        Advice::LongerBurnIn => "increase burn_in",
        Advice::LargerThin => "increase thin",
        Advice::TemperedSampler => "use sampler='tempering'",
        Advice::MoreChains => "increase n_chains",
        Advice::FewerChains => "draw more rows, or use a smaller n_chains",
        Advice::LongChains => "leave out steps= for chains that are checked",
        Advice::MoreTemperatures => "increase temperatures",
        Advice::GiveData => "pass the training rows as data",
        Advice::AllMethods => "use method='auto', which checks itself by several methods",
        Advice::MoreTime => "give it more time with time=",
        Advice::SmallerRate => "use a smaller learning_rate",
        Advice::CheckData => "check X for outliers",
        Advice::HoldOutRows => "give validation_data or validation_fraction",
        Advice::ColumnOfWords => "read all of its cells as words with columns={NAME: 'potts'}",
        Advice::OneKind => "use one kind of units for all columns, such as visible='gaussian'",
        Advice::UnseenWords => "treat unknown words as missing cells with unseen='missing'",
        Advice::LeaveOutColumn | Advice::ChooseColumns => "leave the column out of X",
        Advice::MissingCells => {
            "use missing=True to train on the known cells of each row (missing cells are summed out), or fill them with impute"
        }
        Advice::FillCells => "fill missing cells first with impute",
        Advice::Binarize => "use binarize='threshold:T' to turn values into 0 and 1",
        Advice::SpinsToBits => "turn -1 and 1 into 0 and 1 with (X + 1) / 2",
        Advice::BitsToSpins => "turn 0 and 1 into -1 and 1 with 2 * X - 1",
        Advice::OtherThreshold => "choose another threshold with binarize=",
        Advice::VisibleKind(kind) => return format!("use visible='{kind}'").into(),
        Advice::BuildWithFeature(feature) => return format!("build harmonium with --features {feature}").into(),
        Advice::ConvertFile => "convert the file to .npy",
        Advice::Resume => "continue with resume=True",
        Advice::Extend => "continue it with resume=True and more updates",
        Advice::OtherDirectory => "choose another output directory",
        Advice::StartFromModel => "start from its model with init=",
        Advice::OutputFile => "give a path",
        Advice::MeasureLikelihood => "train with the likelihood measured",
        Advice::FinishJudging => "ask for verdict_ again",
        Advice::MeasureLonger => "estimate log Z for longer with log_z(tolerance=0.1)",
        Advice::StopEarly => "stop earlier with early_stopping=10",
        Advice::WeightDecay => "use weight decay, such as l2=0.001",
        Advice::MoreRows => "train on more rows",
        Advice::MoreUpdates => "train longer, with a larger epochs",
        Advice::FewerHidden => "use a smaller n_hidden",
        Advice::HiddenAtMost(most) => return format!("use n_hidden={most} or less").into(),
        Advice::OtherMethod => "use another method",
        Advice::MoreHidden => "use a larger n_hidden",
        Advice::BinaryHidden => "use binary hidden units, hidden='bernoulli'",
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
        // Arrays have names of parameters, not paths.
        Error::Data { path, .. } if path.to_string_lossy().starts_with(MEMORY) => {
            error.plain().to_string().replacen(MEMORY, "", 1)
        }
        Error::Config { key, problem } => harmonium::error::with_subject(name(key), problem),
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
