//! `harmonium couplings`: closed forms, tables, alignments, and what is refused.

use super::common::{Folder, close, fails, kind};
use harmonium::file::ModelFile;
use harmonium::{Layer, Rbm};
use ndarray::{Array2, array};
use std::fs;

/// Weights of three visible columns.
fn weights() -> Array2<f64> {
    array![[0.5, -1.0], [0.25, 2.0], [-0.75, 0.125]]
}

/// A folder with `pairs.safetensors`, whose couplings are W Wᵀ, and rows for it.
fn folder() -> Folder {
    let folder = Folder::furnished();
    let rbm = Rbm::from_parts(Layer::new(kind("bernoulli"), 3), Layer::new(kind("gaussian"), 2), weights()).unwrap();
    folder.model("pairs.safetensors", &ModelFile::new(&rbm));
    folder.table("rows.npy", array![[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]].view());
    folder
}

#[test]
fn couplings_are_exact_where_the_model_is_pairwise() {
    let (folder, product) = (folder(), weights().dot(&weights().t()));
    for (options, over) in [("", "samples"), ("--data rows.npy", "data"), ("--rows 3", "samples")] {
        let json = folder.json(&format!("couplings pairs.safetensors -o out.csv {options}"));
        assert_eq!((&json["averaged_over"], &json["n_pairs"]), (&over.into(), &3.into()));
        let pairs = json["pairs"].as_array().unwrap();
        let sites = |k: usize| (pairs[k]["i"].as_u64().unwrap(), pairs[k]["j"].as_u64().unwrap());
        assert_eq!([0, 1, 2].map(sites), [(1, 2), (1, 3), (2, 3)], "the strongest first");
        let table = fs::read_to_string(folder.path("out.csv")).unwrap();
        assert!(table.starts_with("i,j,coupling\n1,2,-1.87"), "{table}");
        for (k, pair) in pairs.iter().enumerate() {
            let (i, j) = sites(k);
            close(&pair["coupling"], product[[i as usize - 1, j as usize - 1]]);
        }
    }
    let run = folder.run("couplings pairs.safetensors --data rows.npy --top 1");
    assert!(
        run.out.contains("averaged over  2 rows of rows.npy") && run.out.contains("1 - 2          -1.8750"),
        "{}",
        run.out
    );
    assert!(!run.out.contains("1 - 3"), "{}", run.out);
    let first = folder.run("couplings model.safetensors --json").out;
    assert_eq!(folder.run("couplings model.safetensors --json --threads 1").out, first);
}

#[test]
fn alignments_get_contact_scores() {
    let folder = Folder::new();
    folder.file("x.fasta", b">1\nACD\n>2\nAWD\n>3\nCC-\n>4\nDC-\n");
    folder.json("train x.fasta -o run --n-hidden 2 --updates 20 --batch-size 2 --chains 10");
    let json = folder.json("couplings run --data x.fasta -o out.csv --top 2");
    assert_eq!((json["pairs"].as_array().unwrap().len(), &json["n_pairs"]), (2, &3.into()));
    assert!(json["pairs"][0]["score"].as_f64() >= json["pairs"][1]["score"].as_f64());
    let table = fs::read_to_string(folder.path("out.csv")).unwrap();
    assert!(table.starts_with("i,j,score,norm\n") && table.lines().count() == 4, "{table}");
    assert!(folder.run("couplings run --rows 20").out.contains("averaged over  20 samples of the model"));
}

#[test]
fn models_without_couplings_are_refused_by_name() {
    let folder = folder();
    let found = fails(&folder, "couplings gaussian.safetensors");
    assert!(found.contains("gaussian.safetensors: couplings need visible units with finitely many states"), "{found}");
    assert!(fails(&folder, "couplings pairs.safetensors --data data.npy").contains("6 columns"));
    for options in ["--rows 0", "--rows 1001", "--top -1", "-o x.doc"] {
        assert_eq!(folder.run(&format!("couplings pairs.safetensors {options}")).code, 2, "{options}");
    }
}
