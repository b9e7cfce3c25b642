use super::*;
use ndarray::array;
use std::io::{self, BufRead, BufReader, Read};

fn table(text: impl BufRead + Send + 'static, options: &ReadOptions) -> Result<TextTable> {
    TextTable::new(Lines::new(Bytes { path: "x.csv".into(), reader: Box::new(text), plain: None }), options)
}

fn read_with(text: &[u8], options: &ReadOptions) -> Result<Array2<f64>> {
    let mut table = table(io::Cursor::new(text.to_vec()), options)?;
    let mut all = Array2::zeros((0, table.columns()));
    while let Some(block) = table.read(2)? {
        all.append(ndarray::Axis(0), block.view()).unwrap();
    }
    Ok(all)
}

fn read(text: &[u8]) -> Result<Array2<f64>> {
    read_with(text, &ReadOptions::default())
}

fn options(skip_rows: u64, columns: &str, label: &str) -> ReadOptions {
    let some = |text: &str| Some(text.to_string()).filter(|t| !t.is_empty());
    ReadOptions { skip_rows, columns: some(columns), label_column: some(label), ..ReadOptions::default() }
}

#[test]
fn headers_marks_quotes_spaces_and_line_ends_are_understood() {
    let expected = array![[1.0, 2.5], [-3e2, 4.0], [5.0, 6.0]];
    for text in [
        "1,2.5\n-3e2,4\n5,6\n",
        "a,b\n1,2.5\n-300,4\n5,6",
        "3 rows\n1,2.5\n-300,4\n5,6",
        "\u{feff}1,2.5\r\n-300,4\r\n5,6\r\n",
        "\u{feff}\"a, b\",c\r\n\"1\", 2.5\r\n\r\n-300,\"4\"\r\n5,6\r\n",
        "\"a\nb\",c\n1,2.5\n-300,4\n5,6",
        "1\t2.5\n-300\t4\n5\t6\n",
        "a;b\n1;2.5\n-300;4\n5;6\n",
        "# a comment\n  1 2.5 \n\n-300\t 4\n# another, with \"\n5   6\n",
        "3,2,setosa\n1,2.5\n-300,4\n5,6\n",
        "3,text\n1,2.5\n-300,4\n5,6\n",
    ] {
        assert_eq!(read(text.as_bytes()).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_by_row_line_and_column() {
    for (text, message) in [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a,b\n", "read as text, the file has only a header line"),
        ("a,b\nc,d\n", "row 1 (line 2), column 1: 'c' is not a number"),
        ("1,2\n3,x\n", "row 2 (line 2), column 2: 'x' is not a number"),
        ("1,x\n3,y\n", "row 1 (line 1), column 2: 'x' is not a number"),
        ("a,b\n1,2\n3\n", "data row 2 (line 3) has 1 cell, expected 2"),
        ("1,2\n1,2,3\n", "data row 2 (line 2) has 3 cells, expected 2"),
        ("1,\n", "row 1 (line 1), column 2: the cell is empty"),
        ("1,2\n1,NaN\n", "row 2 (line 2), column 2: 'NaN' means that the cell is missing"),
        ("1,2\nNA,3\n", "row 2 (line 2), column 1: 'NA' means that the cell is missing"),
        ("1,2\n\u{7}\u{1b}[31m,3\n", "'\\u{7}\\u{1b}[31m' is not a number"),
        ("1,2\n3,\"4\n5,6\n", "a quote opened in line 2 is never closed"),
    ] {
        let found = read(text.as_bytes()).unwrap_err().to_string();
        assert!(found.contains(message), "{text}: {found}");
    }
    assert!(read(b"1,2\n\xff\xfe,2\n").unwrap_err().to_string().contains("is not a number"));
}

#[test]
fn columns_are_chosen_by_number_and_name_without_the_label() {
    let named = "id,x,y,z\n1,2,3,4\n5,6,7,8\n";
    let unnamed = "1,2,3,a\n5,6,7,b\n";
    let described = "2,3,cat,dog,eel\n1,2,3,0\n5,6,7,1\n";
    for (text, options, expected) in [
        (named, options(0, "2-3", ""), array![[2.0, 3.0], [6.0, 7.0]]),
        (named, options(0, "z, x", ""), array![[4.0, 2.0], [8.0, 6.0]]),
        (named, options(0, "x,4,id", "4"), array![[2.0, 1.0], [6.0, 5.0]]),
        (named, options(0, "", "id"), array![[2.0, 3.0, 4.0], [6.0, 7.0, 8.0]]),
        (named, options(0, "", "first"), array![[2.0, 3.0, 4.0], [6.0, 7.0, 8.0]]),
        (named, options(2, "", "2"), array![[5.0, 7.0, 8.0]]),
        (unnamed, options(0, "", "last"), array![[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]),
        (unnamed, options(0, "3-3,1", ""), array![[3.0, 1.0], [7.0, 5.0]]),
        (described, options(0, "", "last"), array![[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]),
        // Numbers as names above a column of text: only the option shows that this is a header.
        ("0,1,kind\n5,6,a\n7,8,b\n", options(0, "", "kind"), array![[5.0, 6.0], [7.0, 8.0]]),
    ] {
        assert_eq!(read_with(text.as_bytes(), &options).unwrap(), expected, "{text} {options:?}");
    }
}

#[test]
fn choices_that_make_no_sense_are_refused() {
    let text = b"id,x,y,x\n1,2,3,4\n";
    for (options, message) in [
        (options(0, "5", ""), "column 5 is not among the columns 1 to 4"),
        (options(0, "0", ""), "column 0 is not among"),
        (options(0, "1-99999999999", ""), "column 99999999999 is not among"),
        (options(0, "3-2", ""), "3-2 runs backwards"),
        (options(0, "1-3,2", ""), "column 2 is chosen twice"),
        (options(0, "w", ""), "no column 'w'"),
        (options(0, "x", ""), "columns 2 and 4 are both named 'x'"),
        (options(0, "", "1-2"), "must be one column"),
        (options(0, "2", "2"), "no column is left"),
        (options(0, "", "5"), "column 5 is not among"),
        (options(9, "", ""), "no line is left"),
        (options(1, "id", ""), "no header, so there is no column 'id'"),
    ] {
        let found = read_with(text, &options).unwrap_err().to_string();
        assert!(found.contains(message), "{options:?}: {found}");
    }
    let found = read_with(b"a,b,c\n1,2\n", &options(0, "a", "")).unwrap_err().to_string();
    assert!(found.contains("header has 3 cells but the rows have 2"), "{found}");
}

#[test]
fn a_line_without_end_is_refused() {
    for byte in *b"1\"" {
        let endless = BufReader::new(io::repeat(byte).take(1 << 40));
        let message = table(endless, &ReadOptions::default()).err().unwrap().to_string();
        assert!(message.contains("line 1 is longer than 64 MiB"), "{message}");
    }
}

#[test]
fn more_than_64_mib_of_empty_lines_are_not_a_long_line() {
    let blank = BufReader::new(io::repeat(b'\n').take(65 << 20));
    let row = io::Cursor::new(b"1,2\n".to_vec());
    assert_eq!(table(blank.chain(row), &ReadOptions::default()).unwrap().columns(), 2);
}

#[test]
fn a_line_of_nothing_but_separators_is_refused_by_its_cells() {
    let commas = BufReader::new(io::repeat(b',').take(63 << 20));
    let message = table(commas, &ReadOptions::default()).err().unwrap().to_string();
    assert!(message.contains("line 1 has more than 16777216 cells"), "{message}");
    let rows = io::Cursor::new(b"1,2\n".to_vec()).chain(BufReader::new(io::repeat(b',').take(63 << 20)));
    let message = table(rows, &ReadOptions::default()).unwrap().read(9).unwrap_err().to_string();
    assert!(message.contains("row 2 (line 2) has 66060289 cells, expected 2"), "{message}");
}
