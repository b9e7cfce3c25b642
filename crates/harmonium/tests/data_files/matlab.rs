//! MATLAB files: every type and both orders, and what is refused.

use crate::common::{Folder, gz, read, read_with};
use crate::mat_writer::*;
use harmonium::data::{self, ReadOptions};
use harmonium::rng::Key;
use ndarray::{Array2, array};

/// Every exponent, infinities and NaN; a third of them zero.
fn table(rows: usize, columns: usize) -> Array2<f64> {
    let number = |(r, c): (usize, usize)| {
        let w = Key::root(7).words((r * columns + c) as u64, 0);
        if w[2].is_multiple_of(3) { 0.0 } else { f64::from_bits(u64::from(w[0]) << 32 | u64::from(w[1])) }
    };
    Array2::from_shape_fn((rows, columns), number)
}

fn bits(table: &Array2<f64>) -> Array2<u64> {
    table.mapv(f64::to_bits)
}

#[test]
fn a_matrix_is_read_to_the_bit_in_either_order_packed_or_not_full_or_sparse() {
    let (folder, table) = (Folder::new(), table(23, 7));
    for mat in [LITTLE, BIG] {
        for array in [mat.matrix("a_long_name", &table), mat.sparse("s", 0, &table)] {
            for bytes in [mat.file(std::slice::from_ref(&array)), mat.file(&[mat.packed(&array)])] {
                for block in [1, 4, 100] {
                    assert_eq!(bits(&read(&folder.file("x.mat", &bytes), block).unwrap()), bits(&table));
                }
            }
        }
    }
}

/// MATLAB stores whole doubles as small integers; the class is what it was.
#[test]
fn every_type_of_number_is_read_in_either_order() {
    let folder = Folder::new();
    let bytes = |big: bool, little: &[u8]| -> Vec<u8> {
        if big { little.iter().rev().copied().collect() } else { little.to_vec() }
    };
    let cases: [(u32, u32, Vec<u8>, f64); 12] = [
        (DOUBLE, 1, vec![0xfd], -3.0),
        (DOUBLE, 2, vec![200], 200.0),
        (DOUBLE, 3, (-300i16).to_le_bytes().to_vec(), -300.0),
        (DOUBLE, 4, 40_000u16.to_le_bytes().to_vec(), 40_000.0),
        (DOUBLE, 5, (-70_000i32).to_le_bytes().to_vec(), -70_000.0),
        (13, 6, 4_000_000_000u32.to_le_bytes().to_vec(), 4e9),
        (7, 7, 0.1f32.to_le_bytes().to_vec(), f64::from(0.1f32)),
        (DOUBLE, 9, 0.1f64.to_le_bytes().to_vec(), 0.1),
        (14, 12, i64::MIN.to_le_bytes().to_vec(), -f64::powi(2.0, 63)),
        (15, 13, (1u64 << 63).to_le_bytes().to_vec(), f64::powi(2.0, 63)),
        (UINT8 | LOGICAL, 2, vec![7], 1.0),
        (UINT8, 2, vec![7], 7.0),
    ];
    for (class, kind, number, expected) in cases {
        for mat in [LITTLE, BIG] {
            let one = bytes(mat.big, &number);
            let data = if one.len() <= 4 { mat.small(kind, &one) } else { mat.element(kind, &one) };
            let file = folder.file("x.mat", &mat.file(&[mat.array(class, &[1, 1], "x", &[data])]));
            assert_eq!(read(&file, 1).unwrap(), array![[expected]], "type {kind}");
            let data = mat.element(kind, &[one.clone(), one].concat());
            let file = folder.file("x.mat", &mat.file(&[mat.array(class, &[2, 1], "x", &[data])]));
            assert_eq!(read(&file, 5).unwrap(), array![[expected], [expected]], "type {kind}");
        }
    }
}

#[test]
fn the_first_of_three_dimensions_counts_the_rows() {
    let folder = Folder::new();
    let (n, h, w) = (5, 2, 3);
    // The first subscript varies fastest.
    let data: Vec<u8> = (0..w).flat_map(|k| (0..h).flat_map(move |j| (0..n).map(move |i| i * 6 + j * 3 + k))).collect();
    let array = LITTLE.array(UINT8, &[5, 2, 3], "x", &[LITTLE.element(U8, &data)]);
    for bytes in [LITTLE.file(std::slice::from_ref(&array)), LITTLE.file(&[LITTLE.packed(&array)])] {
        let file = folder.file("x.mat", &bytes);
        let source = data::open(&file).unwrap();
        assert_eq!((source.image(), source.columns()), (Some((2, 3)), 6));
        assert!(source.note().unwrap().contains("the first dimension of array 'x' (5, 2, 3) counts the rows"));
        assert_eq!(read(&file, 2).unwrap(), Array2::from_shape_fn((5, 6), |(i, c)| (i * 6 + c) as f64));
    }
    let row = folder.file("y.mat", &LITTLE.file(&[LITTLE.matrix("y", &array![[1.0, 2.0]])]));
    let note = data::open(&row).unwrap().note().unwrap();
    assert!(note.contains("array 'y' (1, 2) is read as one row; transpose it to have 2 rows"), "{note}");
    assert_eq!(
        data::open(&folder.file("z.mat", &LITTLE.file(&[LITTLE.matrix("z", &table(3, 2))]))).unwrap().note(),
        None
    );
}

