//! `train` learns, says what it learned, and gives the same bytes whenever it should.

use super::common::{Folder, bits, close};
use harmonium::Exact;
use harmonium::data::Binarize;
use harmonium::file::ModelFile;
use ndarray::{Array2, ArrayView2, array};
use std::fs;

/// A run of some tenths of a second.
pub const SMALL: &str = "train builtin:bars:2 --n-hidden 4 --updates 600 --batch-size 4 --chains 20 --report-every 100";

fn model(folder: &Folder, dir: &str) -> Vec<u8> {
    fs::read(folder.path(&format!("{dir}/model.safetensors"))).unwrap()
}

fn read(folder: &Folder, dir: &str) -> ModelFile {
    ModelFile::read(folder.path(&format!("{dir}/model.safetensors"))).unwrap()
}

#[test]
fn bars_are_learned_and_the_likelihood_is_the_one_of_the_file() {
    let folder = Folder::new();
    let json = folder.json("train builtin:bars:2 -o run --n-hidden 6 --updates 3000 --seed 3");
    let evaluated = folder.json("evaluate run/model.safetensors builtin:bars:2");
    close(&json["log_likelihood"], evaluated["mean_log_likelihood"].as_f64().unwrap());
    assert!(json["log_likelihood"].as_f64() > Some(json["baseline"].as_f64().unwrap() + 0.3), "{json}");
    assert_eq!((&json["updates"], &json["rows"]), (&3000.into(), &6.into()));
    assert_eq!((&json["model"], &json["reason"]), (&"run/model.safetensors".into(), &"done".into()));
    assert!(json["valid_log_likelihood"].is_null() && json["seconds"].as_f64() > Some(0.0));
    for name in ["config.toml", "events.jsonl", "checkpoint.safetensors", "report.html"] {
        assert!(folder.path(&format!("run/{name}")).exists(), "{name}");
    }
    let rbm = read(&folder, "run").rbm;
    assert!(rbm.visible().offset().iter().chain(rbm.hidden().offset()).all(|x| *x == 0.0), "offsets are folded");
    let page = fs::read_to_string(folder.path("run/report.html")).unwrap();
    assert!(page.contains("builtin:bars:2") && page.contains("nats per row"));
}

#[test]
fn the_words_at_the_end_name_commands_that_run() {
    let folder = Folder::new();
    let text = folder.run(&format!("{SMALL} -o run")).out;
    let commands: Vec<&str> = text.lines().filter_map(|l| Some(&l[l.find("harmonium ")? + 10..])).collect();
    assert_eq!(commands.len(), 3, "{text}");
    for line in commands {
        let run = folder.run(line);
        assert_eq!(run.code, 0, "harmonium {line}: {}", run.err);
    }
    assert!(text.contains(" rows; log Z is exact)") && text.contains("independent columns"), "{text}");
}

/// The environment variable for bug reports: every level this processor has gives the same bytes, and others are refused.
#[test]
fn instructions_can_be_forced_and_give_the_same_bytes() {
    let folder = Folder::new();
    let digits = "train builtin:digits --n-hidden 50 --updates 60 --report-every 60";
    let run = |dir: &str, level: &str| {
        let mut command = folder.command(&format!("{digits} -o {dir}"));
        command.env("HARMONIUM_SIMD", level).output().unwrap()
    };
    for level in harmonium::backend::cpu::Level::available() {
        assert!(run(level.name(), level.name()).status.success());
        assert_eq!(model(&folder, level.name()), model(&folder, "portable"), "{}", level.name());
    }
    let refused = run("other", "mmx");
    let text = String::from_utf8_lossy(&refused.stderr).to_string();
    assert!(!refused.status.success() && text.contains("HARMONIUM_SIMD") && text.contains("portable"), "{text}");
}

#[test]
fn the_same_command_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = Folder::new();
    folder.json(&format!("{SMALL} -o one --threads 1"));
    let one = model(&folder, "one");
    for threads in [1, 2, 3, 8] {
        folder.json(&format!("{SMALL} -o on{threads} --threads {threads}"));
        if threads == 1 {
            folder.json(&format!("{SMALL} -o twice --threads 1"));
            assert_eq!(model(&folder, "twice"), one);
        }
        assert_eq!(model(&folder, &format!("on{threads}")), one, "{threads} threads");
    }
    folder.json(&format!("{SMALL} -o other --seed 1"));
    assert_ne!(model(&folder, "other"), one);
}

