//! Every command says what the library says.

use super::common::{Folder, all_close, bits, close, kind, rbm, standardized};
use harmonium::data::{Binarize, Preprocess};
use harmonium::file::ModelFile;
use harmonium::measure::{MEASURES, pseudo_log_likelihood};
use harmonium::{Exact, Layer, Rbm};
use ndarray::{Array1, Array2, array};
use std::process::Stdio;

#[test]
fn inspect_tells_what_is_in_the_file() {
    let folder = Folder::furnished();
    let json = folder.json("inspect gaussian.safetensors");
    assert_eq!((&json["visible"], &json["hidden"]), (&"gaussian".into(), &"bernoulli".into()));
    assert_eq!((&json["n_visible"], &json["n_hidden"]), (&3.into(), &4.into()));
    assert_eq!(json["visible_options"]["coupling"], "cho");
    assert_eq!(json["offsets"]["visible"], false);
    assert_eq!(json["about"]["note"], "made by a test");
    assert_eq!(json["parameters"], 3 * 4 + 2 * 3 + 4);
    let run = folder.run("inspect gaussian.safetensors");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.contains("3 gaussian (coupling cho) units") && run.out.contains("2^4 states"), "{}", run.out);
}

#[test]
fn log_z_is_the_exact_one() {
    let folder = Folder::furnished();
    let exact = Exact::new(&rbm("bernoulli", 6, "bernoulli", 4, 1)).unwrap();
    for method in ["auto", "exact"] {
        let json = folder.json(&format!("log-z model.safetensors --method {method}"));
        for field in ["value", "lower", "upper"] {
            close(&json[field], exact.log_z());
        }
        assert_eq!((&json["method"], &json["verdict"]), (&"exact".into(), &"exact".into()));
        assert!(json["std_err"] == 0.0 && json["ess"].is_null());
    }
    assert!(folder.run("log-z model.safetensors").out.contains(&format!("{:.6} nats, exact", exact.log_z())));
}

/// An estimate has both directions, an interval around the exact value, and the same digits for the same seed.
#[test]
fn log_z_can_be_estimated_with_an_interval_and_a_verdict() {
    let folder = Folder::furnished();
    let exact = Exact::new(&rbm("bernoulli", 6, "bernoulli", 4, 1)).unwrap().log_z();
    let line = "log-z model.safetensors --method bar --data data.npy --chains 32";
    let json = folder.json(line);
    let number = |name: &str| json[name].as_f64().unwrap();
    assert_eq!((&json["method"], &json["verdict"]), (&"bar".into(), &"likely".into()), "{json}");
    assert!(number("lower") <= number("value") && number("value") <= number("upper") && number("ess") > 5.0);
    assert!((number("value") - exact).abs() <= 4.0 * number("std_err"), "{json}, exact {exact}");
    for direction in ["forward", "backward"] {
        assert!(json[direction]["std_err"].as_f64().unwrap() > 0.0, "{json}");
    }
    assert!(folder.json(line) == json && folder.json(&format!("{line} --seed 1"))["value"] != json["value"]);
    assert_eq!(folder.json(&format!("{line} --threads 1")), json);
    assert!(folder.run(line).out.contains(" ± "));
    let ais = folder.json("log-z model.safetensors --method ais --temperatures 50");
    assert!(ais["verdict"] == "likely" && ais["advice"].as_str().unwrap().contains("--method auto"), "{ais}");
    let score = folder.json("evaluate model.safetensors data.npy --log-z modes --tolerance 0.2");
    assert!(score["log_z_std_err"].as_f64().unwrap() <= 0.05 && score["verdict"] == "certain", "{score}");
    let modes = folder.json("log-z model.safetensors --method modes --data data.npy");
    assert!((modes["value"].as_f64().unwrap() - exact).abs() <= 4.0 * modes["std_err"].as_f64().unwrap(), "{modes}");
    assert!(modes["evidence"].as_array().unwrap().len() > 5 && modes["parts"][0]["share"].as_f64().unwrap() > 0.0);
    let work = modes["work"].as_f64().unwrap();
    assert_eq!(folder.json(&format!("log-z model.safetensors --method modes --data data.npy --work {work}")), modes);
    let text = folder.run("log-z model.safetensors --method modes").out;
    assert!(text.contains("passed: ") && text.contains("modes found from the weights"), "{text}");
    assert!(text.contains("of Z; the rest (") && !text.contains("-0.0 %"), "{text}");
    // What ± means stands below all checks.
    let last = text.lines().last().unwrap_or_default().trim();
    assert!(last.starts_with("± ") && last.ends_with("one standard error"), "{text}");
    for (line, code) in [("--tolerance 0", 2), ("--tolerance nan", 2), ("--chains 1 --method bar", 1)] {
        let run = folder.run(&format!("log-z model.safetensors {line}"));
        assert!(run.code == code && run.err.contains(&line[2..8]), "{line}: {}", run.err);
    }
}

