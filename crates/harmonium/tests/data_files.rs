//! Data files: what is written is read back to the bit, and a file that lies is refused in a sentence.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use harmonium::data::{self, npy};
use harmonium::rng::Key;
use ndarray::{Array2, Array3, Axis};
use std::fs;
use std::path::{Path, PathBuf};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// Reads a whole table, `block` rows at a time.
fn read(path: &Path, block: usize) -> harmonium::Result<Array2<f64>> {
    let mut source = data::open(path)?;
    let mut all = Array2::zeros((0, source.columns()));
    while let Some(rows) = source.read(block)? {
        assert!(rows.nrows() <= block && rows.nrows() > 0);
        all.append(Axis(0), rows.view()).unwrap();
    }
    assert!(source.rows().is_none_or(|n| n == all.nrows() as u64));
    Ok(all)
}

/// Two random words as a double: every exponent, subnormals, infinities and NaN.
fn any_number(key: Key, i: u64) -> f64 {
    let w = key.words(i, 0);
    f64::from_bits(u64::from(w[0]) << 32 | u64::from(w[1]))
}

fn npy(version: u8, dict: &str, data: &[u8]) -> Vec<u8> {
    let length = dict.len() as u32;
    let length = if version == 1 { length.to_le_bytes()[..2].to_vec() } else { length.to_le_bytes().to_vec() };
    [b"\x93NUMPY".as_slice(), &[version, 0], &length, dict.as_bytes(), data].concat()
}

fn dict(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
}

#[test]
fn reading_what_was_written_is_the_identity_to_the_bit() {
    let folder = Folder::new();
    for seed in 0..50 {
        let key = Key::root(seed);
        let shape = (1 + seed as usize * 7 % 23, 1 + seed as usize * 5 % 11);
        let table = Array2::from_shape_fn(shape, |(r, c)| any_number(key, (r * shape.1 + c) as u64));
        let path = folder.0.path().join("x.npy");
        npy::write(&path, table.view()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len() % 8, 0);
        let bits = |t: &Array2<f64>| t.mapv(f64::to_bits);
        assert_eq!(bits(&read(&path, 1 + seed as usize % 5).unwrap()), bits(&table));
        // A view in another layout is the table it shows, not the memory behind it.
        npy::write(&path, table.t()).unwrap();
        assert_eq!(bits(&read(&path, 3).unwrap()), bits(&table.t().to_owned()));
    }
}

#[test]
fn blocks_write_the_same_file_whether_or_not_the_rows_are_known() {
    let folder = Folder::new();
    let table = Array2::from_shape_fn((10, 3), |(r, c)| (r * 3 + c) as f64);
    let (whole, parts) = (folder.0.path().join("a.npy"), folder.0.path().join("b.npy"));
    npy::write(&whole, table.view()).unwrap();
    for rows in [Some(10), None] {
        let mut blocks = table.axis_chunks_iter(Axis(0), 4).map(|b| b.to_owned());
        assert_eq!(npy::write_blocks(&parts, 3, rows, &mut || Ok(blocks.next())).unwrap(), 10);
        assert_eq!(fs::read(&whole).unwrap(), fs::read(&parts).unwrap());
        fs::remove_file(&parts).unwrap();
    }
    let too_few = npy::write_blocks(&parts, 3, Some(11), &mut || Ok(None)).unwrap_err().to_string();
    assert!(too_few.contains("expected 11 rows"), "{too_few}");
    let mut failing = || Err(harmonium::Error::Undefined("no more".into()));
    assert_eq!(npy::write_blocks(&parts, 3, Some(11), &mut failing).unwrap_err().to_string(), "no more");
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1);
}

#[test]
fn every_version_order_and_dimension_gives_the_same_rows() {
    let folder = Folder::new();
    let images = Array3::from_shape_fn((5, 2, 3), |(n, j, k)| (n * 6 + j * 3 + k) as f64);
    let expected = images.to_shape((5, 6)).unwrap().into_owned();
    let bytes = |a: &Array3<f64>| a.iter().flat_map(|x| (*x as u8).to_le_bytes()).collect::<Vec<u8>>();
    let fortran = images.clone().reversed_axes().as_standard_layout().into_owned();
    for version in [1, 2, 3] {
        for (order, data) in [("False", bytes(&images)), ("True", bytes(&fortran))] {
            let file = folder.file("x.npy", &npy(version, &dict("|u1", order, "(5, 2, 3)"), &data));
            assert_eq!(read(&file, 2).unwrap(), expected, "version {version}, fortran {order}");
        }
    }
}

