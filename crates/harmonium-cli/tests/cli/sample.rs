//! `harmonium sample`: rows in the units of the data, diagnostics that can be read, nonsense refused.

use super::common::{Folder, fails, kind, rbm};
use harmonium::file::ModelFile;
use harmonium::{Layer, Rbm};
use ndarray::{Array1, Array2, array};

#[test]
fn rows_are_written_as_asked() {
    let folder = Folder::furnished();
    for (options, sampler) in [
        ("", "exact"),
        ("--sampler gibbs", "gibbs"),
        ("--sampler tempering --burn-in 100 --temperatures 4", "tempering"),
        ("--sampler gibbs --start hidden --thin 1 --burn-in 0 --chains 30", "gibbs"),
        ("--sampler gibbs --start data:data.npy", "gibbs"),
        ("--sampler gibbs --steps 50", "gibbs"),
    ] {
        let line = format!("sample model.safetensors -n 150 -o x.npy {options}");
        let json = folder.json(&line);
        assert_eq!((json["rows"].as_u64(), json["sampler"].as_str()), (Some(150), Some(sampler)), "{options}");
        assert_eq!(json["columns"], 6);
        let rows = folder.numbers("x.npy");
        assert!(rows.len() == 900 && rows.iter().all(|x| *x == 0.0 || *x == 1.0), "{options}");
        assert!(json["ess"].as_f64().unwrap() > 0.0 && json["quantities"].as_array().unwrap().len() == 5);
        assert_eq!(json["r_hat"].is_null(), sampler == "exact", "{options}");
        assert_eq!(json["column_r_hat"].is_null(), sampler == "exact", "{options}");
        assert_eq!(json["swap_rates"].as_array().map(Vec::len), (sampler == "tempering").then_some(3));
        assert_eq!(json["round_trips"].is_null(), sampler != "tempering");
        // The same seed is the same rows, another seed others.
        let again = folder.json(&line.replace("x.npy", "y.npy"));
        assert!(folder.numbers("y.npy") == rows && again["ess"] == json["ess"]);
        folder.json(&format!("{} --seed 9", line.replace("x.npy", "z.npy")));
        assert!(folder.numbers("z.npy") != rows);
    }
}

/// A model that remembers a shift and a scale gives rows in the units of its data: the means are those of exact samples moved
/// by hand, within 0.1 of the standard deviations (20,000 rows: 14 standard errors).
#[test]
fn rows_have_the_units_of_the_data() {
    let folder = Folder::furnished();
    folder.json("sample gaussian.safetensors -n 20000 -o x.npy");
    let file = ModelFile::read(folder.path("gaussian.safetensors")).unwrap();
    let stats = harmonium::Exact::new(&file.rbm).unwrap().stats();
    let rows = folder.numbers("x.npy");
    for (c, (shift, scale)) in [(1.0, 0.5), (2.0, 2.0), (3.0, 4.0)].into_iter().enumerate() {
        let (mean, square) = (stats.visible[[0, c]], stats.visible[[1, c]]);
        let found = rows.iter().skip(c).step_by(3).sum::<f64>() / 20_000.0;
        let spread = scale * (square - mean * mean).sqrt();
        assert!((found - (shift + scale * mean)).abs() < 0.1 * spread, "column {c}: {found}");
    }
    folder.json("sample model.safetensors -n 500 -o m.npy --means");
    assert!(folder.numbers("m.npy").iter().any(|x| *x > 0.0 && *x < 1.0));
}

/// The means of the free cells at temperature 2 are those of a sum of exp(−E/2) over all states with the same clamped cells,
/// within 6 standard errors of 4,000 independent rows, and within 0.1 for chains.
#[test]
fn rows_are_drawn_at_the_temperature_also_given_some_cells() {
    let folder = Folder::furnished();
    let line = "sample model.safetensors -n 200 -o x.npy";
    folder.json(line);
    let plain = std::fs::read(folder.path("x.npy")).unwrap();
    assert_eq!(folder.json(&format!("{line} --temperature 1"))["temperature"], 1.0);
    assert_eq!(std::fs::read(folder.path("x.npy")).unwrap(), plain);
    assert!(folder.run(&format!("{line} --temperature 2.5")).out.contains("temperature            2.5\n"));
    assert!(!folder.run(line).out.contains("temperature"));
    folder.table("row.npy", array![[1.0, f64::NAN, 0.0, f64::NAN, 1.0, f64::NAN]].view());
    let (m, mut sums, mut all) = (rbm("bernoulli", 6, "bernoulli", 4, 1).lower(), [0.0; 3], 0.0);
    for (free, hidden) in (0..8).flat_map(|free| (0..16).map(move |hidden| (free, hidden))) {
        let bit = |of: u32, k: u32| f64::from(of >> k & 1);
        let v = array![1.0, bit(free, 0), 0.0, bit(free, 1), 1.0, bit(free, 2)];
        let p = (-m.energy(v.view(), Array1::from_shape_fn(4, |k| bit(hidden, k as u32)).view()) / 2.0).exp();
        all += p;
        (0..3).for_each(|k| sums[k] += p * v[2 * k + 1]);
    }
    for (sampler, tolerance) in [("auto", 0.05), ("exact", 0.05), ("gibbs", 0.1), ("tempering", 0.1)] {
        let line = "sample model.safetensors -n 4000 -o x.npy --clamp row.npy --temperature 2";
        let json = folder.json(&format!("{line} --sampler {sampler}"));
        assert_eq!(json["temperature"], 2.0);
        // Columns are those of the data, clamped ones included.
        assert!(json["worst_column"].as_u64().is_none_or(|column| [2, 4, 6].contains(&column)), "{json}");
        let rows = folder.numbers("x.npy");
        for (k, sum) in sums.iter().enumerate() {
            let mean = rows.iter().skip(2 * k + 1).step_by(6).sum::<f64>() / 4000.0;
            assert!((mean - sum / all).abs() < tolerance, "{sampler}, {k}: {mean} against {}", sum / all);
        }
    }
}