#[test]
fn a_configuration_repeats_its_run_to_the_bit() {
    let folder = Folder::new();
    let key = harmonium::rng::Key::root(4);
    let rows = Array2::from_shape_fn((60, 3), |(r, c)| {
        5.0 + 100.0 * harmonium::rng::normal(key.uniforms::<f64>(r as u64, c as u32))
    });
    folder.table("x.npy", rows.view());
    folder.file("w.csv", (0..60).map(|k| format!("{}\n", 1 + k % 3)).collect::<String>().as_bytes());
    let line = "train x.npy -o first --visible gaussian --coupling krizhevsky --hidden spin --n-hidden 3 --standardize \
                --valid-fraction 0.25 --weights w.csv --method cd --gibbs-steps 2 --optimizer sgd --momentum 0.3 \
                --nesterov --schedule step --lr 0.013 --l1 1e-4 --l2 0.001 --max-norm 3 --sparsity 0.1 --clip 5 \
                --updates 250 --batch-size 7 --seed 9 --early-stop 50 --report-every 50 --variance-rate 0.3";
    let first = folder.json(line);
    let again = folder.json("train --config first/config.toml -o second");
    assert_eq!(model(&folder, "first"), model(&folder, "second"));
    assert_eq!(first["valid_log_likelihood"], again["valid_log_likelihood"]);
    let text = |dir: &str| fs::read_to_string(folder.path(&format!("{dir}/config.toml"))).unwrap();
    assert_eq!(text("first"), text("second"));
    // What is typed wins over what stands in the file.
    folder.json("train --config first/config.toml -o third --seed 10");
    assert_ne!(model(&folder, "first"), model(&folder, "third"));
    // Data that has changed since is told.
    let mut changed = rows;
    changed[[7, 1]] += 1.0;
    folder.table("x.npy", changed.view());
    let run = folder.run("train --config first/config.toml -o fourth");
    assert!(run.code == 0 && run.err.contains("note: the data or the initial model differ"), "{}", run.err);
}

#[test]
fn standardized_data_gives_a_density_in_the_units_of_the_data() {
    let folder = Folder::new();
    let key = harmonium::rng::Key::root(5);
    let normal = |r: usize, c: u32| harmonium::rng::normal(key.uniforms::<f64>(r as u64, c));
    let rows = Array2::from_shape_fn((300, 3), |(r, c)| match c {
        0 => 1000.0 + 7.0 * normal(r, 0),
        1 => 0.001 * (normal(r, 0) + normal(r, 1)),
        _ => 4.0,
    });
    folder.table("x.npy", rows.view());
    let json = folder.json("train x.npy -o run --visible gaussian --standardize --n-hidden 4 --updates 500");
    let evaluated = folder.json("evaluate run/model.safetensors x.npy");
    let (ours, theirs) = (json["log_likelihood"].as_f64().unwrap(), evaluated["mean_log_likelihood"].as_f64().unwrap());
    // The rows of a run are single precision, those of evaluate double.
    assert!((ours - theirs).abs() < 1e-3, "{ours} against {theirs}");
    let shift = read(&folder, "run").preprocess;
    let (mean, scale) = (shift.shift.unwrap(), shift.scale.unwrap());
    let same = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs();
    assert!(same(mean[0], rows.column(0).mean().unwrap()) && same(scale[1], rows.column(1).std(0.0)));
    assert_eq!((mean[2], scale[2]), (4.0, 1.0), "a constant column");
}

#[test]
fn grey_values_are_binarised_and_the_model_remembers_it() {
    let folder = Folder::new();
    folder.table("grey.npy", array![[0.1, 0.9], [0.8, 0.2], [1.0, 0.6]].view());
    let run = folder.run("train grey.npy -o run --updates 100");
    assert!(run.code == 0 && run.err.contains("binarised by threshold:0.5"), "{}", run.err);
    assert_eq!(read(&folder, "run").preprocess.binarize, Some(Binarize::Threshold(0.5)));
    folder.json("train grey.npy -o none --updates 100 --binarize none");
    assert_eq!(read(&folder, "none").preprocess.binarize, Some(Binarize::None));
}

#[test]
fn codes_tell_their_number_of_states() {
    let folder = Folder::new();
    folder.file("codes.csv", b"site1,site2,site3\n0,1,2\n3,1,0\n2,2,2\n0,0,1\n");
    folder.json("train codes.csv -o run --visible potts --updates 100 --n-hidden 3");
    assert_eq!(read(&folder, "run").rbm.visible().layout().to_string(), "potts (states 4)");
    folder.json("train codes.csv -o five --visible potts --states 5 --updates 100 --n-hidden 3");
    assert_eq!(read(&folder, "five").rbm.visible().layout().to_string(), "potts (states 5)");
}

