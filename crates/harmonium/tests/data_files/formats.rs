//! Every format gives the same numbers, whatever the file is called.

#[cfg(any(feature = "parquet", feature = "hdf5"))]
use crate::common::fixture;
use crate::common::{Entry, Folder, dict, gz, idx, npy, npy_u8, read, read_with, zip};
use crate::mat_writer::LITTLE;
use harmonium::data::{self, BUILTINS, FORMATS, ReadOptions};
use ndarray::{Array2, array};
use std::fs;

/// Zeros and ones, so that every format can hold it; every column and every row has a one.
fn bits() -> Array2<f64> {
    Array2::from_shape_fn((7, 6), |(r, c)| f64::from(u8::from((r * 5 + c * 3) % 4 < 2)))
}

fn lines(separator: &str) -> String {
    let line = |row: ndarray::ArrayView1<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(separator);
    bits().rows().into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn libsvm(base: usize) -> String {
    let row = |row: ndarray::ArrayView1<f64>| {
        let pairs = row.iter().enumerate().filter(|(_, x)| **x != 0.0).map(|(c, x)| format!(" {}:{x}", c + base));
        format!("-1{}\n", pairs.collect::<String>())
    };
    bits().rows().into_iter().map(row).collect()
}

fn every_format() -> Vec<(&'static str, Vec<u8>)> {
    let (c, fortran) = (npy_u8(&bits(), false), npy_u8(&bits(), true));
    let labels = npy(1, &dict("|u1", "False", "(7,)"), &[0; 7]);
    let floats: Vec<u8> = bits().iter().flat_map(|x| (*x as f32).to_be_bytes()).collect();
    let bytes: Vec<u8> = bits().iter().map(|x| 255 * *x as u8).collect();
    vec![
        ("a.npy", c.clone()),
        ("b.npy", fortran.clone()),
        ("c.csv", lines(",").into_bytes()),
        ("d.tsv", lines("\t").into_bytes()),
        ("e.csv", lines(";").into_bytes()),
        ("f.amat", lines("  ").into_bytes()),
        ("g.libsvm", libsvm(1).into_bytes()),
        ("h.svmlight", libsvm(0).into_bytes()),
        ("i-idx2-ubyte", idx(0x08, &[7, 6], &bytes)),
        ("j.idx3-ubyte", idx(0x0d, &[7, 2, 3], &floats)),
        ("k.npz", zip(&[Entry::stored("y.npy", &labels), Entry::stored("x.npy", &c)])),
        ("l.npz", zip(&[Entry::deflated("x.npy", &c), Entry::deflated("y.npy", &labels)])),
        ("m.npz", zip(&[Entry::stored("x.npy", &fortran), Entry::stored("note.txt", b"hello")])),
        ("n.npz", zip(&[Entry::deflated("x.npy", &fortran)])),
        #[cfg(feature = "parquet")]
        ("o.parquet", fs::read(fixture("bits.parquet")).unwrap()),
        #[cfg(feature = "parquet")]
        ("p.pq", fs::read(fixture("lists.parquet")).unwrap()),
        #[cfg(feature = "hdf5")]
        ("q.h5", fs::read(fixture("bits.h5")).unwrap()),
        ("r.mat", LITTLE.file(&[LITTLE.matrix("x", &bits())])),
        ("s.mat", LITTLE.file(&[LITTLE.packed(&LITTLE.sparse("x", 0, &bits()))])),
    ]
}

#[test]
fn the_same_table_is_read_from_every_format_packed_or_not() {
    let folder = Folder::new();
    for (name, bytes) in every_format() {
        for block in [1, 3, 100] {
            assert_eq!(read(&folder.file(name, &bytes), block).unwrap(), bits(), "{name}");
            if ![".npz", ".parquet", ".pq", ".h5", ".mat"].iter().any(|e| name.ends_with(e)) {
                let packed = folder.file(&format!("{name}.gz"), &gz(&bytes));
                assert_eq!(read(&packed, block).unwrap(), bits(), "{name}.gz");
            }
        }
    }
}

#[test]
fn a_format_is_recognised_without_its_extension() {
    let folder = Folder::new();
    for (name, bytes) in
        every_format().into_iter().filter(|(name, _)| !name.ends_with("svm") && !name.contains("light"))
    {
        for odd in ["file", "file.of.mine", "file.gz"] {
            if name.starts_with(['o', 'p', 'q']) && odd.ends_with("gz") {
                continue;
            }
            assert_eq!(read(&folder.file(odd, &bytes), 4).unwrap(), bits(), "{name} as {odd}");
        }
    }
    // Two gzip files one after the other are one, as with gzip itself, and a name that promises gzip need not keep it.
    let halves = [gz(b"1,2\n3,"), gz(b"4\n")].concat();
    assert_eq!(read(&folder.file("x.csv", &halves), 9).unwrap(), array![[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(read(&folder.file("x.csv.gz", b"1,2\n"), 9).unwrap(), array![[1.0, 2.0]]);
    assert_eq!(read(&folder.file("X.CSV", b"1\n"), 1).unwrap(), array![[1.0]]);
}

#[test]
fn every_idx_type_is_read_and_bytes_become_shades() {
    let folder = Folder::new();
    let cases: [(u8, Vec<u8>, [f64; 2]); 6] = [
        (0x08, vec![255, 51], [1.0, 0.2]),
        (0x09, vec![0xff, 7], [-1.0, 7.0]),
        (0x0b, [-300i16, 4].map(i16::to_be_bytes).concat(), [-300.0, 4.0]),
        (0x0c, [-70_000i32, 5].map(i32::to_be_bytes).concat(), [-70_000.0, 5.0]),
        (0x0d, [0.5f32, -2.0].map(f32::to_be_bytes).concat(), [0.5, -2.0]),
        (0x0e, [0.1f64, 1e300].map(f64::to_be_bytes).concat(), [0.1, 1e300]),
    ];
    for (code, data, expected) in cases {
        assert_eq!(read(&folder.file("x.idx", &idx(code, &[1, 2], &data)), 1).unwrap(), array![expected], "{code}");
    }
}

#[test]
fn arrays_of_three_dimensions_are_images() {
    let folder = Folder::new();
    let images = npy(1, &dict("|u1", "False", "(1, 2, 3)"), &[0; 6]);
    let fortran = npy(1, &dict("|u1", "True", "(1, 2, 3)"), &[0; 6]);
    for (name, bytes) in [("x.npy", images), ("x.npy", fortran), ("x.idx", idx(8, &[1, 2, 3], &[0; 6]))] {
        assert_eq!(data::open(&folder.file(name, &bytes)).unwrap().image(), Some((2, 3)), "{name}");
    }
    assert_eq!(data::open(&folder.file("x.csv", b"1,2")).unwrap().image(), None);
    assert_eq!(read_with("builtin:digits", &ReadOptions::default()).unwrap().dim(), (1797, 64));
    assert_eq!(data::open("builtin:digits".as_ref()).unwrap().image(), Some((8, 8)));
}

#[test]
fn archives_of_several_tables_ask_for_a_name() {
    let folder = Folder::new();
    let (x, y) = (npy_u8(&bits(), false), npy_u8(&array![[1.0, 2.0]], false));
    let path = folder.file("two.npz", &zip(&[Entry::stored("x.npy", &x), Entry::deflated("deep/y.npy", &y)]));
    let found = read(&path, 1).unwrap_err().to_string();
    assert!(found.contains("several arrays: x (7, 6), deep/y (1, 2); choose one, such as two.npz:x"), "{found}");
    let named = |name: &str| read_with(&format!("{}:{name}", path.display()), &ReadOptions::default());
    assert_eq!(named("x").unwrap(), bits());
    assert_eq!(named("deep/y").unwrap(), array![[1.0, 2.0]]);
    assert_eq!(named("x.npy").unwrap(), bits());
    assert!(named("z").unwrap_err().to_string().contains("no array 'z'; it has x, deep/y"));
}

#[test]
fn libsvm_columns_can_be_chosen_beyond_the_largest_index() {
    let folder = Folder::new();
    let path = folder.file("x.svm", b"# made by hand\n1,3 2:5 qid:7 3:0.5 # note 9:9\n\n 1:7\n0\n");
    let read = |columns: Option<&str>, skip_rows| {
        let columns = columns.map(String::from);
        read_with(path.to_str().unwrap(), &ReadOptions { skip_rows, columns, ..ReadOptions::default() }).unwrap()
    };
    assert_eq!(read(None, 0), array![[0.0, 5.0, 0.5], [7.0, 0.0, 0.0], [0.0, 0.0, 0.0]]);
    assert_eq!(read(Some("1-4"), 0).dim(), (3, 4));
    assert_eq!(read(Some("3,2"), 0), array![[0.5, 5.0], [0.0, 0.0], [0.0, 0.0]]);
    assert_eq!(read(None, 2), array![[7.0], [0.0]]);
}

#[test]
fn options_are_for_text_and_refused_elsewhere() {
    let folder = Folder::new();
    let options = ReadOptions { columns: Some("1".into()), ..ReadOptions::default() };
    for (name, bytes) in
        every_format().into_iter().filter(|(name, _)| ["np", "idx", ".mat"].iter().any(|part| name.contains(part)))
    {
        let found = read_with(folder.file(name, &bytes).to_str().unwrap(), &options).unwrap_err().to_string();
        assert!(found.contains("can be chosen in text tables, not in"), "{found}");
    }
    assert!(read_with("builtin:bars", &options).unwrap_err().to_string().contains("not in built-in data"));
    let label = ReadOptions { label_column: Some("last".into()), ..ReadOptions::default() };
    let svm = folder.file("x.svm", b"1 1:1\n");
    assert!(
        read_with(svm.to_str().unwrap(), &label)
            .unwrap_err()
            .to_string()
            .contains("label of a libsvm file is its first column")
    );
}

#[test]
fn missing_files_directories_and_unknown_formats_are_refused_by_name() {
    let folder = Folder::new();
    for format in FORMATS {
        let extension = format.extensions[0];
        let lost = folder.0.path().join(format!("lost.{extension}"));
        assert!(read(&lost, 1).unwrap_err().to_string().contains("no such file"));
        let path = folder.0.path().join(format!("d.{extension}"));
        fs::create_dir(&path).unwrap();
        assert!(read(&path, 1).unwrap_err().to_string().contains("not a regular file"));
    }
    let found = folder.refusal("x.docx", b"\x01\x02");
    assert!(found.contains("'.docx', and the file is not text; known extensions are .npy, .fasta"), "{found}");
    for (name, format) in [("x.xlsx", "Excel"), ("x.arff", "ARFF"), ("x.arff.gz", "ARFF")] {
        let found = folder.refusal(name, b"1,2\n");
        assert!(found.contains(&format!("{format} files cannot be read")), "{found}");
    }
    assert_eq!(BUILTINS.len(), 7);
}
