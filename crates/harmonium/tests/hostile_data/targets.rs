//! What is done with a hostile file: it is read as a user would; if it can be read, written and read again it is the same.
//!
//! The fuzzer in `fuzz/` compiles this file too.
#![allow(dead_code)] // what only the fuzzer uses

use harmonium::data::{self, ReadOptions, TableHead, write_table};
use harmonium::events::Event;
use harmonium::file::ModelFile;
use harmonium::ndarray::{Array2, Axis};
use harmonium::run::{CONFIG, Conclusion, EVENTS, Files, MODEL, Recorded, Spec, config_file, put};
use harmonium::schema::{Asked, Schema, Unseen};
use harmonium::train::{TrainConfig, Trainer};
use harmonium::units::{Kind, Options};
use harmonium::{Dataset, Rbm};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A kind of file.
pub struct Target {
    pub name: &'static str,
    /// The name it gets, which decides how it is read.
    pub file: &'static str,
    /// Whether a small file may be unpacked to a large one.
    pub packed: bool,
    /// Reads the file; panics if it is not the same after it was written.
    pub run: fn(&Path),
}

impl Target {
    const fn table(name: &'static str, file: &'static str, packed: bool) -> Target {
        Target { name, file, packed, run: table }
    }

    /// Bytes of memory that reading a file of `length` bytes may take; SECURITY.md has the reasons.
    pub fn most_memory(&self, length: usize) -> usize {
        let [always, times] = if self.packed { [256 << 20, 2500] } else { [64 << 20, 200] };
        always + times * length
    }
}

pub const TARGETS: &[Target] = &[
    Target { name: "model", file: "x.safetensors", packed: false, run: model },
    Target { name: "checkpoint", file: "checkpoint.safetensors", packed: false, run: checkpoint },
    Target { name: "config", file: CONFIG, packed: false, run: config },
    Target { name: "events", file: EVENTS, packed: false, run: events },
    Target { name: "schema", file: "schema.toml", packed: false, run: schema },
    Target::table("text", "x", false),
    Target::table("csv", "x.csv", false),
    Target::table("gz", "x.csv.gz", true),
    Target::table("npy", "x.npy", false),
    Target::table("npz", "x.npz", true),
    Target::table("mat", "x.mat", true),
    Target::table("idx", "x.idx", false),
    Target::table("libsvm", "x.svm", false),
    Target::table("fasta", "x.fa", false),
    Target::table("a3m", "x.a3m", false),
    #[cfg(feature = "parquet")]
    Target::table("parquet", "x.parquet", true),
    #[cfg(feature = "hdf5")]
    Target::table("hdf5", "x.h5", true),
];

/// Tables with more columns are only opened: a libsvm file may claim any width.
const WIDE: usize = 10_000;
/// Rows are read until there are so many numbers.
const MOST_NUMBERS: usize = 1 << 18;
/// Tables of at most so many numbers are written.
const WRITTEN: usize = 1 << 12;

/// The numbers of a table; none if they are too many.
fn numbers(path: &Path) -> harmonium::Result<Option<Array2<f64>>> {
    let options = ReadOptions { missing: true, ..ReadOptions::default() };
    let mut source = data::open_with(path.to_str().unwrap(), &options)?;
    let mut all = Array2::zeros((0, source.columns()));
    while source.columns() <= WIDE && all.len() < MOST_NUMBERS {
        match source.read(100)? {
            Some(rows) => all.append(Axis(0), rows.view()).unwrap(),
            None => {
                assert!(source.rows().is_none_or(|n| n == all.nrows() as u64), "another number of rows than claimed");
                return Ok(Some(all));
            }
        }
    }
    Ok(None)
}

/// The schema of a table of cells survives its two forms as text, and its rows can be read by it.
fn described(path: &Path) {
    let open = || data::open_with(path.to_str().unwrap(), &ReadOptions::default());
    let Ok(mut source) = open() else { return };
    if !source.has_cells() || source.columns() > WIDE {
        return;
    }
    let Ok(schema) = Schema::infer(&mut *source, path, &Asked::default()) else { return };
    assert!(Schema::from_json(&schema.to_json()).unwrap() == schema, "a written schema is another");
    let asked = Asked::from_toml(&schema.to_toml("x")).unwrap();
    assert!(Schema::infer(&mut *open().unwrap(), path, &asked).unwrap() == schema, "a written schema is another");
    let mut rows = schema.coded(open().unwrap(), path, Unseen::Error).unwrap();
    while rows.read(100).unwrap().is_some() {}
}

/// A schema as TOML and as JSON.
fn schema(path: &Path) {
    let _ = Asked::read(path);
    let bytes = fs::read(path).unwrap();
    let Ok(schema) = Schema::from_json(&String::from_utf8_lossy(&bytes)) else { return };
    assert!(Schema::from_json(&schema.to_json()).unwrap() == schema, "a written schema is another");
    Asked::from_toml(&schema.to_toml("x")).unwrap();
}

fn table(path: &Path) {
    described(path);
    let Ok(Some(all)) = numbers(path) else { return };
    if all.len() > WRITTEN {
        return;
    }
    for name in ["again.npy", "again.csv"] {
        let again = path.with_file_name(name);
        let head = TableHead { columns: all.ncols(), rows: Some(all.nrows() as u64), ..TableHead::default() };
        let mut blocks = Some(all.clone()).into_iter();
        write_table(&again, &head, &mut || Ok(blocks.next())).unwrap();
        let read = numbers(&again).unwrap().unwrap();
        // A text file has one kind of NaN.
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(read.dim() == all.dim() && read.iter().zip(&all).all(same), "{name} has other numbers");
    }
}

