//! .npy: written and read.

use crate::common::{Folder, dict, npy, read};
use harmonium::data::{TableHead, npy, write_table};
use harmonium::rng::Key;
use ndarray::{Array2, Array3, Axis};
use std::fs;

/// Two random words as a double: every exponent, subnormals, infinities and NaN.
fn any_number(key: Key, i: u64) -> f64 {
    let w = key.words(i, 0);
    f64::from_bits(u64::from(w[0]) << 32 | u64::from(w[1]))
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

fn table_of(rows: Option<u64>) -> TableHead<'static> {
    TableHead { columns: 3, rows, ..TableHead::default() }
}

#[test]
fn blocks_write_the_same_file_whether_or_not_the_rows_are_known() {
    let folder = Folder::new();
    let table = Array2::from_shape_fn((10, 3), |(r, c)| (r * 3 + c) as f64);
    let (whole, parts) = (folder.0.path().join("a.npy"), folder.0.path().join("b.npy"));
    npy::write(&whole, table.view()).unwrap();
    for rows in [Some(10), None] {
        let mut blocks = table.axis_chunks_iter(Axis(0), 4).map(|b| b.to_owned());
        assert_eq!(write_table(&parts, &table_of(rows), &mut || Ok(blocks.next())).unwrap(), 10);
        assert_eq!(fs::read(&whole).unwrap(), fs::read(&parts).unwrap());
        fs::remove_file(&parts).unwrap();
    }
    let too_few = write_table(&parts, &table_of(Some(11)), &mut || Ok(None)).unwrap_err().to_string();
    assert!(too_few.contains("expected 11 rows"), "{too_few}");
    let mut failing = || Err(harmonium::Error::Undefined("no more".into()));
    assert_eq!(write_table(&parts, &table_of(Some(11)), &mut failing).unwrap_err().to_string(), "no more");
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
        (f8("(99999999999999999999, 2)", 8), "impossible size"),
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
        (npy(1, &format!("{{'shape': {}", "(".repeat(60_000)), &[]), "malformed"),
    ];
    for (bytes, message) in cases {
        let found = folder.refusal("x.npy", &bytes);
        assert!(found.contains(message), "expected {message}: {found}");
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