#[test]
fn evaluate_gives_the_likelihood_and_the_divergence() {
    let folder = Folder::furnished();
    let (lowered, rows) = (rbm("bernoulli", 6, "bernoulli", 4, 1), bits(20, 6));
    let exact = Exact::new(&lowered).unwrap();
    let log_p = exact.log_likelihood(rows.view()).unwrap();
    let divergence = exact.kl(rows.view(), Array1::ones(20).view()).unwrap();
    let json = folder.json("evaluate model.safetensors data.npy --per-row rows.npy");
    assert_eq!(json["rows"], 20);
    close(&json["mean_log_likelihood"], log_p.mean().unwrap());
    close(&json["row_std_dev"], log_p.std(0.0));
    close(&json["mean_free_energy"], -log_p.mean().unwrap() - exact.log_z());
    close(&json["log_z"], exact.log_z());
    close(&json["entropy"], divergence.entropy);
    close(&json["kl_divergence"], divergence.kl);
    let pseudo = pseudo_log_likelihood(exact.lowered(), rows.view()).unwrap();
    close(&json["mean_pseudo_log_likelihood"], pseudo.mean().unwrap());
    assert!(json["log_z_std_err"] == 0.0 && json["verdict"] == "exact");
    let n = log_p.len() as f64;
    close(&json["row_std_err"], log_p.std(1.0) / n.sqrt());
    assert_eq!(json["std_err"], json["row_std_err"]);
    all_close(&folder.numbers("rows.npy"), &log_p);
    let text = folder.run("evaluate model.safetensors data.npy").out;
    assert!(
        text.contains(" nats per row (± ") && text.contains(" from the finite number of rows; log Z is exact)"),
        "{text}"
    );
}

/// Every registered number is in the JSON, and those that are measured are in the text; the seed decides about chains.
#[test]
fn evaluate_measures_all_there_is_to_measure() {
    let folder = Folder::furnished();
    folder.table("train.npy", bits(35, 6).view());
    let line = "evaluate model.safetensors data.npy --train train.npy";
    let json = folder.json(line);
    for quantity in MEASURES.iter().flat_map(|m| m.quantities) {
        let name = format!("{}{}", if quantity.mean_of_rows { "mean_" } else { "" }, quantity.name);
        assert!(json.get(&name).is_some(), "{name} is not in {json}");
    }
    let mean = |rows: usize| rbm("bernoulli", 6, "bernoulli", 4, 1).lower().up().free_energy(bits(rows, 6).view());
    close(&json["free_energy_gap"], mean(20).mean().unwrap() - mean(35).mean().unwrap());
    assert!(
        json["free_energy_gap_std_err"].as_f64() > Some(0.0) && json["mean_free_energy_std_err"].as_f64() > Some(0.0)
    );
    assert_eq!(json, folder.json(&format!("{line} --threads 1")));
    assert_ne!(json["mean_difference"], folder.json(&format!("{line} --seed 5"))["mean_difference"]);
    assert!(folder.json("evaluate model.safetensors data.npy")["free_energy_gap"].is_null());
    let text = folder.run(line).out;
    for label in
        ["free energy gap", "always off", "(of 4)", "weight spectrum", "autocorrelation time", "noise alone would give"]
    {
        assert!(text.contains(label), "{label} is not in {text}");
    }
}