/// A table, its labels, text and a struct, as people save them.
fn mixed() -> Vec<Vec<u8>> {
    let text = LITTLE.array(CHAR, &[1, 2], "note", &[LITTLE.small(4, b"h\0i\0")]);
    let labels = LITTLE.array(UINT8, &[1, 3], "y", &[LITTLE.small(U8, &[1, 2, 3])]);
    let empty = LITTLE.array(STRUCT, &[1, 1], "s", &[LITTLE.small(I32, &LITTLE.word(32)), LITTLE.element(I8, b"")]);
    // The work space of objects has no name.
    let space = LITTLE.array(UINT8, &[2, 2], "", &[LITTLE.small(U8, &[0; 4])]);
    vec![text, LITTLE.packed(&labels), LITTLE.matrix("X", &table(3, 4)), empty, space]
}

#[test]
fn the_only_matrix_is_found_and_of_several_one_is_named() {
    let folder = Folder::new();
    assert_eq!(bits(&read(&folder.file("x.mat", &LITTLE.file(&mixed())), 2).unwrap()), bits(&table(3, 4)));
    let other = LITTLE.packed(&LITTLE.sparse("deep", LOGICAL, &array![[0.0, 2.0], [-1.0, 0.0]]));
    let path = folder.file("x.mat", &LITTLE.file(&[mixed(), vec![other]].concat()));
    let found = read(&path, 1).unwrap_err().to_string();
    assert!(found.contains("several arrays: X (3, 4), deep (2, 2); choose one, such as x.mat:X"), "{found}");
    let named = |name: &str| read_with(&format!("{}:{name}", path.display()), &ReadOptions::default());
    assert_eq!(bits(&named("X").unwrap()), bits(&table(3, 4)));
    assert_eq!(named("deep").unwrap(), array![[0.0, 1.0], [1.0, 0.0]]);
    assert_eq!(named("y").unwrap(), array![[1.0, 2.0, 3.0]]);
    let said = |name: &str| named(name).unwrap_err().to_string();
    assert!(said("z").contains("the file has no array 'z'; it has note, y, X, s, deep"), "{}", said("z"));
    assert!(said("note").contains("array 'note': it holds text, expected a matrix of numbers"), "{}", said("note"));
    assert!(said("s").contains("array 's': it holds a struct"), "{}", said("s"));
    let vectors = [LITTLE.matrix("a", &table(1, 3)), LITTLE.matrix("b", &table(3, 1))];
    let found = folder.refusal("v.mat", &LITTLE.file(&vectors));
    assert!(found.contains("several arrays: a (1, 3), b (3, 1); choose one"), "{found}");
    let found = folder.refusal("v.mat", &LITTLE.file(&[mixed()[0].clone(), mixed()[3].clone()]));
    assert!(
        found.contains("none of the arrays in this file is a table of numbers: note (text), s (a struct)"),
        "{found}"
    );
}

#[test]
fn arrays_of_other_things_are_refused_by_name() {
    let folder = Folder::new();
    let opaque = {
        let names = [b"t".as_slice(), b"MCOS", b"table"].map(|n| LITTLE.element(I8, n)).concat();
        LITTLE.element(14, &[LITTLE.element(U32, &LITTLE.words(&[OPAQUE, 0])), names].concat())
    };
    let numbers = || LITTLE.element(F64, &[0; 32]);
    let complex = |class: u32| LITTLE.array(class | COMPLEX, &[2, 2], "t", &[numbers(), numbers()]);
    for (array, what) in [
        (LITTLE.array(CELL, &[1, 1], "t", &[LITTLE.matrix("", &table(1, 1))]), "a cell array"),
        (LITTLE.array(3, &[1, 1], "t", &[]), "an object"),
        (LITTLE.array(16, &[1, 1], "t", &[]), "a function"),
        (complex(DOUBLE), "complex numbers"),
        (complex(SPARSE), "complex numbers"),
        (opaque, "a MATLAB table, string or object"),
    ] {
        for array in [LITTLE.packed(&array), array] {
            let found = folder.refusal("x.mat", &LITTLE.file(&[array]));
            assert!(found.contains(&format!("array 't': it holds {what}, expected a matrix of numbers")), "{found}");
        }
    }
}