#[test]
fn a_npy_file_that_lies_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let f8 = |shape: &str, bytes: usize| npy(1, &dict("<f8", "False", shape), &vec![0; bytes]);
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "ends within its .npy header"),
        (b"hello, world".to_vec(), "not a .npy file"),
        (npy(9, "", &[]), "version 9 is unknown"),
        (f8("(2, 2)", 32)[..20].to_vec(), "ends within its .npy header"),
        (f8("(2, 2)", 24), "32 bytes of data, but 24 bytes follow"),
        (f8("(2, 2)", 40), "32 bytes of data, but 40 bytes follow"),
        (f8("(1000000, 1000000)", 8), "8000000000000 bytes of data, but 8 bytes follow"),
        (f8("(4294967296, 4294967296)", 8), "more than any file can hold"),
        (f8("(9223372036854775807, 2, 9)", 8), "more than any file can hold"),
        (f8("(99999999999999999999, 2)", 8), "impossible extent"),
        (f8("(-1, 2)", 8), "negative"),
        (f8("(3,)", 24), "reshape it to (3, 1) for 3 rows"),
        (f8("()", 8), "single number"),
        (f8("(0, 3)", 0), "empty"),
        (f8("(3, 0)", 0), "empty"),
        (npy(1, &dict("|O", "False", "(2, 2)"), &[0; 32]), "Python objects"),
        (npy(1, &dict("<U3", "False", "(2, 2)"), &[0; 48]), "text"),
        (npy(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }", &[0; 16]), "structured"),
        (npy(2, &" ".repeat(70_000), &[]), "70000 bytes, the limit is 65536"),
        ([b"\x93NUMPY\x02\x00".as_slice(), &[0xff; 4]].concat(), "4294967295 bytes, the limit"),
        (npy(1, &format!("{{'shape': {}", "(".repeat(60_000)), &[]), "garbled"),
    ];
    for (bytes, message) in cases {
        let file = folder.file("x.npy", &bytes);
        let found = read(&file, 10).unwrap_err().to_string();
        assert!(found.contains(message) && found.lines().count() == 1, "expected {message}: {found}");
        assert!(found.starts_with(&file.display().to_string()), "{found}");
    }
}

#[test]
fn rows_of_a_sparse_giant_are_refused_before_they_are_allocated() {
    let folder = Folder::new();
    let head = npy(1, &dict("|u1", "False", "(1, 1099511627776)"), &[]);
    let path = folder.file("x.npy", &head);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    if file.set_len(head.len() as u64 + (1 << 40)).is_ok() {
        assert!(read(&path, 1).unwrap_err().to_string().contains("rows of more than 16777216 numbers"));
    }
}

#[test]
fn missing_files_directories_and_unknown_formats_are_refused_by_name() {
    let folder = Folder::new();
    let lost = folder.0.path().join("lost.npy");
    assert!(read(&lost, 1).unwrap_err().to_string().contains("opening"));
    for name in ["d.npy", "d.csv"] {
        let path = folder.0.path().join(name);
        fs::create_dir(&path).unwrap();
        assert!(read(&path, 1).is_err());
    }
    let found = read(&folder.file("x.docx", b""), 1).unwrap_err().to_string();
    assert!(found.contains("'.docx'; known extensions are .npy, .csv"), "{found}");
    assert_eq!(read(&folder.file("X.CSV", b"1\n"), 1).unwrap(), ndarray::array![[1.0]]);
}

/// Thousands of damaged files, each a valid one with a few bytes changed, cut or repeated: an error or a table no larger
/// than the file, never a panic.
#[test]
fn no_damage_makes_a_reader_panic() {
    let folder = Folder::new();
    let table = Array2::from_shape_fn((6, 3), |(r, c)| (r * 3 + c) as f64);
    let seed_npy = folder.0.path().join("seed.npy");
    npy::write(&seed_npy, table.view()).unwrap();
    let fortran = npy(2, &dict(">i2", "True", "(6, 3)"), &[7; 36]);
    let csv = b"a,\"b\",c\r\n1,2,3\r\n4.5,-6e3,nan\n7,8,\"9\"\n".to_vec();
    for (name, seed) in [("x.npy", fs::read(&seed_npy).unwrap()), ("x.npy", fortran), ("x.csv", csv)] {
        for round in 0..3000 {
            let bytes = damaged(&seed, Key::root(round));
            let file = folder.file(name, &bytes);
            if let Ok(table) = read(&file, 4) {
                assert!(table.len() <= bytes.len(), "{} numbers from {} bytes", table.len(), bytes.len());
            }
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
