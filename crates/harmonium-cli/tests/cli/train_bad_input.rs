//! Nonsense given to `train`: one clear sentence, exit code 1, nothing made and nothing destroyed.

use super::common::{Folder, bits, fails};
use ndarray::{Array2, array};
use std::fs;

#[track_caller]
fn fails_with(folder: &Folder, line: &str, words: &str) {
    let found = fails(folder, line);
    assert!(found.contains(words), "harmonium {line}: expected '{words}' in: {found}");
}

#[test]
fn data_that_cannot_be_learned_from() {
    let folder = Folder::furnished();
    folder.file("empty.csv", b"");
    folder.file("head.csv", b"a,b\n");
    folder.file("text.csv", b"1,0\n0,yes\n");
    folder.table("nan.npy", array![[0.0, 1.0], [f64::NAN, 1.0]].view());
    folder.table("none.npy", Array2::zeros((0, 3)).view());
    for (data, words) in [
        ("empty.csv", "empty"),
        ("head.csv", "head.csv"),
        ("text.csv", "data row 2 has the word 'yes', but data row 1 the number 0"),
        ("none.npy", "(0, 3) is empty"),
        ("missing.npy", "cannot open missing.npy: no such file"),
        ("builtin:nothing", "builtin:nothing"),
    ] {
        fails_with(&folder, &format!("train {data} -o run"), words);
        fails(&folder, &format!("train data.npy --valid {data} -o run"));
    }
    fails_with(&folder, "train nan.npy -o run --no-missing", "data row 2, column 1: NaN");
    let gaussian = "train nan.npy -o run --no-missing --visible gaussian --standardize";
    fails_with(&folder, gaussian, "data row 2, column 1: NaN");
    fails_with(&folder, "train -o run", "DATA is missing: name a data file");
}

#[test]
fn data_that_needs_other_units_says_which() {
    let folder = Folder::new();
    folder.table("spins.npy", array![[1.0, -1.0], [-1.0, 1.0]].view());
    folder.table("codes.npy", array![[0.0, 3.0], [2.0, 1.0]].view());
    folder.table("reals.npy", array![[0.5, 3.25], [-2.0, 1.0]].view());
    fails_with(&folder, "train spins.npy -o run", "; use --visible spin or gaussian, or use --binarize");
    fails_with(&folder, "train codes.npy -o run", "; use --visible gaussian or potts, or use --binarize");
    fails_with(&folder, "train reals.npy -o run", "; use --visible gaussian, or use --binarize");
    fails_with(&folder, "train codes.npy -o run --visible potts --states 3", "is not");
}

#[test]
fn settings_that_make_no_sense() {
    let folder = Folder::furnished();
    folder.table("narrow.npy", bits(5, 4).view());
    folder.table("weights.npy", array![[1.0], [1.0]].view());
    folder.table("pairs.npy", bits(20, 2).view());
    folder.table("negative.npy", Array2::from_elem((20, 1), -1.0).view());
    folder.file("typo.toml", b"[train]\nlearning_rate = 0.1\n");
    folder.file("broken.toml", b"[train\n");
    for (options, words) in [
        ("--early-stop", "--early-stop needs held-out rows"),
        ("--early-stop 5", "--valid or --valid-fraction"),
        ("--valid-fraction 0.001", "--valid-fraction is 0.001, which holds out 0 of 20 rows"),
        ("--valid narrow.npy", "narrow.npy has 4 columns, but the training data has 6"),
        ("--weights weights.npy", "there are 2 weights for 20 rows"),
        ("--weights pairs.npy", "one column"),
        ("--weights negative.npy", "weight 1 is -1"),
        ("--weights missing.npy", "missing.npy"),
        ("--standardize", "--standardize needs continuous visible units"),
        ("--coupling cho", "--coupling is for gaussian units, but the visible units are bernoulli"),
        ("--hidden-coupling cho", "--hidden-coupling is for gaussian units, but the hidden units are bernoulli"),
        ("--states 3", "--states is for potts units, but the visible units are bernoulli"),
        ("--visible gaussian --binarize sample", "--binarize needs units with the values 0 and 1, but the visible"),
        ("--visible spin --binarize threshold:0.5", "--binarize needs units with the values 0 and 1, but the visible"),
        ("--hidden potts", "--hidden-states is missing; potts units need it"),
        ("--image 2x2", "--image is 2x2, which makes 4 pixels, but the data has 6 columns"),
        ("--init missing.safetensors", "missing.safetensors"),
        ("--init gaussian.safetensors", "6 columns, but the model has 3"),
        ("--config typo.toml", "typo.toml: train.learning_rate: unknown field"),
        ("--config broken.toml", "broken.toml is not a valid configuration file (TOML): line 1"),
        ("--config missing.toml", "missing.toml"),
        ("--seed 18446744073709551615", "seed"),
        (
            "--method exact --n-hidden 40 --visible gaussian",
            "(30 binary units); use at most 30 hidden units (--n-hidden), or use another --method",
        ),
        ("--start factors", "--start cannot be factors: the visible units are bernoulli, not continuous"),
    ] {
        fails_with(&folder, &format!("train data.npy -o run {options}"), words);
    }
}

