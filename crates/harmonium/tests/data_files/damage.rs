//! Thousands of damaged files, each a valid one with a few bytes changed, cut or repeated.

use crate::common::{Entry, Folder, dict, gz, idx, npy, npy_u8, zip};
use crate::mat_writer::LITTLE;
use harmonium::data::{self, ReadOptions};
use harmonium::rng::Key;
use ndarray::Array2;
use std::path::Path;

/// Damaged files per seed.
const ROUNDS: u64 = 1000;

/// An error or a table, never a panic. Wide tables are opened only: a libsvm file may claim any width, and rightly so.
fn survives(path: &Path, options: &ReadOptions) -> Option<usize> {
    let mut source = data::open_with(path.to_str().unwrap(), options).ok()?;
    let mut numbers = 0;
    while source.columns() < 10_000 {
        match source.read(4).ok()? {
            Some(rows) => numbers += rows.len(),
            None => return Some(numbers),
        }
    }
    None
}

fn table() -> Array2<f64> {
    Array2::from_shape_fn((6, 3), |(r, c)| (r * 3 + c) as f64)
}

#[test]
fn no_damage_makes_a_reader_panic() {
    let folder = Folder::new();
    let csv = b"a,\"b\",c\r\n1,2,3\r\n4.5,-6e3,nan\n7,8,\"9\"\n".to_vec();
    let seeds = [
        ("x.npy", npy_u8(&table(), false)),
        ("x.npy", npy(2, &dict(">i2", "True", "(6, 3)"), &[7; 36])),
        ("x.csv", csv),
        ("x.txt", b"# 2 rows\n 1 2 3\n4\t5 6\n".to_vec()),
        ("x", b"1;2;\"a\nb\"\n4;5;\"\"\"\"\n".to_vec()),
        ("x.idx", idx(0x08, &[6, 3, 1], &[9; 18])),
        ("x.idx", idx(0x0d, &[6, 1], &[9; 24])),
        ("x.svm", b"1 1:0.5 3:2 # first\n-1 qid:3 2:1\n\n2 3:1e3\n".to_vec()),
        ("x.npz", zip(&[Entry::stored("x.npy", &npy_u8(&table(), false)), Entry::deflated("y.npy", b"")])),
        ("x.npz", zip(&[Entry::deflated("x.npy", &npy_u8(&table(), true))])),
        ("x.fa", b">a\nAC-\nGT\n>b c\nACGTN\n".to_vec()),
        ("x.a3m", b">a\nACdefD\n>b\nAC.-\n\n".to_vec()),
        ("x.csv.gz", gz(b"1,2\n3,4\n")),
        ("x.mat", LITTLE.file(&[LITTLE.matrix("x", &table()), LITTLE.sparse("y", 0, &table())])),
        ("x.mat", LITTLE.file(&[LITTLE.sparse("y", 0, &table())])),
        ("x.mat", LITTLE.file(&[LITTLE.packed(&LITTLE.matrix("x", &table()))])),
    ];
    #[cfg(feature = "parquet")]
    let seeds =
        seeds.into_iter().chain(["bits", "lists", "types"].map(|f| ("x.parquet", fixture(&format!("{f}.parquet")))));
    #[cfg(feature = "hdf5")]
    let seeds = seeds.into_iter().chain(["bits", "many"].map(|f| ("x.h5", fixture(&format!("{f}.h5")))));
    for (name, seed) in seeds {
        let packed = ["z", "h5", "parquet", "mat"].iter().any(|e| name.ends_with(e));
        for round in 0..ROUNDS {
            let bytes = damaged(&seed, Key::root(round));
            let numbers = survives(&folder.file(name, &bytes), &ReadOptions::default());
            // One byte is one number at most, unless it is packed or stands for a row of zeros.
            let fits = numbers.is_none_or(|n| n <= bytes.len());
            assert!(fits || packed || name == "x.svm", "{numbers:?} numbers from {} bytes", bytes.len());
        }
    }
}

/// Damage beneath an undamaged coat: the checksums are right, the content is not.
#[test]
fn no_packed_damage_makes_a_reader_panic() {
    let folder = Folder::new();
    for (name, seed) in [("x.npy", npy_u8(&table(), false)), ("x.npy", npy_u8(&table(), true))] {
        for round in 0..ROUNDS {
            let bytes = damaged(&seed, Key::root(round));
            let _ = survives(&folder.file("x.npz", &zip(&[Entry::deflated(name, &bytes)])), &ReadOptions::default());
            let _ = survives(&folder.file("x.npy.gz", &gz(&bytes)), &ReadOptions::default());
        }
    }
    for array in [LITTLE.matrix("x", &table()), LITTLE.sparse("x", 0, &table())] {
        for round in 0..ROUNDS {
            let bytes = LITTLE.file(&[LITTLE.packed(&damaged(&array, Key::root(round)))]);
            let _ = survives(&folder.file("x.mat", &bytes), &ReadOptions::default());
        }
    }
    for round in 0..ROUNDS {
        let bytes = damaged(&idx(0x08, &[6, 3, 1], &[9; 18]), Key::root(round));
        let _ = survives(&folder.file("x-idx3-ubyte.gz", &gz(&bytes)), &ReadOptions::default());
    }
}

#[test]
fn no_choice_of_columns_makes_a_reader_panic() {
    let folder = Folder::new();
    let csv = folder.file("x.csv", b"a,b,1-2,last\n1,2,3,4\n5,6,7,8\n");
    let svm = folder.file("x.svm", b"1 1:2 4:3\n");
    for round in 0..ROUNDS {
        let text = |seed: &[u8], n| String::from_utf8(damaged(seed, Key::root(round).step(n))).ok();
        let (columns, label_column) = (text(b"1-3,a,2,last,1-2", 1), text(b"last", 2).filter(|_| round % 3 == 0));
        let options =
            ReadOptions { skip_rows: round % 5, columns, label_column, alphabet: None, ..ReadOptions::default() };
        let _ = (survives(&csv, &options), survives(&svm, &options));
    }
}

#[cfg(any(feature = "parquet", feature = "hdf5"))]
fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(crate::common::fixture(name)).unwrap()
}

/// Every length a file can be cut to: what is left is refused, or is a whole table without its end.
#[cfg(any(feature = "parquet", feature = "hdf5"))]
#[test]
fn no_cut_makes_a_reader_panic() {
    let folder = Folder::new();
    let files = [
        #[cfg(feature = "parquet")]
        "lists.parquet",
        #[cfg(feature = "hdf5")]
        "bits.h5",
    ];
    for name in files {
        let whole = fixture(name);
        for length in 0..whole.len() {
            let _ = survives(&folder.file(name, &whole[..length]), &ReadOptions::default());
        }
    }
}

fn damaged(seed: &[u8], key: Key) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for i in 0..1 + u64::from(key.words(0, 0)[0] % 4) {
        let [what, place, value, _] = key.words(1 + i, 0);
        if bytes.is_empty() {
            break;
        }
        // Most damage goes to the beginning, where the header is.
        let place = place as usize % if what & 1 == 0 { bytes.len().min(90) } else { bytes.len() };
        match (what >> 1) % 5 {
            0 => bytes[place] = value as u8,
            1 => bytes[place] ^= 1 << (value % 8),
            2 => bytes[place] = b"0123456789(),'{}<>|fiuO-\n\"\0\xff"[value as usize % 28],
            3 => bytes.truncate(place),
            _ => bytes.splice(place..place, seed[..place.min(seed.len())].to_vec()).for_each(drop),
        }
    }
    bytes
}
