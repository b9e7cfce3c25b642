//! Small runs whose files are replaced by hostile ones.

use harmonium::run::{CHECKPOINT, Files, Opened, Request, put};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// What a run is asked for: `binary` on four columns of bits, or `potts` on three columns of codes.
pub fn asked(folder: &Folder, name: &str) -> Table {
    let mut table = Table::new();
    let codes = folder.path("codes.csv");
    fs::write(&codes, "0,1,2\n2,1,0\n1,1,1\n0,0,2\n").unwrap();
    let potts = name == "potts";
    let source = if potts { codes.display().to_string() } else { "builtin:bars:2".into() };
    let settings: [(&str, Value); 9] = [
        ("data.source", source.into()),
        ("model.visible", if potts { "potts" } else { "bernoulli" }.into()),
        ("model.n_hidden", 2.into()),
        ("train.method", "pcd".into()),
        ("train.chains", 4.into()),
        ("train.updates", 10.into()),
        ("train.likelihood", false.into()),
        ("train.penalty.l2", 0.0.into()),
        ("data.valid_fraction", 0.0.into()),
    ];
    for (key, value) in settings {
        put(&mut table, key, value);
    }
    table
}

/// Opens a run in a directory.
pub fn open(asked: Table, output: &Path, resume: bool) -> harmonium::Result<Opened> {
    let request =
        Request { asked, length: None, config: None, output: Some(output.into()), resume, demo: false, tables: &Files };
    request.open(&())
}

/// An unfinished run in the directory `run`: trained, but not judged.
pub fn unfinished(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.path("run");
    let Opened::Ready(mut run) = open(asked(folder, name), &path, false).unwrap() else { panic!() };
    run.train(&mut ()).unwrap();
    path
}

/// The bytes of the checkpoint of such a run.
pub fn checkpoint(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(unfinished(folder, name).join(CHECKPOINT)).unwrap()
}