#[test]
fn columns_are_counted_as_in_the_file() {
    let folder = Folder::new();
    folder.file("table.csv", b"name,a,b\nx,0,1\ny,1,7\n");
    fails_with(
        &folder,
        "train table.csv -o run --visible bernoulli",
        "column 1: 'x' is not a number; leave the column out with --column NAME=ignore",
    );
    let bernoulli = "train table.csv -o run --visible bernoulli";
    fails_with(&folder, &format!("{bernoulli} --label-column name"), "data row 2, column 3: 7 is not");
    fails_with(&folder, &format!("{bernoulli} --columns b,a"), "data row 2, column 3: 7 is not");
}

#[test]
fn options_without_effect_are_noted() {
    let folder = Folder::furnished();
    for (options, words) in [
        ("--nesterov", "note: --nesterov has no effect with --optimizer adam"),
        ("--method cd --chains 7", "note: --chains has no effect with --method cd"),
        (
            "--variance-rate 0.1",
            "note: --variance-rate has no effect with --visible bernoulli and with --hidden bernoulli",
        ),
        ("--sparsity-cost 0.1", "note: --sparsity-cost has no effect without --sparsity"),
    ] {
        let run = folder.run(&format!("train data.npy -o run --updates 1 {options}"));
        assert!(run.code == 0 && run.err.contains(words), "{options}: {}", run.err);
        fs::remove_dir_all(folder.path("run")).unwrap();
    }
    let run = folder.run("train data.npy -o run --updates 1 --method cd --n-hidden 1 --lr 0.00123456");
    assert!(
        run.err.contains("settings: 1 hidden unit, cd (1 sweep), learning rate 0.00123, 1 update, "),
        "{}",
        run.err
    );
    fs::remove_dir_all(folder.path("run")).unwrap();
    let run = folder
        .run("train data.npy -o run --updates 1 --optimizer sgd --nesterov --method pcd --chains 7 --sparsity 0.1");
    assert!(run.code == 0 && !run.err.contains("no effect"), "{}", run.err);
}

#[test]
fn options_that_make_no_sense() {
    let folder = Folder::furnished();
    for (options, words) in [
        ("--lr -1", "'--lr <X>': must be a number above 0"),
        ("--lr nan", "must be a number above 0"),
        ("--momentum 1", "at least 0 and below 1"),
        ("--l2 -0.1", "0 or more"),
        ("--clip 0", "a number above 0"),
        ("--valid-fraction 1.5", "at least 0 and below 1"),
        ("--n-hidden abc", "expected a whole number"),
        ("--hidden 64", "for the number of hidden units use '--n-hidden 64'"),
        ("--hidden gaussian --hidden-coupling goodfellow", "possible values: cho, krizhevsky"),
    ] {
        let run = folder.run(&format!("train data.npy -o run {options}"));
        assert!(run.code == 2 && run.err.contains(words), "{options}: {}", run.err);
        assert!(!folder.path("run").exists());
    }
}

#[test]
fn outputs_that_cannot_be_a_run_directory() {
    let folder = Folder::furnished();
    fs::create_dir(folder.path("other")).unwrap();
    folder.file("other/notes.txt", b"mine");
    fails_with(&folder, "train data.npy -o data.npy", "data.npy is not a directory");
    fails_with(&folder, "train data.npy -o data.npy/run", "data.npy");
    fails_with(&folder, "train data.npy -o other", "is not empty and holds no run");
    fails_with(&folder, "train data.npy -o other --resume", "is not empty and holds no run");
    fails(&folder, "train data.npy -o /proc/run");
    assert_eq!(fs::read(folder.path("other/notes.txt")).unwrap(), b"mine");
}

#[test]
fn things_that_look_wrong_and_work() {
    let folder = Folder::new();
    folder.table("constant.npy", array![[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]].view());
    for options in ["--batch-size 1000", "--chains 1", "--n-hidden 1", "--updates 0", "--epochs 0.5 --hidden gaussian"]
    {
        let dir = format!("run{}", options.replace([' ', '-', '.'], ""));
        let json = folder.json(&format!("train constant.npy -o {dir} --updates 100 {options}").replace(
            if options.contains("updates") || options.contains("epochs") { "--updates 100 " } else { "no such words" },
            "",
        ));
        assert!(json["log_likelihood"].is_number(), "{options}: {json}");
    }
}