#[test]
fn other_versions_of_the_format_are_refused_by_name() {
    let folder = Folder::new();
    let with = |at: usize, bytes: &[u8]| {
        let mut file = LITTLE.file(&[LITTLE.matrix("x", &table(3, 2))]);
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    // Level 4: type 0 (doubles), 1 × 1, real, a name of two bytes.
    let old = |mat: Mat, kind| [&mat.words(&[kind, 1, 1, 0, 2])[..], b"x\0", &[0; 8]].concat();
    for (bytes, message) in [
        (with(124, &[0, 2]), "the format of MATLAB 7.3, which is HDF5; load it in MATLAB and save it with -v7"),
        (b"\x89HDF\r\n\x1a\n and so on".to_vec(), "the file is HDF5, not a MATLAB file; rename it to .h5"),
        (old(LITTLE, 0), "the format of MATLAB 4; load it in MATLAB or Octave and save it with -v7"),
        (old(BIG, 1000), "the format of MATLAB 4; load it"),
        (with(126, b"??"), "not a MATLAB file: bytes 127 and 128"),
        (with(124, &[7, 7]), "version 0x0707 of the MATLAB file is unknown"),
        (with(0, b"\0")[..100].to_vec(), "ends within its MATLAB header of 128 bytes"),
        (gz(&with(0, b"M")), "compressed with gzip; decompress it first"),
    ] {
        let found = folder.refusal("x.mat", &bytes);
        assert!(found.contains(message), "expected {message}: {found}");
    }
}

#[test]
fn a_matrix_that_lies_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let m = LITTLE;
    let eight = || m.element(F64, &[0; 64]);
    let of = |shape: &[u32], elements: &[Vec<u8>]| m.array(DOUBLE, shape, "x", elements);
    let raw = |parts: &[Vec<u8>]| m.element(14, &parts.concat());
    let flags = || m.element(U32, &m.words(&[DOUBLE, 0]));
    let shape = || m.element(I32, &m.words(&[2, 4]));
    for (array, message) in [
        (of(&[2, 3], &[eight()]), "the shape (2, 3) is 48 bytes of data, but its data has 64"),
        (of(&[2, 5], &[eight()]), "the shape (2, 5) is 80 bytes of data, but its data has 64"),
        (of(&[i32::MAX as u32, 1 << 24], &[eight()]), "bytes of data, but its data has 64"),
        (of(&[3, 1 << 25], &[eight()]), "rows of more than 16777216 numbers"),
        (of(&[i32::MAX as u32; 9], &[eight()]), "more than any file can hold"),
        (of(&[0, 3], &[m.element(F64, b"")]), "the array of shape (0, 3) is empty"),
        (of(&[2, u32::MAX], &[eight()]), "negative dimension -1"),
        (of(&[8], &[eight()]), "the number of its dimensions is 1, expected at least 2"),
        (of(&[1; 65], &[eight()]), "its list of dimensions claims 260 bytes, the limit is 256"),
        (of(&[2, 4], &[m.element(8, &[0; 64])]), "its data has the type 8, which is no type of numbers"),
        (of(&[2, 4], &[m.words(&[F64, 64])]), "an element claims 64 bytes, but only 0 follow"),
        (of(&[2, 4], &[m.words(&[F64, u32::MAX])]), "an element claims 4294967295 bytes"),
        (
            of(&[2, 4], &[m.word(5 << 16 | U8).to_vec(), vec![0; 12]]),
            "a tag claims 5 bytes within itself, the limit is 4",
        ),
        (of(&[2, 4], &[]), "it is too short for its elements"),
        (raw(&[m.element(U32, &m.words(&[99, 0])), shape()]), "its class 99 is unknown"),
        (raw(&[m.element(U32, b"")]), "the array at byte 136: it has no class"),
        (raw(&[m.element(U32, &[0; 400])]), "its class claims 400 bytes, the limit is 8"),
        (raw(&[m.small(U32, &[6, 0, 0]), shape()]), "its class has 3 bytes, expected numbers of four bytes"),
        (raw(&[flags(), shape(), m.element(I8, &[b'a'; 1025])]), "its name claims 1025 bytes, the limit is 1024"),
        (raw(&[flags(), shape()]), "it is too short for its elements"),
    ] {
        for array in [m.packed(&array), array] {
            let found = folder.refusal("x.mat", &m.file(&[array]));
            assert!(found.contains(message), "expected {message}: {found}");
        }
    }
}

