//! What the tests of the command share: a folder with models and data in it, and a way to run the command there.

use harmonium::data::{Preprocess, npy};
use harmonium::file::ModelFile;
use harmonium::rng::{Key, normal};
use harmonium::units::{Kind, Options};
use harmonium::{Layer, Rbm};
use ndarray::{Array1, Array2, ArrayView2};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What a run of the command left.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A folder that commands are run in; it disappears.
pub struct Folder(pub tempfile::TempDir);

impl Folder {
    /// An empty folder.
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// A folder with a Bernoulli model, another one, a Gaussian model, and 20 rows of bits for the first.
    pub fn furnished() -> Folder {
        let folder = Folder::new();
        folder.model("model.safetensors", &ModelFile::new(&rbm("bernoulli", 6, "bernoulli", 4, 1)));
        folder.model("other.safetensors", &ModelFile::new(&rbm("bernoulli", 6, "spin", 3, 2)));
        folder.model("gaussian.safetensors", &standardized());
        folder.table("data.npy", bits(20, 6).view());
        folder.file("data.csv", b"0,1,,0,1,1\n1,1,0,0,1,0\n1,NA,0,1,,0\n");
        folder.file("table.csv", b"age,zip,city\n41.5,123,Bern\n17,321,Oslo\n33,213,Bern\n");
        folder
    }

    /// Two small finished runs on the same rows: `first` and `second`.
    pub fn runs(&self) {
        for (name, hidden) in [("first", 2), ("second", 5)] {
            let run = self.run(&format!("train builtin:bars:2 -o {name} --n-hidden {hidden} --updates 200"));
            assert_eq!(run.code, 0, "{}", run.err);
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn model(&self, name: &str, file: &ModelFile) {
        file.write(self.path(name)).unwrap();
    }

    pub fn table(&self, name: &str, rows: ArrayView2<f64>) {
        npy::write(&self.path(name), rows).unwrap();
    }

    pub fn file(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// The numbers of a .npy file of one or two dimensions.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let bytes = std::fs::read(self.path(name)).unwrap();
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        bytes[start..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
    }

    /// The names of all files.
    pub fn names(&self) -> Vec<String> {
        let entry = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = std::fs::read_dir(self.0.path()).unwrap().map(entry).collect();
        names.sort();
        names
    }

    /// `harmonium` with the words of `line`, in this folder, as if it were installed and not run by cargo.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harmonium"));
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, "harmonium");
        command
            .env_remove("CARGO_PKG_NAME")
            .args(line.split_whitespace())
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, line: &str) -> Run {
        let output = self.command(line).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// A run that succeeds, with `--json`: exactly one object on stdout.
    pub fn json(&self, line: &str) -> Value {
        let run = self.run(&format!("{line} --json"));
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        assert_eq!(run.out.lines().count(), 1, "{line}: {}", run.out);
        serde_json::from_str(&run.out).unwrap()
    }
}

pub fn kind(name: &str) -> Kind {
    let options: Options = if name == "potts" { [("states".into(), "3".into())].into() } else { Options::new() };
    Kind::new(name, &options).unwrap()
}

/// A random model without offsets.
pub fn rbm(visible: &str, n: usize, hidden: &str, m: usize, seed: u64) -> Rbm<f64> {
    let key = Key::root(seed);
    let mut count = 0;
    let mut draw = |_: &f64| {
        count += 1;
        0.5 * normal(key.uniforms::<f64>(count, 0))
    };
    let mut layer = |name: &str, sites| {
        let plain = Layer::new(kind(name), sites);
        Layer::from_parts(kind(name), plain.par().map(&mut draw), Array1::zeros(plain.columns())).unwrap()
    };
    let (visible, hidden) = (layer(visible, n), layer(hidden, m));
    let weights = Array2::zeros((visible.columns(), hidden.columns())).map(&mut draw);
    Rbm::from_parts(visible, hidden, weights).unwrap()
}

/// A Gaussian model of three columns that remembers a shift and a scale.
pub fn standardized() -> ModelFile {
    let mut file = ModelFile::new(&rbm("gaussian", 3, "bernoulli", 4, 3));
    file.preprocess =
        Preprocess { binarize: None, shift: Some(vec![1.0, 2.0, 3.0].into()), scale: Some(vec![0.5, 2.0, 4.0].into()) };
    file.about.insert("note".into(), "made by a test".into());
    file
}

pub fn bits(rows: usize, columns: usize) -> Array2<f64> {
    let key = Key::root(9);
    Array2::from_shape_fn((rows, columns), |(r, c)| f64::from(key.words(r as u64, c as u32)[0] & 1))
}

#[track_caller]
pub fn close(a: &Value, b: f64) {
    let a = a.as_f64().unwrap();
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} against {b}");
}

#[track_caller]
pub fn all_close<'a>(a: &[f64], b: impl IntoIterator<Item = &'a f64>) {
    let b: Vec<f64> = b.into_iter().copied().collect();
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} against {b}");
    }
}

/// Runs a line that must fail with one sentence and leave everything as it was; returns what it says.
#[track_caller]
pub fn fails(folder: &Folder, line: &str) -> String {
    let before = folder.names();
    let run = folder.run(line);
    assert_eq!((run.code, run.out.as_str()), (1, ""), "harmonium {line}: {}", run.err);
    let lines = run.err.lines().filter(|line| !line.starts_with("note: settings: "));
    let err: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(err.lines().count(), 1, "harmonium {line}: {}", run.err);
    assert!(err.starts_with("error: ") && !err.contains("panic"), "harmonium {line}: {}", run.err);
    assert_eq!(folder.names(), before, "harmonium {line}");
    err
}
