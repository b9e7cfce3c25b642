//! The library's advice in words, with the names of the command's options.

use harmonium::Advice;
use harmonium::logz::LogZ;
use std::borrow::Cow;
use std::sync::OnceLock;

static COMMAND: OnceLock<String> = OnceLock::new();

/// Sets the command that is running: options have other names in some commands.
pub fn set_command(name: &str) {
    let _ = COMMAND.set(name.into());
}

/// Several pieces of advice as one phrase; empty for none.
pub fn words(advice: &[Advice]) -> String {
    words_with(advice, None)
}

/// The same with the command that estimates log Z for longer, where it is known.
pub fn words_with(advice: &[Advice], longer: Option<&str>) -> String {
    let command = COMMAND.get().map_or("", String::as_str);
    // Only `log-z` has --data; the other commands use their rows without being asked.
    let possible = |a: &Advice| *a != Advice::GiveData || ["log-z", ""].contains(&command);
    // Kinds of units become one phrase, in the place of the first.
    let kinds: Vec<&str> = advice.iter().filter_map(visible_kind).collect();
    let first = |a: &Advice| visible_kind(a).is_none_or(|kind| kinds.first() == Some(&kind));
    let advice: Vec<Advice> = advice.iter().copied().filter(|a| possible(a) && first(a)).collect();
    Advice::join(&advice, |a| match a {
        Advice::VisibleKind(_) => format!("use --visible {}", kinds.join(" or ")).into(),
        Advice::MoreTime | Advice::MeasureLonger if longer.is_some() => {
            format!("spend more time on it with `{}`", longer.unwrap_or_default()).into()
        }
        other => phrase(other, command),
    })
}

fn visible_kind(advice: &Advice) -> Option<&'static str> {
    if let Advice::VisibleKind(kind) = advice { Some(kind) } else { None }
}

/// A problem and what to do about it.
pub fn sentence(problem: &str, advice: &[Advice]) -> String {
    harmonium::advice::sentence(problem, &words(advice))
}

/// The verdict on an estimate of log Z, why, and what to do; none if the verdict alone is all there is to report.
pub fn explanation(z: &LogZ) -> Option<String> {
    harmonium_report::explanation(z, &words)
}

fn phrase(advice: Advice, command: &str) -> Cow<'static, str> {
    let text = match advice {
        Advice::LongerBurnIn => "increase --burn-in",
        Advice::LargerThin => "increase --thin",
        Advice::TemperedSampler => "use --sampler tempering",
        Advice::MoreChains => "increase --chains",
        Advice::FewerChains => "draw more rows with -n, or use fewer --chains",
        Advice::LongChains => "leave out --steps for chains that are checked",
        Advice::MoreTemperatures => "increase --temperatures",
        Advice::GiveData => "pass the training rows with --data",
        Advice::AllMethods if command == "evaluate" => "use --log-z auto, which checks itself by several methods",
        Advice::AllMethods => "use --method auto, which checks itself by several methods",
        Advice::MoreTime if ["train", "demo", "report"].contains(&command) => {
            return phrase(Advice::MeasureLonger, command);
        }
        Advice::MoreTime => "allow more work with --work, or more time with --time",
        Advice::SmallerRate => "use a smaller --lr",
        Advice::CheckData => "check the data for outliers",
        Advice::HoldOutRows => "give --valid or --valid-fraction",
        Advice::LeaveOutColumn if ["train", "schema"].contains(&command) => {
            "leave the column out with --column NAME=ignore"
        }
        Advice::LeaveOutColumn => "leave the column out with --label-column",
        Advice::ColumnOfWords => "read all cells of the column as words with --column NAME=potts",
        Advice::OneKind => "use units of one kind for all columns with --visible KIND",
        Advice::UnseenWords => "treat unknown words as missing with --unseen missing",
        Advice::ChooseColumns => "choose the columns to read with --columns",
        Advice::MissingCells if command == "train" => {
            "leave out --no-missing to train on the known cells of each row (missing cells are summed out)"
        }
        Advice::MissingCells if command == "evaluate" => "leave out --no-missing to sum missing cells out",
        Advice::MissingCells => "fill missing cells first with harmonium impute",
        Advice::FillCells => "fill missing cells first with harmonium impute",
        Advice::Binarize => "use --binarize threshold:T to turn values into 0 and 1",
        Advice::OtherThreshold => "choose another threshold with --binarize",
        Advice::SpinsToBits => "use --binarize threshold:0 to turn -1 and 1 into 0 and 1",
        Advice::BitsToSpins => "write 0 as -1",
        Advice::BuildWithFeature(feature) => return format!("build harmonium with --features {feature}").into(),
        Advice::ConvertFile => "convert the file to .npy",
        Advice::Resume => "continue with --resume",
        Advice::OtherDirectory => "choose another directory",
        Advice::Extend => "continue it with --resume and a larger --updates",
        Advice::StartFromModel => "start a new run from its model with --init",
        Advice::OutputFile => "give -o FILE",
        Advice::MeasureLikelihood => "train without --likelihood none",
        Advice::FinishJudging => "complete the judgement",
        Advice::MeasureLonger => "estimate log Z for longer with harmonium report and a larger --time",
        Advice::StopEarly => "stop earlier with --early-stop 10",
        Advice::WeightDecay => "use weight decay, such as --l2 0.001",
        Advice::MoreRows => "train on more rows",
        Advice::MoreUpdates => "train longer with --updates",
        Advice::FewerHidden => "use fewer hidden units (--n-hidden)",
        Advice::HiddenAtMost(most) => return format!("use at most {most} hidden units (--n-hidden)").into(),
        Advice::OtherMethod => "use another --method",
        Advice::MoreHidden => "use more hidden units (--n-hidden)",
        Advice::BinaryHidden => "use binary hidden units (--hidden bernoulli)",
        Advice::SparseHidden => "activate idle hidden units with --sparsity 0.1",
        Advice::TemperedTraining => "train with --method pt",
        Advice::MoreGibbsSteps => "increase --gibbs-steps",
        _ => "",
    };
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_advice_has_words_and_several_make_one_phrase() {
        for advice in Advice::ALL {
            assert!(!words(&[*advice]).is_empty(), "{advice:?}");
        }
        let both = [Advice::LongerBurnIn, Advice::LargerThin, Advice::TemperedSampler];
        assert_eq!(words(&both[..2]), "increase --burn-in, or increase --thin");
        assert_eq!(words(&both), "increase --burn-in, increase --thin, or use --sampler tempering");
        assert_eq!((words(&[]), sentence("why", &[])), (String::new(), "why".into()));
    }
}
