//! Bad input of every sort: exit code 1, one line on stderr that says what is wrong, nothing left behind.

use super::common::{Folder, fails, rbm};
use harmonium::file::ModelFile;
use ndarray::array;
use std::fs;

/// Every command, with this model and this data.
fn lines(model: &str, data: &str) -> Vec<String> {
    let mut lines = vec![format!("evaluate {model} {data} --per-row out.npy")];
    lines.extend(["transform", "reconstruct", "free-energy"].map(|c| format!("{c} {model} {data} -o out.npy")));
    lines.push(format!("convert {model} -o out.safetensors --offsets data:{data}"));
    lines
}

#[test]
fn damaged_models_are_refused_by_every_command() {
    let folder = Folder::furnished();
    let good = fs::read(folder.path("model.safetensors")).unwrap();
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    // The first eight bytes are the length of the header.
    let mut terabyte = good.clone();
    terabyte[..8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let claim = br#"{"weights":{"dtype":"F64","shape":[1000000,1000000],"data_offsets":[0,8000000000000]}}"#;
    let claim = [&(claim.len() as u64).to_le_bytes(), claim.as_slice()].concat();
    let cases =
        [("cut", &good[..good.len() / 2]), ("flip", &flipped), ("tera", &terabyte), ("claim", &claim), ("empty", b"")];
    for (name, bytes) in cases {
        folder.file("bad.safetensors", bytes);
        for line in ["inspect bad.safetensors".into(), "log-z bad.safetensors".into()]
            .into_iter()
            .chain(lines("bad.safetensors", "data.npy"))
        {
            assert!(fails(&folder, &line).contains("bad.safetensors"), "{name}");
        }
    }
    fs::create_dir(folder.path("directory")).unwrap();
    for line in lines("directory", "data.npy").into_iter().chain(lines("missing.safetensors", "data.npy")) {
        fails(&folder, &line);
    }
}

#[test]
fn damaged_data_is_refused_by_every_command() {
    let folder = Folder::furnished();
    let good = fs::read(folder.path("data.npy")).unwrap();
    let text = String::from_utf8_lossy(&good[10..128]).replace("(20, 6)", "(9999999999, 6)");
    let lie = [&good[..10], &text.as_bytes()[..118], &good[128..]].concat();
    folder.file("cut.npy", &good[..good.len() - 8]);
    folder.file("lie.npy", &lie);
    let object = String::from_utf8_lossy(&good[10..]).replace("<f8", "|O8");
    folder.file("object.npy", &[&good[..10], object.as_bytes()].concat());
    folder.file("empty.npy", b"");
    folder.file("empty.csv", b"");
    folder.file("words.csv", b"a,b,c,d,e,f\n0,v,w,x,y,z\n");
    folder.file("ragged.csv", b"0,0,0,0,0,0\n0,0\n");
    folder.file("table.xlsx", b"");
    folder.table("wide.npy", array![[0.0; 7]].view());
    folder.table("nan.npy", array![[0.0; 6], [0.0, f64::NAN, 0.0, 0.0, 0.0, 0.0]].view());
    folder.table("two.npy", array![[0.0; 6], [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]].view());
    fs::create_dir(folder.path("directory.npy")).unwrap();
    fs::create_dir(folder.path("directory.csv")).unwrap();
    for (data, message) in [
        ("cut.npy", "952 bytes follow"),
        ("lie.npy", "(9999999999, 6)"),
        ("object.npy", "Python objects"),
        ("empty.npy", "ends within"),
        ("empty.csv", "empty"),
        ("words.csv", "row 1 (line 2), column 2: 'v' is not a number"),
        ("ragged.csv", "row 2 (line 2) has 2 cells, expected 6"),
        ("table.xlsx", "known extensions are .npy, .fasta"),
        ("wide.npy", "7 columns, but the model has 6"),
        ("nan.npy", "data row 2, column 2: NaN means that the cell is missing"),
        ("two.npy", "data row 2, column 3: 2 is not"),
        ("missing.npy", "cannot open missing.npy: no such file\n"),
        ("directory.npy", "not a regular file"),
        ("directory.csv", "directory"),
    ] {
        for line in lines("model.safetensors", data) {
            // Missing cells are nothing bad there.
            let line = line.replace("evaluate", "evaluate --no-missing");
            let found = fails(&folder, &line);
            assert!(found.contains(data) && found.contains(message), "expected {message}: {found}");
        }
    }
}

#[test]
fn outputs_that_cannot_be_written_are_refused_by_name() {
    let folder = Folder::furnished();
    fs::create_dir(folder.path("directory")).unwrap();
    for output in ["directory", "no/such/folder/out.npy", "/dev/full"] {
        for command in ["transform", "reconstruct", "free-energy"] {
            let found = fails(&folder, &format!("{command} model.safetensors data.npy -o {output}"));
            assert!(found.contains(output), "{found}");
        }
        fails(&folder, &format!("convert model.safetensors -o {output}"));
        fails(&folder, &format!("evaluate model.safetensors data.npy --per-row {output}"));
    }
    assert_eq!(fs::read_dir(folder.path("directory")).unwrap().count(), 0);
}

#[test]
fn questions_without_an_answer_are_refused() {
    let folder = Folder::furnished();
    folder.model("wide.safetensors", &ModelFile::new(&rbm("bernoulli", 40, "bernoulli", 40, 1)));
    let exact = fails(&folder, "log-z wide.safetensors --method exact");
    assert!(exact.contains("wide.safetensors: no layer is small enough to enumerate"), "{exact}");
    assert!(exact.contains("; use --method auto"), "{exact}");
    folder.file("notes.md", b"# Notes, which are not a model");
    let found = fails(&folder, "inspect notes.md");
    assert!(found.starts_with("error: notes.md is not a harmonium model file (such as model.safetensors"), "{found}");
    assert!(
        fails(&folder, "convert model.safetensors -o x --coupling cho")
            .contains("--coupling is for gaussian units, but these are bernoulli")
    );
    assert!(fails(&folder, "convert gaussian.safetensors -o x --hidden-coupling cho").contains("these are bernoulli"));
    folder.table("huge.npy", array![[1e200, 0.0, 0.0]].view());
    assert!(fails(&folder, "evaluate gaussian.safetensors huge.npy").contains("data row 1: the result is inf"));
}

/// A failure after the first blocks, while output is already being written, still leaves nothing.
#[test]
fn a_bad_value_far_into_the_data_leaves_no_output() {
    let folder = Folder::furnished();
    let mut rows = super::common::bits(40_000, 6);
    rows[[39_999, 5]] = -1.0;
    folder.table("late.npy", rows.view());
    folder.file("out.npy", b"older");
    assert!(fails(&folder, "transform model.safetensors late.npy -o out.npy").contains("data row 40000, column 6: -1"));
    assert_eq!(fs::read(folder.path("out.npy")).unwrap(), b"older");
}

/// Under a limit of 1 GB of address space, a file that claims terabytes is refused like any other.
#[cfg(target_os = "linux")]
#[test]
fn claims_of_terabytes_allocate_nothing() {
    let folder = Folder::furnished();
    let dict = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }";
    let head = [b"\x93NUMPY\x01\x00".as_slice(), &(dict.len() as u16).to_le_bytes(), dict.as_bytes()].concat();
    folder.file("tera.npy", &head);
    let quote = fs::File::create(folder.path("quote.csv")).unwrap();
    quote.set_len(1 << 33).unwrap();
    for (data, message) in [("tera.npy", "8000000000000 bytes"), ("quote.csv", "longer than 64 MiB")] {
        let line = format!("ulimit -v 1000000; exec \"$0\" transform model.safetensors {data} -o out.npy --threads 1");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_harmonium")]).current_dir(folder.0.path());
        let output = shell.output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && err.contains(message), "{:?}: {err}", output.status);
    }
}

#[test]
fn misspelt_names_are_corrected() {
    let folder = Folder::furnished();
    for (data, words) in [
        ("builtin:digit", "error: builtin:digit is not a built-in data set; did you mean builtin:digits? (known"),
        ("builtin:mnist", "error: builtin:mnist is not a built-in data set (known are digits, bars,"),
        ("bars:3", "error: bars:3: no such file; did you mean builtin:bars:3?\n"),
    ] {
        for line in [format!("train {data} -o run"), format!("evaluate model.safetensors {data}")] {
            let found = fails(&folder, &line);
            assert!(found.starts_with(words), "{line}: {found}");
        }
    }
    let found = fails(&folder, "inspect no.safetensors");
    assert_eq!(found, "error: cannot open no.safetensors: no such file\n");
    let found = fails(&folder, "transform model.safetensors data.npy -o no/such/x.npy");
    assert_eq!(found, "error: cannot write no/such/x.npy: no such directory\n");
    assert!(fails(&folder, "train --config no.toml -o run").starts_with("error: cannot open no.toml: no such file"));
}
