//! What to do about an error or a doubtful result, as data. Each front end words it with the names of its own options.

use std::borrow::Cow;

/// Makes the enum and [`Advice::ALL`] from one list; an example follows the variants with a value.
macro_rules! advice {
    ($($(#[$about:meta])* $name:ident $(($value:ty) = $example:literal)?,)*) => {
        /// One thing to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Advice {
            $($(#[$about])* $name $(($value))?,)*
        }

        impl Advice {
            /// One of each, so that a front end can test that it has words for all.
            pub const ALL: &[Advice] = &[$(Advice::$name $(($example))?,)*];
        }
    };
}

advice! {
    /// Run more sweeps before the first row is taken.
    LongerBurnIn,
    /// Run more sweeps between two rows of a chain.
    LargerThin,
    /// Sample by parallel tempering.
    TemperedSampler,
    /// Run more chains.
    MoreChains,
    /// Draw more rows, or fewer chains with more rows each.
    FewerChains,
    /// Draw many rows from every chain instead of a single one after a few sweeps, so that convergence is checked.
    LongChains,
    /// Use more temperatures.
    MoreTemperatures,
    /// Give rows like the training data to an estimate of log Z.
    GiveData,
    /// Estimate log Z by the default method, which checks itself by several others.
    AllMethods,
    /// Give an estimate of log Z more time.
    MoreTime,
    /// Train with a smaller learning rate.
    SmallerRate,
    /// Check the data for outliers and wrong values.
    CheckData,
    /// Hold out some rows.
    HoldOutRows,
    /// Leave this column out of the data.
    LeaveOutColumn,
    /// Choose the columns to read.
    ChooseColumns,
    /// Read all cells of this column as words.
    ColumnOfWords,
    /// Use units of one kind for all columns.
    OneKind,
    /// Treat words that the model does not know as missing.
    UnseenWords,
    /// Treat missing cells as unknown, or fill them first.
    MissingCells,
    /// Fill missing cells first.
    FillCells,
    /// Binarise the data.
    Binarize,
    /// Binarise the data by another threshold.
    OtherThreshold,
    /// Use visible units of this kind, which take every value of the data.
    VisibleKind(&'static str) = "gaussian",
    /// Turn −1 and +1 into 0 and 1.
    SpinsToBits,
    /// Turn 0 and 1 into −1 and +1.
    BitsToSpins,
    /// Build the program with this feature.
    BuildWithFeature(&'static str) = "parquet",
    /// Convert the file to `.npy`.
    ConvertFile,
    /// Continue an unfinished run.
    Resume,
    /// Continue a finished run with more updates.
    Extend,
    /// Choose another output directory.
    OtherDirectory,
    /// Start a new run from the model of this one.
    StartFromModel,
    /// Write to a file instead.
    OutputFile,
    /// Train with the likelihood measured.
    MeasureLikelihood,
    /// Complete the judgement of a trained model.
    FinishJudging,
    /// Estimate log Z for longer.
    MeasureLonger,
    /// Stop when the held-out rows no longer improve.
    StopEarly,
    /// Use weight decay.
    WeightDecay,
    /// Train on more rows.
    MoreRows,
    /// Train for more updates.
    MoreUpdates,
    /// Use fewer hidden units.
    FewerHidden,
    /// Use at most so many hidden units.
    HiddenAtMost(u32) = 30,
    /// Estimate the negative phase by another method.
    OtherMethod,
    /// Use more hidden units.
    MoreHidden,
    /// Use binary hidden units.
    BinaryHidden,
    /// Pull the hidden units to a target activity.
    SparseHidden,
    /// Estimate the negative phase by parallel tempering.
    TemperedTraining,
    /// Run more Gibbs sweeps per update.
    MoreGibbsSteps,
}

impl Advice {
    /// Several pieces of advice as one phrase, each worded by `phrase`; empty for none.
    pub fn join(advice: &[Advice], phrase: impl Fn(Advice) -> Cow<'static, str>) -> String {
        let all: Vec<Cow<str>> = advice.iter().map(|a| phrase(*a)).collect();
        match all.split_last() {
            None => String::new(),
            Some((last, [])) => last.to_string(),
            Some((last, rest)) => format!("{}, or {last}", rest.join(", ")),
        }
    }
}

/// A problem and, if there is some, the advice about it in words.
pub fn sentence(problem: &str, advice: &str) -> String {
    if advice.is_empty() { problem.into() } else { format!("{problem}; {advice}") }
}

/// A result that should not be trusted: why, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Why, in one sentence.
    pub problem: String,
    /// What to do, the most useful first.
    pub advice: Vec<Advice>,
}
