//! Alignments: codes of the letters, insertions, letters nobody knows, and files that are no alignments.

use crate::common::{Folder, gz, read, read_with};
use harmonium::data::{self, ReadOptions};
use ndarray::array;

#[test]
fn letters_become_codes_of_the_alphabet_they_are_from() {
    let folder = Folder::new();
    // What the codes should be is counted by hand: "-ACDEFGHIKLMNPQRSTVWY", "-ACGU", "-ACGT".
    for (text, letters, codes) in [
        (
            ">a\nACD\nEY\n>b x y\n--w.v\n",
            "-ACDEFGHIKLMNPQRSTVWY",
            array![[1., 2., 3., 4., 20.], [0., 0., 19., 0., 18.]],
        ),
        ("; a comment\n\n>a\r\nAC GU\r\n\r\n>b\r\nuuu-", "-ACGU", array![[1., 2., 3., 4.], [4., 4., 4., 0.]]),
        (">>a\nACGT\n>\nttNa\n", "-ACGT", array![[1., 2., 3., 4.], [4., 4., 0., 1.]]),
    ] {
        for (name, bytes) in [("x.fasta", text.into()), ("x.fa.gz", gz(text.as_bytes())), ("x.FAA", text.into())] {
            let path = folder.file(name, &bytes);
            assert_eq!(read(&path, 1).unwrap(), codes, "{text}");
            let source = data::open(&path).unwrap();
            assert_eq!((source.rows(), source.alphabet()), (Some(2), Some(letters)));
        }
    }
    assert_eq!(read(&folder.file("unnamed", b">a\nACGT\n"), 1).unwrap(), array![[1.0, 2.0, 3.0, 4.0]]);
}

#[test]
fn insertions_are_left_out_where_the_name_says_so() {
    let folder = Folder::new();
    let text = b">a\nAC..D\n>b\nAwwC-\n>c\n.A.CE.\n";
    for name in ["x.a2m", "x.a3m", "x.a3m.gz"] {
        assert_eq!(read(&folder.file(name, text), 9).unwrap(), array![[1., 2., 3.], [1., 2., 0.], [1., 2., 4.]]);
    }
    let found = folder.refusal("x.fasta", text);
    assert!(
        found.contains("sequence 3 (c) has 6 letters, but the first sequence has 5") && found.contains(".a3m"),
        "{found}"
    );
}

#[test]
fn letters_of_no_alphabet_are_gaps_and_counted() {
    let folder = Folder::new();
    let path = folder.file("x.fasta", b">a\nWXZ*\n>b\nFYYX\n");
    assert_eq!(read(&path, 9).unwrap(), array![[19., 0., 0., 0.], [5., 20., 20., 0.]]);
    let note = data::open(&path).unwrap().note().unwrap();
    assert_eq!(note, "letters outside the alphabet are read as gaps: *XZ, 4 in all (50.00 %)");
    assert_eq!(data::open(&folder.file("y.fasta", b">a\nWY\n")).unwrap().note(), None);
}

#[test]
fn question_marks_are_missing_cells_where_cells_may_be_missing() {
    let folder = Folder::new();
    let path = folder.file("x.fasta", b">a\nA?G-\n>b\n?CGT\n");
    let options = ReadOptions { missing: true, ..ReadOptions::default() };
    let rows = read_with(path.to_str().unwrap(), &options).unwrap();
    let nan = f64::NAN;
    let codes = array![[1., nan, 3., 0.], [nan, 2., 3., 4.]];
    assert!(rows.iter().zip(&codes).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{rows}");
    assert_eq!(data::open_with(path.to_str().unwrap(), &options).unwrap().note(), None);
    let found = read(&path, 9).err().unwrap().to_string();
    assert!(found.contains("sequence 1 (a): '?' is not a letter of a sequence"), "{found}");
    // An alphabet without a gap has missing cells too.
    let options = ReadOptions { alphabet: Some("ACGT".into()), ..options };
    let rows = read_with(folder.file("y.fasta", b">a\nA?\n").to_str().unwrap(), &options).unwrap();
    assert!(rows[[0, 0]] == 0.0 && rows[[0, 1]].is_nan());
}

#[test]
fn an_alphabet_can_be_chosen_and_so_can_sites() {
    let folder = Folder::new();
    let path = folder.file("x.fasta", b">a\nACGT\n>b\nGGTT\n");
    let with = |alphabet: Option<&str>, columns: Option<&str>| {
        let (alphabet, columns) = (alphabet.map(String::from), columns.map(String::from));
        read_with(path.to_str().unwrap(), &ReadOptions { alphabet, columns, ..ReadOptions::default() })
    };
    assert_eq!(with(Some("protein"), None).unwrap(), array![[1., 2., 6., 17.], [6., 6., 17., 17.]]);
    assert_eq!(with(Some("TGCA"), None).unwrap(), array![[3., 2., 1., 0.], [1., 1., 0., 0.]]);
    assert_eq!(with(None, Some("4,1-2")).unwrap(), array![[4., 1., 2.], [4., 3., 3.]]);
    let said = |result: harmonium::Result<_>| result.map(|_: ndarray::Array2<f64>| ()).unwrap_err().to_string();
    assert!(said(with(Some("AC"), None)).contains("the letter 'G' is not in the alphabet AC"));
    assert!(said(with(Some("aa"), None)).contains("'aa' is not an alphabet"));
    assert!(said(with(None, Some("5"))).contains("column 5 is not among the columns 1 to 4"));
    let label = ReadOptions { label_column: Some("last".into()), ..ReadOptions::default() };
    assert!(said(read_with(path.to_str().unwrap(), &label)).contains("no label column"));
}

#[test]
fn what_is_no_alignment_is_refused_in_a_sentence() {
    let folder = Folder::new();
    for (text, message) in [
        ("", "holds no sequences"),
        ("\n; nothing\n", "holds no sequences"),
        ("ACGT\n>a\n", "does not start with '>'"),
        (">a\n>b\nACGT\n", "sequence 1 (a) has no letters"),
        (">a\nACGT\n>\u{1b}[1mb\nACG\n", "sequence 2 (\\u{1b}[1mb) has 3 letters, but the first sequence has 4"),
        (">a\nAC1T\n", "sequence 1 (a): '1' is not a letter of a sequence"),
        (">a\nAC\u{e4}\n", "is not a letter of a sequence"),
    ] {
        let found = folder.refusal("x.fasta", text.as_bytes());
        assert!(found.contains(message), "expected {message}: {found}");
    }
}
