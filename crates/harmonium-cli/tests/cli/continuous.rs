//! Real-valued columns: standardised by default, learned from their factor analysis, all in the units of the data.

use super::common::Folder;
use harmonium::file::ModelFile;
use harmonium::rng::{Key, normal};
use ndarray::Array2;
use std::fs;

/// Rows of three correlated columns in units of very different sizes.
fn rows() -> Array2<f64> {
    let key = Key::root(5);
    let normal = |r: usize, c: u32| normal(key.uniforms::<f64>(r as u64, c));
    Array2::from_shape_fn((200, 3), |(r, c)| match c {
        0 => 1e6 + 1e5 * normal(r, 0),
        1 => 1e-6 * (2.0 * normal(r, 0) + normal(r, 1)),
        _ => 3.0 - normal(r, 0) + normal(r, 2),
    })
}

fn config(folder: &Folder, run: &str) -> String {
    fs::read_to_string(folder.path(&format!("{run}/config.toml"))).unwrap()
}

fn is_standardized(folder: &Folder, run: &str) -> bool {
    ModelFile::read(folder.path(&format!("{run}/model.safetensors"))).unwrap().preprocess.scale.is_some()
}

/// The most likely factor analysis does not depend on units, so both runs have one likelihood.
#[test]
fn continuous_columns_are_standardised_unless_told_otherwise() {
    let folder = Folder::new();
    folder.table("x.npy", rows().view());
    let line = "train x.npy --visible gaussian --hidden gaussian --n-hidden 1";
    let (with, without) =
        (folder.json(&format!("{line} -o with")), folder.json(&format!("{line} -o without --no-standardize")));
    assert!(is_standardized(&folder, "with") && !is_standardized(&folder, "without"));
    assert!(config(&folder, "with").contains("standardize = true"));
    assert!(config(&folder, "without").contains("standardize = false"));
    let value = |json: &serde_json::Value| json["log_likelihood"].as_f64().unwrap();
    assert!((value(&with) - value(&without)).abs() < 0.02, "{} {}", value(&with), value(&without));
    let evaluated = folder.json("evaluate with/model.safetensors x.npy");
    assert!((value(&with) - evaluated["mean_log_likelihood"].as_f64().unwrap()).abs() < 1e-3);
    // log p = −F − log Z − Σ log scale, of which the last is in what `inspect` prints.
    let energy = folder.json("free-energy with/model.safetensors x.npy -o f.npy")["mean_free_energy"].as_f64().unwrap();
    let sum = folder.json("inspect with/model.safetensors")["sum_log_scales"].as_f64().unwrap();
    let log_z = evaluated["log_z"].as_f64().unwrap();
    assert!((-energy - log_z - sum - evaluated["mean_log_likelihood"].as_f64().unwrap()).abs() < 1e-9);
    assert!(
        folder.run("inspect with/model.safetensors").out.contains(&format!("sum of the logs of the scales: {sum:.4}"))
    );
    // Samples are in the units of the data.
    folder.run("sample with -n 500 -o s.csv");
    let text = fs::read_to_string(folder.path("s.csv")).unwrap();
    let first = text.lines().filter_map(|l| l.split(',').next()?.parse::<f64>().ok());
    let (sum, count) = first.fold((0.0, 0.0), |(s, n), x| (s + x, n + 1.0));
    assert!((sum / count / 1e6 - 1.0).abs() < 0.05, "{}", sum / count);
}

#[test]
fn a_configuration_of_before_means_what_it_meant() {
    let folder = Folder::new();
    folder.table("x.npy", rows().view());
    folder.json("train x.npy -o new --visible gaussian --n-hidden 2 --updates 20");
    let text = config(&folder, "new");
    assert!(text.contains("standardize = true") && text.contains("start = \"factors\""), "{text}");
    // A version that did neither recorded the one and did not know the other.
    let old = text.replace("standardize = true", "standardize = false").replace("start = \"factors\"", "# start =");
    folder.file("old.toml", old.as_bytes());
    let run = folder.run("train --config old.toml -o old");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(!is_standardized(&folder, "old"));
    assert!(config(&folder, "old").contains("start = \"independent\""), "{}", config(&folder, "old"));
    // What the new one recorded repeats it to the bit.
    folder.json("train --config new/config.toml -o again");
    let bytes = |run: &str| fs::read(folder.path(&format!("{run}/model.safetensors"))).unwrap();
    assert_eq!(bytes("new"), bytes("again"));
}

/// Few rows, a constant column, a copy of a column, whole numbers, heavy tails: nothing fails, and the density of new rows stays
/// near that of independent columns or above it.
#[test]
fn difficult_tables_are_learned_without_harm() {
    let folder = Folder::new();
    let key = Key::root(9);
    let value = |r: usize, c: usize| normal::<f64>(key.uniforms(r as u64, c as u32));
    let tables = [
        Array2::from_shape_fn((20, 30), |(r, c)| value(r, c) + value(r, 99)),
        Array2::from_shape_fn((60, 6), |(r, c)| if c == 2 { 4.0 } else { value(r, if c == 5 { 1 } else { c }) }),
        Array2::from_shape_fn((80, 4), |(r, c)| (3.0 * value(r, c) + value(r, 50)).round()),
        Array2::from_shape_fn((80, 4), |(r, c)| value(r, c) / value(r, 60 + c).abs().max(0.01)),
    ];
    for (k, table) in tables.iter().enumerate() {
        folder.table("x.npy", table.view());
        for hidden in ["gaussian", "bernoulli --n-hidden 6"] {
            let run = format!("run{k}{}", hidden.len());
            let line = format!("train x.npy -o {run} --visible gaussian --hidden {hidden} --valid-fraction 0.25");
            let json = folder.json(&line);
            let get = |name: &str| json[name].as_f64().unwrap_or_else(|| panic!("{name}: {json}"));
            assert!(get("log_likelihood").is_finite() && get("valid_log_likelihood").is_finite(), "{line}");
            assert_ne!(json["outcome"], "failed", "{line}: {json}");
        }
    }
}
