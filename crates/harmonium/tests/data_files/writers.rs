//! Tables that are written are read back by the readers, which are tested against files of other programs.

use crate::common::{Folder, read};
use harmonium::data::{self, TableHead, WRITERS, Writer, write_table};
use ndarray::{Array2, Axis, array};
use std::fs;

fn write(folder: &Folder, name: &str, table: TableHead, rows: &Array2<f64>) -> harmonium::Result<u64> {
    let mut blocks = rows.axis_chunks_iter(Axis(0), 2).map(|b| b.to_owned());
    let table = TableHead { columns: rows.ncols(), ..table };
    write_table(&folder.0.path().join(name), &table, &mut || Ok(blocks.next()))
}

#[test]
fn what_is_written_is_read_back_from_every_format() {
    let folder = Folder::new();
    let rows = array![[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]];
    for (name, unit) in
        [("x.npy", 1.0), ("x", 1.0), ("x.csv", 7.0), ("x.idx", 5.0), ("x-idx2-ubyte", 5.0), ("x.fa", 1.0)]
    {
        let table = TableHead { alphabet: Some("-ACGT"), ..TableHead::default() };
        let rows = &rows / unit;
        for known in [None, Some(3)] {
            assert_eq!(write(&folder, name, TableHead { rows: known, ..table }, &rows).unwrap(), 3, "{name}");
            assert_eq!(read(&folder.0.path().join(name), 10).unwrap(), rows, "{name}");
        }
    }
    assert_eq!(fs::read_to_string(folder.0.path().join("x.fa")).unwrap(), ">1\n-AG\n>2\nC-A\n>3\nAA-\n");
}

#[test]
fn names_images_and_vectors_are_kept_where_the_format_can() {
    let folder = Folder::new();
    let names = ["a", "b, c", "say \"d\""].map(String::from);
    let table = TableHead { names: Some(&names), image: Some((1, 3)), ..TableHead::default() };
    let rows = array![[0.1, 1e-300, -0.0], [1.0 / 3.0, 1e300, 5e-324]];
    write(&folder, "x.csv", table, &rows).unwrap();
    let path = folder.0.path().join("x.csv");
    assert_eq!(read(&path, 9).unwrap(), rows);
    assert_eq!(data::open(&path).unwrap().names(), Some(names.as_slice()));
    write(&folder, "x.idx3-ubyte", table, &array![[0.0, 1.0, 0.2]]).unwrap();
    assert_eq!(data::open(&folder.0.path().join("x.idx3-ubyte")).unwrap().image(), Some((1, 3)));
    write(&folder, "x.npy", TableHead { vector: true, ..TableHead::default() }, &array![[1.0], [2.0]]).unwrap();
    let found = read(&folder.0.path().join("x.npy"), 9).unwrap_err().to_string();
    assert!(found.contains("one dimension"), "{found}");
}

#[test]
fn what_a_format_cannot_hold_is_refused_and_nothing_is_left() {
    let folder = Folder::new();
    let letters = TableHead { alphabet: Some("-AC"), ..TableHead::default() };
    for (name, table, rows, message) in [
        ("x.idx", TableHead::default(), array![[0.0, 0.5], [1.0, 1.5]], "row 2, column 2: 1.5 is not from 0 to 1"),
        ("x.idx", TableHead::default(), array![[f64::NAN]], "row 1, column 1: NaN is not from 0 to 1"),
        ("x.fasta", TableHead::default(), array![[0.0]], "these rows are not sequences"),
        ("x.fasta", letters, array![[0.0, 3.0]], "row 1, column 2: 3 is not the code of a letter"),
        ("x.fasta", letters, array![[0.5]], "row 1, column 1: 0.5 is not the code of a letter"),
        ("x.fasta", letters, array![[-1.0]], "-1 is not the code of a letter"),
        ("x.docx", TableHead::default(), array![[0.0]], "tables are written as .npy, .csv, "),
        ("x.csv.gz", TableHead::default(), array![[0.0]], "tables are written as .npy"),
    ] {
        let found = write(&folder, name, table, &rows).unwrap_err().to_string();
        assert!(found.contains(message) && found.contains(name), "expected {message}: {found}");
    }
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 0);
    assert!(WRITERS.iter().all(|w| Writer::of(format!("x.{}", w.extensions[0]).as_ref()).is_ok()));
}