/// Chains that are held in two modes: a warning on stderr and in the JSON, which says what to do. The rows are still written.
#[test]
fn chains_that_do_not_mix_are_warned_about() {
    let folder = Folder::furnished();
    let layer = || Layer::new(kind("spin"), 16);
    let strong = Rbm::from_parts(layer(), layer(), Array2::from_elem((16, 16), 0.4)).unwrap();
    folder.model("strong.safetensors", &ModelFile::new(&strong));
    folder.table("both.npy", Array2::from_shape_fn((2, 16), |(r, _)| if r == 0 { 1.0 } else { -1.0 }).view());
    let line = "sample strong.safetensors -n 100 -o x.npy --sampler gibbs --start data:both.npy";
    let run = folder.run(line);
    assert_eq!(run.code, 0);
    assert!(
        run.err.contains("warning: the chains have not mixed: R̂ is ") && run.err.contains("--sampler tempering"),
        "{}",
        run.err
    );
    assert!(run.out.contains("effective sample size  not meaningful: the chains have not mixed"), "{}", run.out);
    let json = folder.json(line);
    assert!(json["ess"].is_null(), "{json}");
    assert!(json["column_r_hat"].as_f64().unwrap() > 2.0 && (1..=16).contains(&json["worst_column"].as_u64().unwrap()));
    assert!(run.out.contains("R-hat of columns       at most "), "{}", run.out);
    assert!(json["warnings"].as_array().unwrap().len() == 1 && json["r_hat"].as_f64().unwrap() > 2.0);
    let tempered = folder.run(&(line.replace("gibbs", "tempering") + " --burn-in 5000"));
    assert!(tempered.out.contains("round trips") && tempered.err.is_empty(), "{}{}", tempered.err, tempered.out);
}

/// Rows of short chains of their own cannot show whether chains converge.
#[test]
fn rows_after_a_few_steps_come_with_a_warning() {
    let folder = Folder::furnished();
    let run = folder.run("sample model.safetensors -n 20 -o x.npy --sampler gibbs --steps 5");
    assert!(run.out.contains("gibbs: 20 chains of 5 sweeps, one row each"), "{}", run.out);
    let words =
        "warning: every row comes from its own chain of 5 sweeps, so convergence cannot be checked; leave out --steps";
    assert!(run.code == 0 && run.err.contains(words), "{}", run.err);
}

#[test]
fn nonsense_is_refused_by_name() {
    let folder = Folder::furnished();
    folder.model("wide.safetensors", &ModelFile::new(&rbm("bernoulli", 40, "bernoulli", 40, 1)));
    folder.table("wide.npy", array![[0.0; 7]].view());
    folder.table("two.npy", array![[0.0, 0.0, 0.0, 0.0, 0.0, 2.0]].view());
    folder.file("empty.csv", b"");
    for (line, message) in [
        ("model.safetensors -n 0", "error: -n is 0, but must be at least 1"),
        ("model.safetensors --thin 0", "error: --thin is 0"),
        ("model.safetensors --chains 0", "error: --chains is 0"),
        ("model.safetensors --sampler tempering --temperatures 1", "error: --temperatures is 1"),
        ("model.safetensors --burn-in 18446744073709551615", "more sweeps than can be counted"),
        ("model.safetensors --temperature 1e-99", "error: --temperature is 1e-99, at which the parameters"),
        ("missing.safetensors", "missing.safetensors"),
        ("data.npy", "data.npy"),
        ("model.safetensors --start data:missing.npy", "missing.npy"),
        ("model.safetensors --start data:wide.npy", "7 columns, but the model has 6"),
        ("model.safetensors --start data:two.npy", "data row 1, column 6: 2 is not"),
        ("model.safetensors --start data:empty.csv", "empty"),
        (
            "wide.safetensors --sampler exact",
            "layer has 2^40 states, the limit is 2^30 (30 binary units); use --sampler tempering",
        ),
    ] {
        let found = fails(&folder, &format!("sample {line} -o out.npy"));
        assert!(found.contains(message), "{line}: {found}");
    }
    assert!(fails(&folder, "sample model.safetensors -o no/such/folder/x.npy").contains("no/such/folder"));
    let before = folder.names();
    for line in [
        "sample model.safetensors",
        "sample model.safetensors -o x.txt",
        "sample model.safetensors -o x.npy --sampler guess",
        "sample model.safetensors -o x.npy --start nowhere",
        "sample model.safetensors -o x.npy --start data:",
        "sample model.safetensors -o x.npy --steps 0",
        "sample model.safetensors -o x.npy --steps 5 --thin 2",
        "sample model.safetensors -o x.npy -n -3",
    ] {
        assert_eq!(folder.run(line).code, 2, "{line}");
    }
    for temperature in ["0", "-1", "nan", "inf"] {
        let run = folder.run(&format!("sample model.safetensors -o x.npy --temperature {temperature}"));
        assert!(run.code == 2 && run.err.contains(&format!("'{temperature}' for '--temperature <T>'")), "{}", run.err);
    }
    assert_eq!(folder.names(), before);
}
