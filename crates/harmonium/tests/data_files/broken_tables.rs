//! Broken and odd tables: each gets the schema that is written here, or one sentence that says what is wrong and where.

use crate::common::Folder;
use harmonium::data::{self, ReadOptions};
use harmonium::schema::{Asked, Schema, Unseen};
use std::fmt::Write;
use std::path::Path;

/// The schema of a table in short: `name kind values`, with reasons for what is left out.
fn short(schema: &Schema) -> String {
    let column = |c: &harmonium::schema::Column| match c.kind() {
        None => format!("{}: {}", c.name, c.facts.why),
        Some(_) => format!("{} {} {}", c.name, c.kind_text(), c.categories.join("|")).trim_end().to_string(),
    };
    schema.columns.iter().map(column).collect::<Vec<_>>().join("; ")
}

/// What becomes of a file: its schema, or why it is refused, without the name of the file. What is learned can be read back as
/// numbers that the units take, and the schema survives JSON and TOML.
fn outcome(path: &Path) -> String {
    let open = || data::open_with(path.to_str().unwrap(), &ReadOptions::default());
    let schema = open().and_then(|mut source| Schema::infer(&mut *source, path, &Asked::default()));
    let schema = match schema {
        Ok(schema) => schema,
        Err(e) => {
            let text = e.to_string();
            assert!(text.contains(path.to_str().unwrap()) && text.lines().count() == 1, "{text}");
            return text.replace(path.to_str().unwrap(), "").trim_start_matches([':', ' ']).to_string();
        }
    };
    assert_eq!(Schema::from_json(&schema.to_json()).unwrap(), schema);
    let asked = Asked::from_toml(&schema.to_toml("x.csv")).unwrap();
    assert_eq!(Schema::infer(&mut *open().unwrap(), path, &asked).unwrap(), schema);
    let mut rows = schema.coded(open().unwrap(), path, Unseen::Error).unwrap();
    while let Some(mut block) = rows.read(1000).unwrap() {
        assert_eq!(block.ncols(), schema.kept().count());
        for (mut column, site) in block.columns_mut().into_iter().zip(schema.layout().each_site()) {
            let known = if site.n_states().is_some() { site.kind.unit::<f64>().value(0) } else { 0.0 };
            column.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = known);
        }
        schema.layout().check(block.view(), 1).unwrap();
    }
    short(&schema)
}