#[test]
fn several_models_are_compared_on_the_same_rows() {
    let folder = Folder::furnished();
    let json = folder.json("evaluate model.safetensors other.safetensors data.npy --per-row rows.npy");
    let alone = folder.json("evaluate other.safetensors data.npy");
    assert_eq!((&json["models"][1], json["rows"].as_u64()), (&alone, Some(20)));
    assert_eq!(json["models"][0]["model"], "model.safetensors");
    for (column, lowered) in
        [rbm("bernoulli", 6, "bernoulli", 4, 1), rbm("bernoulli", 6, "spin", 3, 2)].iter().enumerate()
    {
        let log_p = Exact::new(lowered).unwrap().log_likelihood(bits(20, 6).view()).unwrap();
        let written: Vec<f64> = folder.numbers("rows.npy").into_iter().skip(column).step_by(2).collect();
        all_close(&written, &log_p);
    }
    let text = folder.run("evaluate model.safetensors other.safetensors data.npy").out;
    assert_eq!(text.lines().count(), 4, "{text}");
}

/// p(x) = p(z)/Π scale for z = (x − shift)/scale.
#[test]
fn likelihoods_are_densities_of_the_data_as_given() {
    let folder = Folder::furnished();
    folder.file("x.csv", b"a,b,c\n1.5,4,-1\n0,2,7\n");
    let z = array![[1.0, 1.0, -1.0], [-2.0, 0.0, 1.0]];
    let log_p = Exact::new(&standardized().rbm).unwrap().log_likelihood(z.view()).unwrap();
    let json = folder.json("evaluate gaussian.safetensors x.csv");
    close(&json["mean_log_likelihood"], log_p.mean().unwrap() - 4f64.ln());
    let pseudo = pseudo_log_likelihood(&standardized().rbm.lower(), z.view()).unwrap();
    close(&json["mean_pseudo_log_likelihood"], pseudo.mean().unwrap() - 4f64.ln());
    assert!(json["kl_divergence"].is_null());
}

#[test]
fn transform_and_free_energy_are_those_of_the_library() {
    let folder = Folder::furnished();
    let lowered = rbm("bernoulli", 6, "bernoulli", 4, 1).lower();
    let json = folder.json("transform model.safetensors data.npy -o h.npy");
    assert_eq!((&json["rows"], &json["columns"]), (&20.into(), &4.into()));
    all_close(&folder.numbers("h.npy"), &lowered.up().means(bits(20, 6).view()));
    let energies = lowered.up().free_energy(bits(20, 6).view());
    assert_eq!(folder.json("free-energy model.safetensors data.npy -o f.npy")["rows"], 20);
    all_close(&folder.numbers("f.npy"), &energies);
    folder.model("potts.safetensors", &ModelFile::new(&rbm("bernoulli", 6, "potts", 2, 5)));
    assert_eq!(folder.json("transform potts.safetensors data.npy -o p.npy")["columns"], 6);
    assert!(folder.run("transform model.safetensors data.npy -o h.npy").out.starts_with("h.npy: 20 rows"));
}

