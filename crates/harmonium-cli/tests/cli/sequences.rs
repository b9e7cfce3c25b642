//! Alignments, names and images: what the data say of themselves reaches the model, its file and what is written with it.

use super::common::{Folder, all_close, fails};
use harmonium::file::ModelFile;
use std::fs;

/// Six sequences, of which three are relatives (four of five sites equal) of the first.
const ALIGNMENT: &str = ">1\nACDEF\n>2\nACDEW\n>3\nACDKF\n>4\nACXEF\n>5\nWYYWV\n>6\n-----\n";
const TRAIN: &str = "train x.fasta -o run --n-hidden 3 --updates 50 --batch-size 3 --chains 10 --report-every 50";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("x.fasta", ALIGNMENT.as_bytes());
    folder
}

#[test]
fn an_alignment_chooses_its_units_and_weights_and_says_so() {
    let folder = folder();
    let run = folder.run(&format!("{TRAIN} --json"));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("visible units are potts with 21 states"), "{}", run.err);
    assert!(run.err.contains("outside the alphabet are read as gaps: X, 1 in all (3.33 %)"), "{}", run.err);
    // Relatives of 1: 2, 3, 4 and itself; 2 and 1; 3 and 1; 4 and 1: two of them differ in two sites.
    assert!(run.err.contains("6 sequences have an effective number of 4"), "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(json["effective_rows"].as_f64().map(|n| (n * 1e6).round()), Some(3_750_000.0));
    let about = ModelFile::read(folder.path("run/model.safetensors")).unwrap().about;
    assert_eq!(about.get("alphabet").map(String::as_str), Some("-ACDEFGHIKLMNPQRSTVWY"));
    // The configuration alone repeats the run, and --resume finds nothing to do.
    assert_eq!(folder.run("train --config run/config.toml -o again").code, 0);
    let model = |dir: &str| fs::read(folder.path(&format!("{dir}/model.safetensors"))).unwrap();
    assert_eq!(model("run"), model("again"));
    assert_eq!(folder.run("train x.fasta --resume -o run").code, 0);
}

#[test]
fn weights_can_be_asked_for_and_refused() {
    let folder = folder();
    let json = folder.json(&format!("{} --weights none", TRAIN.replace("-o run", "-o none")));
    assert!(json["effective_rows"].is_null());
    let json = folder.json(&format!("{} --weights similarity:0.6", TRAIN.replace("-o run", "-o other")));
    assert_eq!(json["effective_rows"].as_f64(), Some(3.0));
    let refused = folder.run(&format!("{TRAIN} --weights similarity:2"));
    assert!(refused.code == 2 && refused.err.contains("similarity:0.8"), "{}", refused.err);
    let found = fails(&folder, "train builtin:moons -o run --weights similarity --updates 1");
    assert!(found.contains("similarity needs rows of codes"), "{found}");
    let found = fails(&folder, &format!("{TRAIN} --visible potts --states 5"));
    assert!(found.contains("states is 5, but the alphabet -ACDEFGHIKLMNPQRSTVWY has 21 letters"), "{found}");
}

#[test]
fn a_model_of_sequences_reads_and_writes_its_letters() {
    let folder = folder();
    folder.json(TRAIN);
    // By itself this would be DNA.
    folder.file("few.fasta", b">1\nACACA\n");
    folder.file("few.csv", b"1,2,1,2,1\n");
    let energy = |data: &str| {
        folder.json(&format!("free-energy run/model.safetensors {data} -o f.npy"));
        folder.numbers("f.npy")
    };
    assert_eq!(energy("few.fasta"), energy("few.csv"));
    folder.json("reconstruct run/model.safetensors x.fasta -o again.npy");
    folder.json("reconstruct run/model.safetensors x.fasta -o again.fasta");
    assert_eq!(energy("again.npy"), energy("again.fasta"));
    let text = fs::read_to_string(folder.path("again.fasta")).unwrap();
    assert_eq!(text.lines().count(), 12);
    let found = fails(&folder, "transform run/model.safetensors few.fasta -o hidden.fasta");
    assert!(found.contains("these rows are not sequences"), "{found}");
}

/// `?` is a cell to draw, `-` the gap like any other letter.
#[test]
fn a_question_mark_in_a_sequence_is_a_cell_to_draw() {
    let folder = folder();
    folder.json(TRAIN);
    folder.file("row.fasta", b">1\n-?DE?\n");
    let clamp = "sample run/model.safetensors -n 200 --clamp row.fasta";
    folder.json(&format!("{clamp} -o drawn.fasta"));
    let text = fs::read_to_string(folder.path("drawn.fasta")).unwrap();
    let rows: Vec<&[u8]> = text.lines().filter(|line| !line.starts_with('>')).map(str::as_bytes).collect();
    assert!(rows.len() == 200 && rows.iter().all(|row| row[0] == b'-' && row[2..4] == *b"DE"), "{text}");
    for site in [1, 4] {
        assert!(rows.iter().any(|row| row[site] != rows[0][site]), "site {site} is drawn");
    }
    // The same row as numbers is the same request, with the same seed.
    folder.file("row.csv", b"0,?,3,4,?\n");
    folder.json(&format!("{} -o numbers.fasta", clamp.replace("row.fasta", "row.csv")));
    assert_eq!(fs::read_to_string(folder.path("numbers.fasta")).unwrap(), text);
    let json = folder.json("impute run/model.safetensors row.fasta -o filled.fasta");
    assert_eq!(json["cells"], 2);
    // It is no letter outside the alphabet, and an error where cells may not be missing.
    let run = folder.run(&format!("{clamp} -o again.fasta"));
    assert!(!run.err.contains("outside the alphabet"), "{}", run.err);
    let found = fails(&folder, "transform run/model.safetensors row.fasta -o hidden.npy");
    assert!(found.contains("'?' is not a letter of a sequence"), "{found}");
}

#[test]
fn names_and_images_are_kept_for_what_is_written() {
    let folder = Folder::new();
    folder.file("x.csv", b"red,green,blue,label\n0,1,1,7\n1,0,0,8\n1,1,0,9\n");
    let train = "train x.csv -o run --label-column label --n-hidden 2 --updates 20 --batch-size 3 --image 1x3";
    folder.json(train);
    let file = ModelFile::read(folder.path("run/model.safetensors")).unwrap();
    assert_eq!(file.schema.unwrap().names(), ["red", "green", "blue"]);
    assert_eq!(file.about.get("image").map(String::as_str), Some("1x3"));
    let rows = "run/model.safetensors x.csv --label-column label";
    for (command, head) in
        [("reconstruct", "red,green,blue\n"), ("transform", "h1,h2\n"), ("free-energy", "free_energy\n")]
    {
        folder.json(&format!("{command} {rows} -o out.csv"));
        let text = fs::read_to_string(folder.path("out.csv")).unwrap();
        assert!(text.starts_with(head) && text.lines().count() == 4, "{text}");
        folder.json(&format!("{command} {rows} -o out.npy"));
        let cells: Vec<f64> = text.lines().skip(1).flat_map(|l| l.split(',')).map(|x| x.parse().unwrap()).collect();
        all_close(&cells, &folder.numbers("out.npy"));
    }
    folder.json(&format!("reconstruct {rows} -o out.idx3-ubyte"));
    assert_eq!(
        fs::read(folder.path("out.idx3-ubyte")).unwrap()[..16],
        [0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 3]
    );
    folder.json(&train.replace("-o run", "-o plain").replace(" --image 1x3", ""));
    let page = fs::read_to_string(folder.path("plain/report.html")).unwrap();
    assert!(page.contains("green"), "the report does not know the names");
}