fn check(cases: &[(&[u8], &str)]) {
    let (folder, mut wrong) = (Folder::new(), String::new());
    for (bytes, expected) in cases {
        let found = outcome(&folder.file("x.csv", bytes));
        if found != *expected {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
            let _ = writeln!(wrong, "\n{text}\nexpected {expected}\nfound    {found}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn files_without_rows() {
    check(&[
        (b"", "the file is empty"),
        (b"\n\n  \n", "the file is empty"),
        ("\u{feff}".as_bytes(), "the file is empty"),
        (b"# only a comment\n", "the file is empty"),
        (b"a,b\n", "read as text, the file has only a header line and no rows"),
        (b"\n\na,b\n\n", "read as text, the file has only a header line and no rows"),
    ]);
}

#[test]
fn separators_marks_and_line_ends() {
    let two = "a bernoulli 1|3; b bernoulli 2|4";
    check(&[
        (b"a,b\n1,2\n3,4\n", two),
        (b"a,b\n1,2\n3,4", two),
        ("\u{feff}a,b\r\n1,2\r\n3,4\r\n".as_bytes(), two),
        (b"a\tb\n1\t2\n3\t4\n", two),
        (b"a;b\n1;2\n3;4\n", two),
        (b"a b\n1 2\n3  4\n", two),
        (b" a , b \n1, 2\n 3,4\n", two),
        (b"\"a\",\"b\"\n\"1\",\"2\"\n3,4\n", two),
        (b"# made by hand\na,b\n\n1,2\n# half\n3,4\n\n", two),
        (b"a,b\n+1,2e0\n3.0,4.\n", two),
        (b"a,b\n1;2\n3;4\n", "column_1 bernoulli 1|3; column_2 bernoulli 2|4"),
        (b"a,b,\n1,2,\n3,4,\n", "a bernoulli 1|3; b bernoulli 2|4; column_3: all cells are missing"),
        (b"a,b\n1,2,\n3,4,\n", "column_1 bernoulli 1|3; column_2 bernoulli 2|4; column_3: all cells are missing"),
        (b"color\tsize\nred\tvery small\nblue\tlarge\n", "color bernoulli blue|red; size bernoulli large|very small"),
        (b"city\nNew York\nLos Angeles\nNew York\n", "city bernoulli Los Angeles|New York"),
    ]);
}

#[test]
fn numbers_written_for_people() {
    let commas = |line: &str| format!("line 2, '{line}', has decimal commas: write decimal points");
    check(&[
        (b"a;b\n1,5;2,5\n3,5;4,5\n", &commas("1,5;2,5")),
        (b"a;b\n1,5;2\n3,5;4,5\n", &commas("1,5;2")),
        (b"a\tb\n1,5\t2,5\n3,5\t4,5\n", &commas("1,5\\t2,5")),
        (b"a\n1,5\n2,5\n", "column_1 bernoulli 1|2; column_2: constant: always 5"),
        (
            b"a,b\n\"1,234\",1\n\"2,345\",2\n\"3,456\",4\n",
            "a: an identifier: all 3 words differ; '1,234' looks like a number with signs for people: write it without them if \
             it measures something; b gaussian",
        ),
        (b"a,b\n\"1,234\",1\n12,2\n", "column 'a': data row 1 has the word '1,234', but data row 2 the number 12"),
        (b"p\n10%\n20%\n30%\n10%\n", "p potts 10%|20%|30%"),
        (b"p\n10%\n20\n", "column 'p': data row 1 has the word '10%', but data row 2 the number 20"),
        (b"p\n$3.50\n$4\n$3.50\n", "p bernoulli $3.50|$4"),
        (b"n\n0x10\n7\n", "column 'n': data row 1 has the word '0x10', but data row 2 the number 7"),
        (b"n\n7\n1_000\n", "column 'n': data row 2 has the word '1_000', but data row 1 the number 7"),
        (b"zip\n01234\n1234\n02345\n00001\n", "zip gaussian"),
    ]);
}

#[test]
fn numbers_that_cannot_be_learned() {
    check(&[
        (b"a,b\n1,2\ninf,3\n", "data row 2, column 'a': inf is not a finite number"),
        (b"a,b\n1,2\n-Infinity,3\n", "data row 2, column 'a': -inf is not a finite number"),
        (b"a,b\n1,1e400\n2,3\n", "data row 1, column 'b': inf is not a finite number"),
        (b"a,b\n1,1e300\n2,3\n", "data row 1, column 'b': 1e300 is too large to compute with: the limit is 3.4e38"),
        (b"a,b\n1,-1e39\n2,3\n", "data row 1, column 'b': -1e39 is too large to compute with: the limit is 3.4e38"),
        (b"a\n1e-400\n0\n1e-300\n2\n", "a gaussian"),
        (b"a,b\n0,-0\n0,0\n1,0.0\n", "a bernoulli 0|1; b: constant: always 0"),
        (b"a,b\n0,1\n0,1.0\n1,1e0\n", "a bernoulli 0|1; b: constant: always 1"),
        (b"a,b\n0,0.3\n1,0.30000000000000004\n0,0.3\n", "a bernoulli 0|1; b bernoulli 0.3|0.30000000000000004"),
    ]);
}

#[test]
fn two_values_are_bernoulli() {
    check(&[
        (b"a\n0\n1\n0\n", "a bernoulli 0|1"),
        (b"a\n1\n-1\n", "a bernoulli -1|1"),
        (b"a\n2\n1\n2\n", "a bernoulli 1|2"),
        (b"a\n1.5\n0.5\n", "a bernoulli 0.5|1.5"),
        (b"a\ntrue\nfalse\ntrue\n", "a bernoulli false|true"),
        (b"a\nTrue\nFalse\n\nTrue\n", "a bernoulli False|True"),
        (b"a,b\nyes,1\n,2\nno,3\n", "a bernoulli no|yes; b gaussian"),
        (b"a,b\nT,1\nNA,2\nF,3\n", "a bernoulli F|T; b gaussian"),
        (b"a,b\nnegative,1\npositive,2\npositive,3\n", "a bernoulli negative|positive; b gaussian"),
        (b"a\nYes\nno\nyes\nno\n", "a potts Yes|no|yes"),
    ]);
}

#[test]
fn few_whole_numbers_are_categories_and_many_are_numbers() {
    let table = |values: &[i32], times: usize| {
        let lines = (0..values.len() * times).map(|k| format!("{}\n", values[k % values.len()]));
        ["a\n".to_string()].into_iter().chain(lines).collect::<String>().into_bytes()
    };
    check(&[
        (&table(&[1, 2, 3], 10), "a potts 1|2|3"),
        (&table(&[10, 9, -1], 10), "a potts -1|9|10"),
        (&table(&[1, 2, 3], 9), "a gaussian"),
        (&table(&[1, 2, 3, 4, 5, 6, 7, 8], 10), "a potts 1|2|3|4|5|6|7|8"),
        (&table(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 20), "a gaussian"),
        (&table(&(1990..2020).collect::<Vec<_>>(), 1), "a gaussian"),
        (
            &[&b"b,"[..], &table(&[1, 2, 4], 10).replace_lines("0.5,")].concat(),
            "b: constant: always 0.5; a potts 1|2|4",
        ),
        (&[&b"n,"[..], &numbered(12, 1, "0.5,1.5,7")].concat(), "n: it counts the rows; v gaussian"),
        (&[&b"n,"[..], &numbered(12, 0, "0.5,1.5,7")].concat(), "n: it counts the rows; v gaussian"),
        (&[&b"n,"[..], &numbered(12, 2, "0.5,1.5,7")].concat(), "n gaussian; v gaussian"),
        (&[&b"n,"[..], &numbered(9, 1, "0.5,1.5,7")].concat(), "n gaussian; v gaussian"),
    ]);
}

/// A column `v` of values in turn, with the numbers of the rows from `start` before it; the first line lacks the first name.
fn numbered(rows: usize, start: usize, values: &str) -> Vec<u8> {
    let values: Vec<&str> = values.split(',').collect();
    let lines = (0..rows).map(|k| format!("{},{}\n", start + k, values[k % values.len()]));
    ["v\n".to_string()].into_iter().chain(lines).collect::<String>().into_bytes()
}

trait ReplaceLines {
    /// Every line but the first with a prefix.
    fn replace_lines(&self, prefix: &str) -> Vec<u8>;
}

impl ReplaceLines for Vec<u8> {
    fn replace_lines(&self, prefix: &str) -> Vec<u8> {
        let text = String::from_utf8_lossy(self).trim_end().replace('\n', &format!("\n{prefix}"));
        format!("{text}\n").into_bytes()
    }
}

#[test]
fn columns_that_are_left_out() {
    let words = |n: usize, of: usize| {
        let lines = (0..n).map(|k| format!("w{:05},{}\n", k % of, 7 * k % 11));
        ["w,v\n".to_string()].into_iter().chain(lines).collect::<String>().into_bytes()
    };
    check(&[
        (b"a,b\n5,1\n5,2\n5,4\n", "a: constant: always 5; b gaussian"),
        (b"a,b\n5,1\n,2\n5,4\n", "a: constant: always 5; b gaussian"),
        (b"a,b\nx,1\nx,2\nx,4\n", "a: constant: always 'x'; b gaussian"),
        (b"a,b\n1,\n2,NA\n4,?\n", "a gaussian; b: all cells are missing"),
        (b"id,v\nA1,1\nB2,2\nC3,4\n", "id: an identifier: all 3 words differ; v gaussian"),
        (&words(100, 51), "w: an identifier: 51 of 100 words differ; v gaussian"),
        (&words(100, 100), "w: an identifier: all 100 words differ; v gaussian"),
        (&words(1900, 1001), "w: an identifier: nearly all words differ, more than 1000; v gaussian"),
        (&words(4000, 1001), "w: too many different words, more than 1000; v gaussian"),
        (&words(1_000_000, 1_000_000), "w: too many different words, more than 1000; v gaussian"),
        (b"d,v\n2024-01-01,1\n2024-01-02,2\n2024-01-02,4\n", "d: dates or times; v gaussian"),
        (b"d,v\n29.02.2024,1\n01.03.2024,2\n,4\n", "d: dates or times; v gaussian"),
        (b"d,v\n12:30,1\n12:31:05,2\n00:00,4\n", "d: dates or times; v gaussian"),
        (b"d,v\n2024-01-01 10:00:00,1\n2024-01-01T10:00:00Z,2\n2024-01-01,4\n", "d: dates or times; v gaussian"),
        (b"d,v\n2024-01-01,1\nlater,2\n2024-01-01,4\n", "d bernoulli 2024-01-01|later; v gaussian"),
        (
            b"a,b\n1,2\n",
            "no column is left to learn from; left out: 'a' (constant: always 1), 'b' (constant: always 2)",
        ),
        (
            b"a,b\n,\nNA,?\n",
            "no column is left to learn from; left out: 'a' (all cells are missing), 'b' (all cells are missing)",
        ),
        (b"x\nx\nx\n", "no column is left to learn from; left out: 'column_1' (constant: always 'x')"),
    ]);
}

#[test]
fn rows_that_do_not_fit() {
    check(&[
        (b"a,b\n1,2\n3\n", "data row 2 (line 3) has 1 cell, expected 2"),
        (b"a,b\n1,2\n3,4,5\n", "data row 2 (line 3) has 3 cells, expected 2"),
        (b"a,b\nx,y\nz\n", "data row 2 (line 3) has 1 cell, expected 2"),
        (b"a,b\n1,\"2\n3,4\n", "a quote opened in line 2 is never closed"),
        (b"a,b\n1,2\n3,\"4", "a quote opened in line 3 is never closed"),
        (b"\"a,b\n1,2\n", "a quote opened in line 1 is never closed"),
        (b"a,b\n1,2\n3,4\nTotal,6\n", "column 'a': data row 3 has the word 'Total', but data row 1 the number 1"),
        (b"a,b\n1,2\na,b\n3,4\n", "column 'a': data row 2 has the word 'a', but data row 1 the number 1"),
        (b"a\n1\n2\nx\n", "column 'a': data row 3 has the word 'x', but data row 1 the number 1"),
        (b"a,b\n1,x\n2,3\n", "column 'b': data row 1 has the word 'x', but data row 2 the number 3"),
        (b"a,b\n1,-\n2,3\n", "column 'b': data row 1 has the word '-', but data row 2 the number 3"),
        (b"a,b\n1,.\n2,3\n", "column 'b': data row 1 has the word '.', but data row 2 the number 3"),
        (b"a,b\n1,\n2,missing\n3,4\n", "column 'b': data row 2 has the word 'missing', but data row 3 the number 4"),
        (
            &[&b"1"[..], &b",1".repeat(70_000), b"\n"].concat(),
            "has 70001 columns, but at most 65536 can have kinds of their own",
        ),
    ]);
}

#[test]
fn quotes() {
    check(&[
        (b"a,b\n1,\"x, y\"\n2,\"z\"\n", "a bernoulli 1|2; b bernoulli x, y|z"),
        (b"a,b\n1,\"say \"\"hi\"\"\"\n2,no\n", "a bernoulli 1|2; b bernoulli no|say \"hi\""),
        (b"a,b\n1,x\"y\n2,z\n", "a bernoulli 1|2; b bernoulli x\"y|z"),
        (b"a,b\n1,'x'\n2,z\n", "a bernoulli 1|2; b bernoulli 'x'|z"),
        (b"a,b\n1,\"x\ny\"\n2,z\n", "a bernoulli 1|2; b: the word of row 1 holds a control character"),
        (b"\"a, b\",c\n1,2\n3,4\n", "a, b bernoulli 1|3; c bernoulli 2|4"),
        (b"a,b\n1,\"\"\n2,x\n3,y\n", "a gaussian; b bernoulli x|y"),
        (b"a,b\n1,\" x \"\n2,x\n3,y\n", "a gaussian; b bernoulli x|y"),
    ]);
}

#[test]
fn names() {
    let long = "n".repeat(70_000);
    check(&[
        (b"a,a\n1,2\n3,4\n", "the columns 1 and 2 are both named 'a': give them different names"),
        (b"a,b,a\n1,2,x\n3,4,y\n", "the columns 1 and 3 are both named 'a': give them different names"),
        (b",a\n1,2\n2,4\n5,7\n", "column_1 gaussian; a gaussian"),
        (b",,\n1,2,3\n4,5,6\n", "column_1 bernoulli 1|4; column_2 bernoulli 2|5; column_3 bernoulli 3|6"),
        (b"column_2,\n1,2\n3,4\n", "the columns 1 and 2 are both named 'column_2': give them different names"),
        (b"\"a\nb\",c\n1,2\n3,4\n", "column 1: its name 'a\\nb' holds a control character"),
        (b"a\x07,c\n1,2\n3,4\n", "column 1: its name 'a\\u{7}' holds a control character"),
        (
            format!("{long},b\n1,2\n").as_bytes(),
            &format!("column 1: its name '{}…' is longer than 64 KiB", &long[..60]),
        ),
        (b"a,b\nr1,1.5,2\nr2,2.5,7\nr3,3.5,9\n", "column_1: an identifier: all 3 words differ; a gaussian; b gaussian"),
        (b"a\xff,b\n1,2\n3,4\n", "a\u{fffd} bernoulli 1|3; b bernoulli 2|4"),
        ("größe,名前\n1,太郎\n2,花子\n".as_bytes(), "größe bernoulli 1|2; 名前 bernoulli 太郎|花子"),
    ]);
}

#[test]
fn first_lines() {
    let iris = "150,4,setosa,versicolor,virginica\n5.1,3.5,1.4,0.2,0\n4.9,3.0,1.4,0.2,0\n7.0,3.2,4.7,1.4,1\n6.3,3.3,6.0,2.5,2\n";
    check(&[
        (
            iris.as_bytes(),
            "column_1 gaussian; column_2 gaussian; column_3 gaussian; column_4 gaussian; column_5 gaussian",
        ),
        (b"5.1,setosa\n4.9,setosa\n7.0,versicolor\n", "column_1 gaussian; column_2 bernoulli setosa|versicolor"),
        (b"color,size\nred,small\nblue,large\nred,large\n", "color bernoulli blue|red; size bernoulli large|small"),
        (b"red,small\nblue,large\nred,large\n", "column_1 bernoulli blue|red; column_2 bernoulli large|small"),
        (b"a,b\nx,\ny,?\nx,1.5\ny,2\nx,3\n", "a bernoulli x|y; b gaussian"),
        (b"2001,2002\n1.5,2.5\n3.5,4.5\n", "column_1 gaussian; column_2 gaussian"),
        (b"country,2001\nFR,1.5\nDE,2.5\nIT,3.5\n", "column_1: an identifier: all 4 words differ; column_2 gaussian"),
        (b"a,b\nNA,1\nNaN,2\nnull,4\nNone,5\nn/a,6\n?,7\n,8\n", "a: all cells are missing; b gaussian"),
    ]);
}

#[test]
fn bytes_that_are_no_text() {
    let long = [b"a,b\n1,", "w".repeat(70_000).as_bytes(), b"\n2,z\n3,z\n"].concat();
    check(&[
        (b"a,b\n1,x\0y\n2,z\n", "a bernoulli 1|2; b: the word of row 1 holds a control character"),
        (b"a\n1\n2\n3\0\n", "column 'a': data row 3 has the word '3\\0', but data row 1 the number 1"),
        (b"a\n1\n2\n3\xff\n", "data row 3 (line 4), column 1: '3\u{fffd}' is not UTF-8 text: save the file as UTF-8"),
        (
            b"a,b\n1,\xff\xfe\n2,z\n",
            "data row 1 (line 2), column 2: '\u{fffd}\u{fffd}' is not UTF-8 text: save the file as UTF-8",
        ),
        (
            b"a,b\n1,caf\xe9\n2,z\n",
            "data row 1 (line 2), column 2: 'caf\u{fffd}' is not UTF-8 text: save the file as UTF-8",
        ),
        (b"\xff\xfea\0,\0b\0\n\x001\0,\x002\0\n\0", "the file is UTF-16 text: save it as UTF-8"),
        (b"\xfe\xff\0a\0,\0b\0\n\x001\0,\x002\0\n", "the file is UTF-16 text: save it as UTF-8"),
        (&long, "a gaussian; b: the word of row 1 is longer than 64 KiB"),
        ("a,b\n1,x\u{85}y\n2,z\n".as_bytes(), "a bernoulli 1|2; b: the word of row 1 holds a control character"),
        ("v,b\n1,Zürich\n2,🙂\n".as_bytes(), "v bernoulli 1|2; b bernoulli Zürich|🙂"),
    ]);
}

#[test]
fn more_categories_than_a_file_can_hold_are_refused() {
    let header: Vec<String> = (0..20).map(|c| format!("c{c}")).collect();
    let row = |r: usize| vec![format!("{:040}x", r % 900); 20].join(",") + "\n";
    let rows: String = (0..2700).map(row).collect();
    let folder = Folder::new();
    let found = outcome(&folder.file("x.csv", format!("{}\n{rows}", header.join(",")).as_bytes()));
    assert!(found.starts_with("the names of columns and categories take "), "{found}");
    assert!(found.ends_with("the limit is 524288: leave out columns with many categories"), "{found}");
}

#[test]
fn notes_say_how_the_first_line_was_read() {
    let folder = Folder::new();
    for (text, note) in [
        (
            "150,4,setosa,versicolor,virginica\n5.1,3.5,1.4,0.2,0\n",
            "left out as a description of the file: it has numbers",
        ),
        ("a,b\n1,2,3\n", "it has 2 cells, the next line 3"),
        (
            "color,size\nred,small\nblue,large\n",
            "'color,size', is read as names of columns: none of its words occurs again",
        ),
        ("red,small\nblue,large\nred,large\n", "'red,small', is read as data: 'red' occurs again in its column"),
        ("country,2001\nFR,1.5\nDE,2.5\n", "'country,2001', is read as data: it has numbers"),
        ("a,b\nr1,1.5,2\nr2,2.5,7\n", "has one name fewer than there are columns: the first column has no name"),
    ] {
        let source = data::open(&folder.file("x.csv", text.as_bytes())).unwrap();
        let found = source.note().unwrap_or_default();
        // A header of two names above three cells lacks one name.
        let expected = if text.starts_with("a,b\n1") { "has one name fewer" } else { note };
        assert!(found.contains(expected), "{text}: {found}");
    }
    for text in ["a,b\n1,2\n", "1,2\n3,4\n", "5.1,setosa\n4.9,setosa\n"] {
        assert_eq!(data::open(&folder.file("x.csv", text.as_bytes())).unwrap().note(), None, "{text}");
    }
}