fn model(path: &Path) {
    let bytes = resealed(fs::read(path).unwrap());
    let Ok(file) = ModelFile::from_bytes(&bytes) else { return };
    let written = file.to_bytes();
    let again = ModelFile::from_bytes(&written).unwrap();
    assert!(again == file && again.to_bytes() == written, "a written model is another");
    let _ = file.rbm.lower();
}

/// Visible and hidden units of the runs whose checkpoints are read.
pub const TRAINERS: [(&str, &str); 2] = [("bernoulli", "bernoulli"), ("potts", "gaussian")];

/// A trainer of a tiny model, whose checkpoints the target reads.
pub fn trainer(visible: &str, hidden: &str) -> Trainer<f32> {
    let states = |name: &str| Options::from_iter((name == "potts").then(|| ("states".into(), "3".into())));
    let kind = |name: &str| Kind::new(name, &states(name)).unwrap();
    let rbm: Rbm<f32> = Rbm::new(kind(visible), 3, kind(hidden), 2).unwrap();
    let lowered = rbm.lower();
    let rows = Array2::from_shape_fn((4, 3), |(r, c)| ((r + c) % 2) as f32);
    let data = Dataset::from_values(lowered.visible(), rows.view()).unwrap();
    let config = TrainConfig { batch_size: 2, chains: 2, updates: 10, ..TrainConfig::default() };
    Trainer::new(config, rbm, data, None).unwrap()
}

fn checkpoint(path: &Path) {
    let bytes = resealed(fs::read(path).unwrap());
    for (visible, hidden) in TRAINERS {
        let mut trainer = trainer(visible, hidden);
        if trainer.resume(&bytes).is_ok() {
            let saved = trainer.checkpoint();
            trainer.resume(&saved).unwrap();
            assert!(trainer.checkpoint() == saved, "a written checkpoint is another");
            let _ = trainer.step();
        }
    }
}

fn config(path: &Path) {
    let Ok(spec) = config_file::read(path).and_then(|table| Spec::from_table(&table)) else { return };
    let text = config_file::text(&spec).unwrap();
    let again = path.with_file_name("again.toml");
    fs::write(&again, &text).unwrap();
    let read = config_file::read(&again).and_then(|table| Spec::from_table(&table)).unwrap();
    assert!(config_file::text(&read).unwrap() == text, "a written configuration is another");
}

fn events(path: &Path) {
    judged(path, |_| ());
}

/// Judges a run with these events, whose data are gone.
pub fn judged(path: &Path, draw: impl FnOnce(&Conclusion)) {
    let text = fs::read(path).unwrap();
    for event in String::from_utf8_lossy(&text).lines().filter_map(|line| serde_json::from_str::<Event>(line).ok()) {
        let line = serde_json::to_string(&event).unwrap();
        let again: Event = serde_json::from_str(&line).unwrap();
        assert!(serde_json::to_string(&again).unwrap() == line, "a written event is another");
    }
    let dir = path.parent().unwrap();
    if !dir.join(MODEL).exists() {
        let kind = || Kind::new("bernoulli", &Options::default()).unwrap();
        ModelFile::new(&Rbm::<f32>::new(kind(), 3, kind(), 2).unwrap()).write(dir.join(MODEL)).unwrap();
        let mut asked = Default::default();
        put(&mut asked, "data.source", "absent.csv".into());
        fs::write(dir.join(CONFIG), config_file::text(&Spec::from_table(&asked).unwrap()).unwrap()).unwrap();
    }
    let drawn = Recorded::read(dir).unwrap().conclude(&Files, &(), Some(0.0), |conclusion| {
        draw(conclusion);
        Ok(())
    });
    let _ = drawn;
}

/// The same bytes with the right digest, if they are a file with a wrong one: damage beneath an undamaged coat.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some((at, digest)) = digest(&bytes) {
        bytes[at..at + digest.len()].copy_from_slice(digest.as_bytes());
    }
    bytes
}

/// Where the digest is written, and what it should be; `docs/model-file.md` has the rule.
fn digest(bytes: &[u8]) -> Option<(usize, String)> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let header = bytes.get(8..)?.get(..length)?;
    let mark = b"\"sha256:";
    let at = 8 + header.windows(mark.len()).position(|w| w == mark)? + 1;
    let all: BTreeMap<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let mut pairs = BTreeMap::new();
    for (key, value) in all.get("__metadata__")?.as_object()?.iter().filter(|(key, _)| *key != "digest") {
        pairs.insert(key.clone(), value.as_str()?.to_string());
    }
    let mut places = BTreeMap::new();
    for (name, tensor) in all.iter().filter(|(name, _)| *name != "__metadata__") {
        let list = |of: &serde_json::Value| Some(of.as_array()?.iter().map(|n| n.to_string()).collect::<Vec<_>>());
        let (shape, ends) = (list(&tensor["shape"])?.join(","), list(&tensor["data_offsets"])?.join(" "));
        places.insert(name.clone(), format!("{} [{shape}] {ends}", tensor["dtype"].as_str()?));
    }
    let mut hash = Sha256::new();
    for text in pairs.iter().chain(&places).flat_map(|(k, v)| [k, v]) {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hash.update(&bytes[8 + length..]);
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    let digest = format!("sha256:{hex}");
    (at + digest.len() <= 8 + length).then_some((at, digest))
}
