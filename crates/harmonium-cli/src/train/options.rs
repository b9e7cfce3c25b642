//! The options of `harmonium train`, made from the library's table of settings.

use crate::args::{Global, data_help};
use anyhow::{Context, Result};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use harmonium::Error;
use harmonium::run::{Length, Spec, put};
use harmonium::settings::{Group, SETTINGS, Setting, Takes};
use toml::{Table, Value};

/// The settings that were typed.
#[derive(Clone, Default)]
pub struct SettingArgs {
    /// By their keys in config.toml.
    pub asked: Table,
    /// `--epochs` or `--time`, which are no keys of config.toml.
    pub length: Option<Length>,
}

impl SettingArgs {
    /// Adds a setting.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        put(&mut self.asked, key, value.into());
    }

    /// Adds the seed, if it was typed and config.toml can hold it.
    pub fn set_seed(&mut self, global: &Global) -> Result<()> {
        if let Some(seed) = global.seed {
            let too_large = "the seed of a run may be at most 9223372036854775807, which config.toml can hold";
            self.set("train.seed", i64::try_from(seed).context(too_large)?);
        }
        Ok(())
    }
}

/// Options that the model of `--init` decides.
fn conflicts(key: &str) -> Vec<&'static str> {
    match key {
        "epochs" => vec!["train.updates", "time"],
        "time" => vec!["train.updates"],
        "data.valid" => vec!["data.valid_fraction"],
        "data.column" | "data.schema" => vec!["model.visible", "model.states", "model.coupling", "model.init"],
        "model.init" => {
            let decided = |s: &&Setting| s.group == Group::Model && s.key != "model.init";
            SETTINGS.iter().filter(decided).map(|s| s.key).chain(["data.standardize"]).collect()
        }
        _ => Vec::new(),
    }
}

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        Group::LIST.iter().fold(command, |command, (group, heading)| {
            let own = SETTINGS.iter().filter(|s| s.group == *group && s.flag.is_some());
            own.fold(command, |command, setting| {
                command.arg(argument(setting, heading)).args(opposite(setting, heading))
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingArgs, clap::Error> {
        let mut typed = SettingArgs::default();
        for setting in SETTINGS.iter().filter(|s| s.flag.is_some()) {
            let value = match setting.takes {
                Takes::Switch(on) => matches.get_flag(setting.key).then_some(Value::Boolean(on)),
                Takes::YesOrNo(no) => {
                    let yes = matches.get_flag(setting.key);
                    (yes || matches.get_flag(no)).then_some(Value::Boolean(yes))
                }
                Takes::Texts(_) => {
                    matches.get_many::<Value>(setting.key).map(|all| Value::Array(all.cloned().collect()))
                }
                _ => matches.get_one::<Value>(setting.key).cloned(),
            };
            match value {
                Some(value) if Length::KEYS.contains(&setting.key) => {
                    typed.length = value.as_float().and_then(|x| Length::of(setting.key, x));
                }
                Some(value) => typed.set(setting.key, value),
                None => (),
            }
        }
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(setting: &'static Setting, heading: &'static str) -> Arg {
    let flag = setting.flag.unwrap_or_default();
    let arg = Arg::new(setting.key).conflicts_with_all(conflicts(setting.key)).help(help(setting));
    if flag == "DATA" {
        return arg.value_name("DATA").help_heading("Arguments").help(data_help()).value_parser(parser(setting));
    }
    let more = format!("{}{}{}", help(setting), if setting.more.is_empty() { "" } else { "\n\n" }, setting.more);
    let arg = arg.long(flag).help_heading(heading).long_help(more);
    match setting.takes {
        Takes::Switch(_) | Takes::YesOrNo(_) => arg.action(ArgAction::SetTrue),
        Takes::Choice(list) => {
            let names = list().into_iter().map(|(name, about)| match about.is_empty() {
                true => PossibleValue::new(name),
                false => PossibleValue::new(name).help(about),
            });
            let text = |name: String| Value::String(name);
            arg.value_name("NAME").value_parser(PossibleValuesParser::new(names).map(text))
        }
        Takes::Auto => {
            let parser = PossibleValuesParser::new(["auto", "none"]);
            arg.value_name("WHEN").value_parser(parser.map(|when| Value::Boolean(when == "auto")))
        }
        Takes::WholeOr(_, _, usual) => {
            arg.value_name("N").num_args(0..=1).default_missing_value(usual).value_parser(parser(setting))
        }
        Takes::Units(list) => {
            let kinds: Vec<String> = list().iter().map(|(name, about)| format!("- {name}: {about}")).collect();
            let more = format!("{}\n\n{}\n\nKinds:\n{}", help(setting), setting.more, kinds.join("\n"));
            arg.value_name("KIND").long_help(more).value_parser(parser(setting))
        }
        Takes::Whole(..) => arg.value_name("N").allow_negative_numbers(true).value_parser(parser(setting)),
        Takes::Number(_) => arg.value_name("X").allow_negative_numbers(true).value_parser(parser(setting)),
        Takes::Text(name) => arg.value_name(name).value_parser(parser(setting)),
        Takes::Texts(name) => arg.value_name(name).action(ArgAction::Append).value_parser(parser(setting)),
    }
}

/// The option that says no to a setting that may be left to the data.
fn opposite(setting: &'static Setting, heading: &'static str) -> Option<Arg> {
    let Takes::YesOrNo(no) = setting.takes else { return None };
    let arg = Arg::new(no).long(no).help_heading(heading).action(ArgAction::SetTrue).conflicts_with(setting.key);
    Some(arg.help(format!("Do not {}{}", setting.about[..1].to_lowercase(), &setting.about[1..])))
}

/// The sentence of a setting, and its default.
fn help(setting: &Setting) -> String {
    let about = match setting.takes {
        Takes::Switch(false) => format!("Turn off {}{}", setting.about[..1].to_lowercase(), &setting.about[1..]),
        _ => setting.about.replace("n_hidden", "--n-hidden"),
    };
    let is_switch = matches!(setting.takes, Takes::Switch(_) | Takes::YesOrNo(_));
    let default = match (setting.usual, Spec::default_of(setting.key)) {
        ("", Some(Value::String(text))) => text,
        ("", Some(Value::Boolean(true))) if !is_switch => "auto".into(),
        ("", Some(value)) if !is_switch => value.to_string(),
        (usual, _) => usual.replace("start factors", "--start factors"),
    };
    if default.is_empty() { about } else { format!("{about} [default: {default}]") }
}

/// Reads a value as the library would read it from config.toml, with the library's refusals.
fn parser(setting: &'static Setting) -> impl Fn(&str) -> Result<Value, String> + Clone {
    move |text: &str| {
        let value = match setting.takes {
            Takes::Whole(..) | Takes::WholeOr(..) => {
                Value::Integer(text.parse().map_err(|_| "expected a whole number".to_string())?)
            }
            Takes::Number(_) => Value::Float(text.parse().map_err(|_| "expected a number".to_string())?),
            _ => Value::String(text.into()),
        };
        check(setting, &value).map(|()| value)
    }
}

fn check(setting: &Setting, value: &Value) -> Result<(), String> {
    if Length::KEYS.contains(&setting.key) {
        return setting.check(value.as_float().unwrap_or(f64::NAN)).map_err(|e| problem(setting, &e));
    }
    let mut table = Table::new();
    let value = match setting.takes {
        Takes::Texts(_) => Value::Array(vec![value.clone()]),
        _ => value.clone(),
    };
    put(&mut table, setting.key, value);
    // Advice means that another option is missing, which may stand beside this one.
    match Spec::from_table(&table) {
        Err(e) if e.advice().is_empty() => Err(problem(setting, &e)),
        _ => Ok(()),
    }
}

/// A refusal without the name of the setting, which clap prints.
fn problem(setting: &Setting, error: &Error) -> String {
    match error {
        Error::Config { key, problem } if *key == setting.key => {
            // clap prints the value.
            let rest = problem.split_once(", but ").filter(|_| problem.starts_with("is "));
            rest.map_or(problem.clone(), |(_, rest)| rest.into())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Only {
        #[command(flatten)]
        settings: SettingArgs,
    }

    fn parse(text: &str) -> Result<SettingArgs, String> {
        use clap::Parser;
        let words = std::iter::once("train").chain(text.split_whitespace());
        Only::try_parse_from(words).map(|o| o.settings).map_err(|e| e.to_string())
    }

    #[test]
    fn every_setting_with_a_flag_can_be_typed_and_lands_under_its_key() {
        for setting in SETTINGS.iter().filter(|s| s.flag.is_some()) {
            let flag = setting.flag.unwrap();
            let value = match setting.takes {
                Takes::Text("HxW") => "8x8",
                Takes::Text("HOW") => "none",
                Takes::Texts(_) => "x=gaussian",
                Takes::Text(_) => "protein",
                Takes::Choice(list) | Takes::Units(list) => list()[0].0,
                Takes::Whole(..) | Takes::WholeOr(..) => "3",
                Takes::Number(_) => "0.25",
                Takes::Auto => "none",
                Takes::Switch(_) | Takes::YesOrNo(_) => "",
            };
            let typed = if flag == "DATA" { value.to_string() } else { format!("--{flag} {value}") };
            let args = parse(&typed).unwrap_or_else(|e| panic!("{e}"));
            let found = harmonium::run::lookup(&args.asked, setting.key).is_some() || args.length.is_some();
            assert!(found, "{typed}: {:?}", args.asked);
        }
    }

    #[test]
    fn refusals_are_those_of_the_library() {
        for (text, want) in [
            ("--n-hidden abc", "expected a whole number"),
            ("--n-hidden 0", "must be 1 to 16777216"),
            ("--lr -1", "must be a number above 0"),
            ("--weights similarity:2", "fraction above 0"),
            ("--image 8by8", "not HEIGHTxWIDTH"),
            ("--binarize maybe", "is not auto, none"),
            ("--hidden-coupling goodfellow", "possible values: cho, krizhevsky"),
        ] {
            let refused = parse(text).err().unwrap_or_default();
            assert!(refused.contains(want), "{text}: {refused}");
        }
        assert!(parse("--early-stop").is_ok());
        assert!(parse("--standardize --no-standardize").is_err());
        let no = parse("--no-standardize").unwrap_or_default().asked;
        assert_eq!(harmonium::run::lookup(&no, "data.standardize"), Some(&Value::Boolean(false)));
    }
}