#[test]
fn reconstructions_have_the_units_of_the_data() {
    let folder = Folder::furnished();
    folder.file("x.csv", b"1.5,4,-1\n0,2,7\n");
    let lowered = standardized().rbm.lower();
    let z = array![[1.0, 1.0, -1.0], [-2.0, 0.0, 1.0]];
    let again = lowered.down().means(lowered.up().means(z.view()).view());
    let again = again * array![0.5, 2.0, 4.0] + array![1.0, 2.0, 3.0];
    let json = folder.json("reconstruct gaussian.safetensors x.csv -o y.npy");
    all_close(&folder.numbers("y.npy"), &again);
    let x = array![[1.5, 4.0, -1.0], [0.0, 2.0, 7.0]];
    close(&json["error"], (x - again).mapv(|d| d * d).mean().unwrap());

    folder.model("potts.safetensors", &ModelFile::new(&rbm("potts", 3, "bernoulli", 2, 4)));
    folder.file("codes.csv", b"0,1,2\n2,2,2\n");
    let json = folder.json("reconstruct potts.safetensors codes.csv -o codes.npy");
    let codes = folder.numbers("codes.npy");
    let wrong = codes.iter().zip([0.0, 1.0, 2.0, 2.0, 2.0, 2.0]).filter(|(a, b)| *a != b).count();
    close(&json["error"], wrong as f64 / 6.0);
    assert!(codes.iter().all(|c| [0.0, 1.0, 2.0].contains(c)));
}

#[test]
fn convert_moves_log_z_by_what_it_says_and_the_likelihood_not_at_all() {
    let folder = Folder::furnished();
    folder.file("x.csv", b"1.5,4,-1\n0,2,7\n");
    let before = folder.json("evaluate gaussian.safetensors x.csv");
    for options in ["--coupling krizhevsky", "--offsets data:x.csv", "--coupling goodfellow --offsets data:x.csv"] {
        let shift = folder.json(&format!("convert gaussian.safetensors -o new.safetensors {options}"));
        let after = folder.json("evaluate new.safetensors x.csv");
        close(&after["mean_log_likelihood"], before["mean_log_likelihood"].as_f64().unwrap());
        close(&after["log_z"], before["log_z"].as_f64().unwrap() + shift["log_z_shift"].as_f64().unwrap());
    }
    let json = folder.json("inspect new.safetensors");
    assert_eq!(
        (&json["visible_options"]["coupling"], &json["offsets"]["hidden"]),
        (&"goodfellow".into(), &true.into())
    );
    assert_eq!((&json["about"]["note"], &json["standardized"]), (&"made by a test".into(), &true.into()));
    let file = ModelFile::read(folder.path("new.safetensors")).unwrap();
    all_close(&file.rbm.visible().offset().to_vec(), &array![-0.5, 0.5, 0.0]);
    folder.json("convert new.safetensors -o new.safetensors --offsets zero --coupling cho --precision f32");
    let json = folder.json("inspect new.safetensors");
    assert_eq!((&json["offsets"]["visible"], &json["precision"]), (&false.into(), &"f32".into()));
}

#[test]
fn large_offsets_in_single_precision_are_warned_of() {
    let folder = Folder::new();
    let visible = Layer::from_parts(kind("gaussian"), array![[0.0], [0.0]], array![5e3]).unwrap();
    let lowered = Rbm::from_parts(visible, Layer::new(kind("bernoulli"), 1), Array2::ones((1, 1))).unwrap();
    folder.model("far.safetensors", &ModelFile::new(&lowered));
    let run = folder.run("convert far.safetensors -o near.safetensors --offsets zero --precision f32");
    assert!(run.code == 0 && run.err.starts_with("warning: visible offset 0 is 5000 standard"), "{}", run.err);
    assert_eq!(folder.run("convert far.safetensors -o near.safetensors --offsets zero").err, "");
}