#[test]
fn a_model_goes_on_with_other_data() {
    let folder = Folder::new();
    let before = folder.json(&format!("{SMALL} -o first"));
    // No updates: the model is the same distribution, whatever its coordinates were meanwhile.
    let same = folder.json("train builtin:bars:2 --init first/model.safetensors -o same --updates 0");
    let (a, b) = (before["log_likelihood"].as_f64().unwrap(), same["log_likelihood"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-4, "{a} against {b}");
    for more in ["", "--no-centering"] {
        let dir = format!("on{more}");
        folder.json(&format!("train builtin:bars:2 --init first/model.safetensors -o {dir} --updates 200 {more}"));
        folder.json(&format!("train --config {dir}/config.toml -o {dir}-again"));
        assert_eq!(model(&folder, &dir), model(&folder, &format!("{dir}-again")));
    }
    let bad = folder.run("train data.npy --init first/model.safetensors -o bad");
    assert_eq!(bad.code, 1);
}

#[test]
fn held_out_rows_stop_a_run_and_the_best_model_is_kept() {
    let folder = Folder::new();
    folder.table("x.npy", bits(60, 5).view());
    folder.table("y.npy", bits(200, 5).slice(ndarray::s![60.., ..]));
    let line = "train x.npy --valid y.npy -o run --n-hidden 16 --lr 0.2 --optimizer sgd --updates 5000 --report-every 50 --early-stop 3";
    let json = folder.json(line);
    assert_eq!((&json["reason"], &json["valid_rows"]), (&"early_stop".into(), &140.into()));
    let (kept, updates) = (json["kept_update"].as_u64().unwrap(), json["updates"].as_u64().unwrap());
    assert_eq!(updates - kept, 150);
    let text = folder.run("report run").out;
    let words = format!(", stopped early; kept the model after update {kept}, the best on held-out rows (-");
    assert!(text.contains(&words), "{text}");
    let score = folder.json("evaluate run/model.safetensors y.npy")["mean_log_likelihood"].as_f64().unwrap();
    assert!((score - json["valid_log_likelihood"].as_f64().unwrap()).abs() < 1e-4);
}

/// Twice the weight is twice the row: the same rows, the same distribution of them.
#[test]
fn weights_count_rows() {
    let folder = Folder::new();
    let rows: Array2<f64> = array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let copies = array![[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]];
    folder.table("x.npy", rows.view());
    folder.table("copies.npy", copies.view());
    folder.table("w.npy", array![[1.0], [3.0], [1.0]].view());
    let learn = "--method exact --n-hidden 3 --updates 3000 --optimizer sgd --lr 0.2 --momentum 0.5";
    folder.json(&format!("train x.npy --weights w.npy -o weighted {learn}"));
    folder.json(&format!("train copies.npy -o copied {learn}"));
    let log_p =
        |dir: &str, rows: ArrayView2<f64>| Exact::new(&read(&folder, dir).rbm).unwrap().log_likelihood(rows).unwrap();
    let (a, b) = (log_p("weighted", rows.view()), log_p("copied", rows.view()));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 0.05), "{a} against {b}");
    assert!((a[1].exp() - 0.6).abs() < 0.05, "{a}");
}

#[test]
fn large_models_get_a_likelihood_with_an_error_bar() {
    let folder = Folder::new();
    folder.table("wide.npy", bits(30, 50).view());
    let json = folder.json("train wide.npy -o run --n-hidden 40 --updates 20 --image 5x10");
    let number = |name: &str| json[name].as_f64().unwrap();
    assert!(number("log_likelihood") < 0.0 && number("pseudo_log_likelihood") < 0.0 && json["verdict"] == "certain");
    assert!(number("log_z_std_err") > 0.0 && number("log_z_std_err") < 0.2, "{json}");
    assert!(number("log_likelihood_std_err") > number("row_std_err"), "{json}");
    let text = folder.run("train wide.npy -o again --n-hidden 40 --updates 20").out;
    assert!(
        text.contains(" ± ")
            && text.contains(" from the finite number of rows; ± ")
            && text.contains(" from log Z, certain)"),
        "{text}"
    );
    let none = folder.run("train wide.npy -o none --n-hidden 4 --updates 20 --likelihood none").out;
    assert!(none.contains("log likelihood         not measured"), "{none}");
}
