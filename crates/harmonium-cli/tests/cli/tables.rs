//! Tables as people have them: names, words, missing cells; words in, words out.

use super::common::{Folder, fails};
use serde_json::Value;

/// A table of 400 rows: an identifier, two words, three words, a number that depends on them, and some missing cells.
fn table() -> String {
    let row = |k: usize| {
        let word = ["no", "yes"][k % 2];
        let color = ["blue", "green", "light red"][(k / 2) % 3];
        let size = (k % 2 * 4 + (k / 2) % 3) as f64 + (k * 37 % 101) as f64 / 200.0;
        let color = if k % 20 == 7 { "" } else { color };
        let size = if k % 25 == 3 { "NA".into() } else { size.to_string() };
        format!("id{k:03},{word},{color},{size}\n")
    };
    ["id,smokes,color,\"size, cm\"\n".to_string()].into_iter().chain((0..400).map(row)).collect()
}

const QUICK: &str = "--updates 300 --n-hidden 4 --likelihood none";

fn trained() -> Folder {
    let folder = Folder::new();
    folder.file("table.csv", table().as_bytes());
    folder.json(&format!("train table.csv -o run {QUICK}"));
    folder
}

fn text(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(name)).unwrap()
}

#[test]
fn train_prints_the_columns_and_learns_words_numbers_and_missing_cells() {
    let folder = Folder::new();
    folder.file("table.csv", table().as_bytes());
    let run = folder.run(&format!("train table.csv -o run {QUICK}"));
    assert_eq!(run.code, 0, "{}", run.err);
    for line in [
        "note: columns of table.csv:",
        "column    kind       values                  missing  why",
        "id        ignore     id000, …                         an identifier: all 400 words differ",
        "smokes    bernoulli  no, yes                          two words",
        "color     potts 3    blue, green, light red  20       3 words",
        "to change a kind, use --column NAME=KIND, or --column NAME=ignore to leave the column out",
    ] {
        assert!(run.err.contains(line), "{line}\n{}", run.err);
    }
    assert!(run.err.contains("size, cm  gaussian"), "{}", run.err);
    let config = text(&folder, "run/config.toml");
    assert!(config.contains("visible = \"bernoulli*1,potts(states=3)*1,gaussian(coupling=cho)*1\""), "{config}");
    assert!(config.contains("schema = \"auto\"") && config.contains("missing = true"), "{config}");
    // The configuration alone repeats the run to the bit.
    folder.json("train --config run/config.toml -o again");
    let model = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert!(model("run/model.safetensors") == model("again/model.safetensors"));
}