#[test]
fn a_file_whose_arrays_are_cut_or_damaged_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let m = LITTLE;
    let matrix = m.matrix("x", &Array2::from_shape_fn((50, 4), |(r, c)| (r + c) as f64));
    let packed = m.packed(&matrix);
    let damaged = |checksum: &[u8; 4]| [&packed[..packed.len() - 4], checksum].concat();
    let cut = |keep: usize| [m.words(&[15, keep as u32 - 8]), packed[8..keep].to_vec()].concat();
    let claims = |shape: &[u32], size: u32| {
        let tags = [m.head([UINT8, 0], shape, "x"), m.words(&[U8, size])].concat();
        m.packed(&[m.words(&[14, u32::MAX]), tags, vec![0; 100]].concat())
    };
    for (arrays, message) in [
        (vec![], "none of the arrays in this file has rows and columns of numbers"),
        (vec![vec![0; 5]], "the file ends between two arrays"),
        (vec![vec![0; 8]], "at byte 128 is an element of type 0, expected an array"),
        (vec![matrix[..100].to_vec()], "the array at byte 128 claims 1648 bytes, but only 92 follow"),
        (vec![matrix.clone(), packed.clone()], "two arrays with the name 'x'"),
        (vec![damaged(&[0xff; 4])], "zlib data is damaged"),
        (vec![cut(packed.len() - 20)], "zlib data ends too early"),
        (vec![m.packed(&matrix[..30])], "the array at byte 136: the file ends within it"),
        (vec![m.element(15, &[7; 40])], "zlib data is damaged"),
        (vec![m.packed(&packed)], "the array at byte 136: its zlib data has the type 15, expected 14"),
        (vec![m.packed(&[matrix.clone(), vec![0; 9]].concat())], "more data follows the numbers of the array"),
        (vec![claims(&[1 << 20, 1 << 8], 1 << 28)], "268435456 bytes of data, but 100 bytes follow"),
        (vec![claims(&[1 << 20, 3 << 10], 3 << 30)], "3221225472 bytes, the limit is 1073741824: save it uncompressed"),
    ] {
        let found = folder.refusal("x.mat", &m.file(&arrays));
        assert!(found.contains(message), "expected {message}: {found}");
    }
}

#[test]
fn a_sparse_matrix_that_lies_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let m = LITTLE;
    let of = |shape: &[u32], rows: &[u32], starts: &[u32], values: &[u8]| {
        let [rows, starts] = [rows, starts].map(|words| m.element(I32, &m.words(words)));
        m.array(SPARSE, shape, "x", &[rows, starts, m.element(U8, values)])
    };
    let (huge, starts) = (&[i32::MAX as u32, 2], &[0, 1, 2]);
    for (array, message) in [
        (of(&[2, 2], &[0, 2], starts, &[5, 6]), "the row 2 of a sparse array is not between 0 and 1"),
        (of(&[2, 2], &[0, u32::MAX], starts, &[5, 6]), "the row -1 of a sparse array is not between 0 and 1"),
        (of(&[2, 2], &[0, 1], &[0, 1, 3], &[5, 6]), "the column start 3 of a sparse array is not between 0 and 2"),
        (of(&[2, 2], &[0, 1], &[0, 2, 1], &[5, 6]), "the column starts of a sparse array do not increase from 0"),
        (of(&[2, 2], &[0, 1], &[1, 1, 2], &[5, 6]), "do not increase from 0"),
        (of(&[2, 2], &[0, 1], &[0, 1], &[5, 6]), "2 columns have 8 bytes of column starts, expected 12"),
        (of(&[2, 2], &[0, 1], starts, &[5]), "the sparse array has 1 values for 2 entries"),
        (of(&[2, 2], &[1, 1], &[0, 2, 2], &[5, 6]), "row 2, column 1 of the sparse array has two entries"),
        (of(huge, &[0, 1], starts, &[5, 6]), "34359738352 bytes with its zeros, too many for"),
        (of(&[2, 2, 2], &[0, 1], starts, &[5, 6]), "a sparse array has the shape (2, 2, 2), expected two dimensions"),
        (of(&[0, 2], &[0, 1], starts, &[5, 6]), "is empty"),
        (m.array(SPARSE, &[2, 2], "x", &[m.element(F64, &[0; 16])]), "have 8 bytes each, expected 4"),
    ] {
        for array in [m.packed(&array), array] {
            let found = folder.refusal("x.mat", &m.file(&[array]));
            assert!(found.contains(message), "expected {message}: {found}");
        }
    }
    let tags = [m.head([SPARSE, 0], &[9, 9], "x"), m.words(&[I32, 1 << 31])].concat();
    let many = m.packed(&[m.words(&[14, u32::MAX]), tags, vec![0; 100]].concat());
    let found = folder.refusal("x.mat", &m.file(&[many]));
    assert!(found.contains("536870912 sparse entries are too many for a file of"), "{found}");
    // No entry at all is a matrix of zeros.
    let zeros = folder.file("z.mat", &m.file(&[of(&[3, 2], &[], &[0, 0, 0], &[])]));
    assert_eq!(read(&zeros, 2).unwrap(), Array2::<f64>::zeros((3, 2)));
}