#[test]
fn grey_values_are_binarised_once_for_all_and_it_is_said() {
    let folder = Folder::furnished();
    folder.table("grey.npy", bits(20, 6).mapv(|x| 0.25 + 0.5 * x).view());
    let expected = folder.json("evaluate model.safetensors data.npy");
    let run = folder.run("evaluate model.safetensors grey.npy --json");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&run.out).unwrap(), expected);
    assert!(
        run.err.starts_with("note: grey.npy: grey values were thresholded at 0.5; see --binarize")
            && run.err.lines().count() == 1
    );
    let run = folder.run("evaluate model.safetensors grey.npy --json --binarize threshold:0.3");
    assert_eq!((serde_json::from_str::<serde_json::Value>(&run.out).unwrap(), run.err.as_str()), (expected, ""));
    let run = folder.run("evaluate model.safetensors grey.npy --binarize none");
    assert!(run.err.starts_with("note: grey values are used as probabilities"), "{}", run.err);

    let draw = |seed: u32| {
        folder.json(&format!("free-energy model.safetensors grey.npy -o f.npy --binarize sample --seed {seed}"));
        folder.numbers("f.npy")
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

#[test]
fn what_the_model_remembers_applies_by_default() {
    let folder = Folder::furnished();
    let mut file = ModelFile::new(&rbm("bernoulli", 6, "bernoulli", 4, 1));
    file.preprocess = Preprocess { binarize: Some(Binarize::Threshold(100.0)), ..Default::default() };
    folder.model("bytes.safetensors", &file);
    folder.table("bytes.npy", bits(20, 6).mapv(|x| 255.0 * x).view());
    let run = folder.run("free-energy bytes.safetensors bytes.npy -o f.npy");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let remembered = folder.numbers("f.npy");
    folder.json("free-energy model.safetensors data.npy -o f.npy");
    assert_eq!(folder.numbers("f.npy"), remembered);
}

#[test]
fn threads_change_no_bit_and_output_may_replace_input() {
    let folder = Folder::furnished();
    folder.table("x.npy", bits(3000, 6).view());
    folder.json("transform model.safetensors x.npy -o one.npy --threads 1");
    folder.json("transform model.safetensors x.npy -o two.npy --threads 3");
    assert_eq!(std::fs::read(folder.path("one.npy")).unwrap(), std::fs::read(folder.path("two.npy")).unwrap());
    folder.json("transform model.safetensors x.npy -o x.npy");
    assert_eq!(std::fs::read(folder.path("one.npy")).unwrap(), std::fs::read(folder.path("x.npy")).unwrap());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::furnished();
    let mut child = folder.command("inspect model.safetensors");
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

/// The note about grey values goes, the answer, warnings and errors stay.
#[test]
fn quiet_drops_notes_and_nothing_else() {
    let folder = Folder::furnished();
    folder.table("grey.npy", bits(20, 6).mapv(|x| 0.25 + 0.5 * x).view());
    let noted = folder.run("evaluate model.safetensors grey.npy");
    assert!(noted.err.starts_with("note: "), "{}", noted.err);
    for flag in ["--quiet", "-q"] {
        let run = folder.run(&format!("{flag} evaluate model.safetensors grey.npy"));
        assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, noted.out.as_str(), ""));
    }
    let run = folder.run("train builtin:bars:2 -o run --updates 100 --lr 0.01 --quiet");
    assert!(run.code == 0 && run.err.is_empty() && run.out.contains("log likelihood"), "{}", run.err);
    let layer = || Layer::new(kind("spin"), 16);
    let strong = Rbm::from_parts(layer(), layer(), Array2::from_elem((16, 16), 0.4)).unwrap();
    folder.model("strong.safetensors", &ModelFile::new(&strong));
    folder.table("both.npy", Array2::from_shape_fn((2, 16), |(r, _)| if r == 0 { 1.0 } else { -1.0 }).view());
    let run = folder.run("sample strong.safetensors -n 100 -o x.npy --sampler gibbs --start data:both.npy --quiet");
    assert!(run.code == 0 && run.err.starts_with("warning: "), "{}", run.err);
    let run = folder.run("inspect missing.safetensors --quiet");
    assert!(run.code == 1 && run.err.starts_with("error: "), "{}", run.err);
}