#[test]
fn samples_reconstructions_and_filled_cells_have_names_and_words() {
    let folder = trained();
    folder.json("sample run -n 50 -o s.csv --sampler gibbs --burn-in 10");
    let sampled = text(&folder, "s.csv");
    let lines: Vec<&str> = sampled.lines().collect();
    assert_eq!((lines[0], lines.len()), ("smokes,color,\"size, cm\"", 51));
    for line in &lines[1..] {
        let cells: Vec<&str> = line.split(',').collect();
        assert!(["yes", "no"].contains(&cells[0]) && ["blue", "green", "\"light red\""].contains(&cells[1]), "{line}");
        assert!(cells[2].parse::<f64>().is_ok(), "{line}");
    }
    // They are read back by the model, and look alike to anybody else.
    assert_eq!(folder.json("evaluate run s.csv")["rows"], 50);
    let columns = folder.json("schema s.csv")["columns"].clone();
    let kinds: Vec<&str> = columns.as_array().unwrap().iter().map(|c| c["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["bernoulli", "potts", "gaussian"]);
    folder.json("impute run table.csv -o filled.csv");
    let filled = text(&folder, "filled.csv");
    assert!(!filled.contains("NA") && !filled.contains(",,") && filled.lines().count() == 401);
    // Known cells are as they were.
    assert!(filled.lines().nth(1).unwrap().starts_with("no,blue,0"), "{filled}");
    folder.file("whole.csv", b"smokes,color,\"size, cm\"\nyes,green,5.1\nno,blue,0.2\n");
    folder.json("reconstruct run whole.csv -o again.csv");
    assert!(text(&folder, "again.csv").starts_with("smokes,color,\"size, cm\"\n"));
    // Arrays have codes, and spreads are numbers.
    folder.json("sample run -n 5 -o s.npy --sampler gibbs --burn-in 10");
    assert!(folder.numbers("s.npy").chunks(3).all(|row| [0.0, 1.0].contains(&row[0]) && row[1].fract() == 0.0));
    folder.json("impute run table.csv -o filled.csv --spread spread.csv");
    let spread = text(&folder, "spread.csv");
    assert!(spread.lines().nth(1).unwrap().split(',').all(|cell| cell.parse::<f64>().is_ok()), "{spread}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_have_words_both_ways() {
    let folder = trained();
    folder.json("sample run -n 50 -o s.csv --sampler gibbs --burn-in 10");
    folder.json("sample run -n 50 -o s.parquet --sampler gibbs --burn-in 10");
    let each = |name: &str| folder.json(&format!("evaluate run {name}"))["mean_log_likelihood"].clone();
    assert_eq!(each("s.csv"), each("s.parquet"));
    let columns = |name: &str| folder.json(&format!("schema {name}"))["columns"].clone();
    assert_eq!(columns("s.csv"), columns("s.parquet"));
    folder.json(&format!("train s.parquet -o other {QUICK}"));
    folder.json("impute run table.csv -o filled.pq");
    assert_eq!(folder.json("evaluate run filled.pq")["rows"], 400);
}

#[test]
fn other_tables_are_matched_by_name_and_what_does_not_fit_is_named() {
    let folder = trained();
    let evaluate = |name: &str, text: &str| {
        folder.file(name, text.as_bytes());
        folder.json(&format!("evaluate run {name}"))["mean_log_likelihood"].clone()
    };
    let one = evaluate("one.csv", "smokes,color,\"size, cm\"\nyes,green,5.1\nno,,0.2\n");
    assert_eq!(one, evaluate("two.csv", "\"size, cm\",id,color,smokes\n5.1,z9,green,yes\n0.2,z8,,no\n"));
    for (text, sentence) in [
        ("smokes,color\nyes,green\n", "has no column 'size, cm', which the model was trained on"),
        ("smokes,color,\"size, cm\",age\nyes,green,5,7\n", "has the column 'age', which the model was not trained on"),
        (
            "smokes,color,\"size, cm\"\nyes,green,5.1\nmaybe,blue,5.1\n",
            "data row 2, column 'smokes': 'maybe' is not one of the known values: 'no', 'yes'; treat unknown words as \
             missing with --unseen missing",
        ),
        (
            "smokes,color,\"size, cm\"\nyes,green,5\nyes,green,big\n",
            "data row 2, column 'size, cm': 'big' is not a number",
        ),
        ("1,2\n3,4\n", "has 2 columns, expected 4, or the 3 that are learned"),
    ] {
        folder.file("bad.csv", text.as_bytes());
        let message = fails(&folder, "evaluate run/model.safetensors bad.csv");
        assert!(message.contains(sentence), "{text}: {message}");
    }
    folder.file("bad.csv", b"smokes,color,\"size, cm\"\nyes,green,5.1\nmaybe,blue,5.1\n");
    assert_eq!(folder.json("evaluate run bad.csv --unseen missing")["unknown_cells"], 1);
    let message = fails(&folder, "evaluate run/model.safetensors table.csv --no-missing");
    assert!(message.contains("leave out --no-missing"), "{message}");
}

#[test]
fn the_first_line_of_iris_is_no_header_and_its_label_is_pointed_out() {
    let folder = Folder::new();
    let rows: String = (0..90)
        .map(|k| format!("{:.1},{:.1},{}\n", 4.5 + (k % 7) as f64 / 3.0, (k % 11) as f64 / 5.0, k / 30))
        .collect();
    folder.file("iris.csv", format!("90,2,setosa\n{rows}").as_bytes());
    let run = folder.run(&format!("train iris.csv -o run {QUICK}"));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("the first line, '90,2,setosa', is left out as a description of the file"), "{}", run.err);
    assert!(run.err.contains("'column_3' may be a label; to leave it out, use --label-column last"), "{}", run.err);
    assert!(text(&folder, "run/config.toml").contains("gaussian(coupling=cho)*2,potts(states=3)*1"));
    let run = folder.run(&format!("train iris.csv -o other --label-column last {QUICK}"));
    assert!(!run.err.contains("may be a label"), "{}", run.err);
    folder.json(&format!("train iris.csv -o named --header names --label-column last {QUICK}"));
    folder.json("sample named -n 3 -o s.csv --sampler gibbs --burn-in 5");
    assert!(text(&folder, "s.csv").starts_with("90,2\n"));
}

#[test]
fn kinds_are_changed_by_options_and_by_files() {
    let folder = Folder::new();
    folder.file("table.csv", table().as_bytes());
    let visible = |run: &str| {
        let config = text(&folder, &format!("{run}/config.toml"));
        config.lines().find(|l| l.starts_with("visible =")).unwrap().split('"').nth(1).unwrap().to_string()
    };
    folder.json(&format!("train table.csv -o a --column color=ignore --column smokes=spin {QUICK}"));
    assert_eq!(visible("a"), "spin*1,gaussian(coupling=cho)*1");
    folder.json("train --config a/config.toml -o a2");
    assert_eq!(visible("a2"), "spin*1,gaussian(coupling=cho)*1");
    let run = folder.run("schema table.csv");
    let toml = run.out.replace("kind = \"gaussian\"", "kind = \"ignore\"");
    assert!(toml.contains("categories = [\"blue\", \"green\", \"light red\"]"), "{toml}");
    folder.file("s.toml", toml.as_bytes());
    folder.json(&format!("train table.csv -o b --schema s.toml {QUICK}"));
    assert_eq!(visible("b"), "bernoulli*1,potts(states=3)*1");
    folder.json("schema table.csv --column id=ignore --column color=ignore -o t.toml");
    assert!(text(&folder, "t.toml").contains("kind = \"ignore\"  # as asked"));
    for (line, sentence) in [
        ("train table.csv -o x --column tall=gaussian", "the table has no column 'tall'"),
        (
            "train table.csv -o x --column color=gaussian",
            "column 'color': data row 1 has 'blue', which is not a number",
        ),
        ("train table.csv -o x --schema none.toml", "none.toml"),
        ("train table.csv -o x --visible gaussian", "'id000' is not a number"),
        ("schema table.csv --column color", "'color' is not NAME=KIND"),
    ] {
        let message = fails(&folder, line);
        assert!(message.contains(sentence), "{line}: {message}");
    }
    folder.file("bad.toml", b"[[column]]\nname = \"color\"\nkind = \"red\"\n");
    assert!(
        fails(&folder, "train table.csv -o x --schema bad.toml").contains("column 'color': unknown unit kind 'red'")
    );
    assert_eq!(folder.run("train table.csv -o x --visible gaussian --column color=ignore").code, 2);
}

#[test]
fn tables_of_plain_numbers_are_learned_as_before() {
    let folder = Folder::new();
    let bits: String = (0..300).map(|k| format!("{},{},0\n", k % 2, k / 2 % 2)).collect();
    let greys: String = (0..300).map(|k| format!("{},{}\n", (k % 5) as f64 / 4.0, k / 2 % 2)).collect();
    folder.file("bits.csv", bits.as_bytes());
    folder.file("greys.csv", greys.as_bytes());
    for (data, columns) in [("bits.csv", 3), ("greys.csv", 2)] {
        let json = folder.json(&format!("train {data} -o {data}.run {QUICK}"));
        assert!(text(&folder, &format!("{data}.run/config.toml")).contains("visible = \"bernoulli\""), "{json}");
        let inspected: Value = folder.json(&format!("inspect {data}.run"));
        assert_eq!((&inspected["n_visible"], &inspected["visible"]), (&columns.into(), &"bernoulli".into()));
    }
}
