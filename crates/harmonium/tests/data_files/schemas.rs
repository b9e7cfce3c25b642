//! Schemas: what is asked for columns, words as codes, and files of schemas that are wrong.

use crate::common::Folder;
use harmonium::data::{self, Header, Memory, ReadOptions, Source};
use harmonium::file::ModelFile;
use harmonium::schema::{Asked, Column, Facts, Role, Schema, Unseen};
use harmonium::units::Kind;
use harmonium::{Layout, Rbm};
use ndarray::{Array1, Array2, array};
use std::path::Path;

const TABLE: &str = "id,sex,color,size,year\na1,f,red,1.5,1\na2,m,green,2.5,2\na3,f,blue,,3\na4,f,red,4.0,2\n";

fn open(folder: &Folder, text: &str) -> Box<dyn Source> {
    data::open(&folder.file("x.csv", text.as_bytes())).unwrap()
}

fn infer(text: &str, asked: &[&str]) -> harmonium::Result<Schema> {
    let folder = Folder::new();
    let mut all = Asked::default();
    asked.iter().try_for_each(|text| all.push(text))?;
    Schema::infer(&mut *open(&folder, text), Path::new("x.csv"), &all)
}

fn schema() -> Schema {
    infer(TABLE, &[]).unwrap()
}

fn code(schema: &Schema, text: &str, unseen: Unseen) -> harmonium::Result<Array2<f64>> {
    let folder = Folder::new();
    let mut rows = schema.coded(open(&folder, text), Path::new("y.csv"), unseen)?;
    let mut all = Array2::zeros((0, rows.columns()));
    while let Some(block) = rows.read(2)? {
        all.append(ndarray::Axis(0), block.view()).unwrap();
    }
    Ok(all)
}

fn same(found: &Array2<f64>, expected: &Array2<f64>) {
    let bits = |a: &Array2<f64>| a.mapv(|x| if x.is_nan() { 0 } else { x.to_bits() + 1 });
    assert_eq!((found.shape(), bits(found)), (expected.shape(), bits(expected)), "{found} {expected}");
}

#[test]
fn columns_get_kinds_shifts_and_reasons() {
    let schema = schema();
    assert_eq!(schema.layout(), Layout::parse("bernoulli*1,potts(states=3)*1,gaussian*2").unwrap());
    assert_eq!(schema.names(), ["sex", "color", "size", "year"]);
    let facts = |c: usize| &schema.columns[c].facts;
    assert_eq!(facts(0).why, "an identifier: all 4 words differ");
    assert_eq!((facts(3).missing, facts(3).values.as_str()), (1, "1.5 to 4, mean 2.6667"));
    // Mean 8/3 and variance ((7/6)² + (1/6)² + (4/3)²)/3 = 114/108 of 1.5, 2.5 and 4, as single-precision numbers.
    let (mean, deviation) = facts(3).standard.unwrap();
    assert_eq!((mean as f32, deviation as f32), ((8.0f64 / 3.0) as f32, (114.0f64 / 108.0).sqrt() as f32));
    assert_eq!((mean, deviation), (f64::from(mean as f32), f64::from(deviation as f32)));
    assert_eq!(facts(1).standard, None);
}

#[test]
fn a_last_column_of_few_values_is_pointed_out_as_a_label() {
    let label = |text: &str| infer(text, &[]).unwrap().columns.last().unwrap().facts.may_be_label;
    for (text, expected) in [
        ("1.5,a\n2.5,b\n3.5,a\n", true),
        ("1.5,3\n2.5,1\n3.5,2\n", true),
        ("1.5,0.5\n2.5,1\n3.5,2\n", false),
        ("x,species\n1.5,a\n2.5,b\n3.5,a\n", true),
        ("x,Target\n1.5,3\n2.5,1\n3.5,2\n", true),
        ("x,z\n1.5,3\n2.5,1\n3.5,2\n", false),
        ("y\n1\n2\n4\n", false),
    ] {
        assert_eq!(label(text), expected, "{text}");
    }
    let asked = infer("1.5,3\n2.5,1\n3.5,2\n", &["column_2=gaussian"]).unwrap();
    assert!(!asked.columns[1].facts.may_be_label);
    let many: String = (0..22).map(|k| format!("{}.5,{}\n", k * 3, k * 2)).collect();
    assert!(!label(&many));
}

#[test]
fn what_is_asked_for_a_column_is_done() {
    for (asked, layout) in [
        (&["color=ignore"][..], "bernoulli*1,gaussian*2"),
        (&["id=potts", "size=ignore"], "potts(states=4)*1,bernoulli*1,potts(states=3)*1,gaussian*1"),
        (&["year=potts"], "bernoulli*1,potts(states=3)*1,gaussian*1,potts(states=3)*1"),
        (&["5=potts(states=4)"], "bernoulli*1,potts(states=3)*1,gaussian*1,potts(states=4)*1"),
        (&["sex=spin", "color=potts(states=3)"], "spin*1,potts(states=3)*1,gaussian*2"),
        (
            &["year=gaussian(coupling=krizhevsky)"],
            "bernoulli*1,potts(states=3)*1,gaussian*1,gaussian(coupling=krizhevsky)*1",
        ),
        (&["year=potts", "year=ignore"], "bernoulli*1,potts(states=3)*1,gaussian*1"),
    ] {
        assert_eq!(infer(TABLE, asked).unwrap().layout(), Layout::parse(layout).unwrap(), "{asked:?}");
    }
    // Whole numbers that are codes keep their values; probabilities stay numbers.
    let five = infer(TABLE, &["year=potts(states=5)"]).unwrap();
    assert_eq!(five.columns[4].categories, ["0", "1", "2", "3", "4"]);
    let grey = infer("p,q\n0.5,1\n0.25,2\n1,4\n", &["p=bernoulli"]).unwrap();
    assert!(grey.columns[0].categories.is_empty());
    // All cells as words, numbers first.
    let mixed = infer("a,b\n2,1\nx,2\n10,4\n", &["a=potts"]).unwrap();
    assert_eq!(mixed.columns[0].categories, ["2", "10", "x"]);
    same(&code(&mixed, "a,b\n10,1\nx,2\n2.0,4\n", Unseen::Error).unwrap(), &array![[1.0, 1.0], [2.0, 2.0], [0.0, 4.0]]);
    // Nothing in a column that is left out matters.
    assert!(infer("a,b\n2,1\nx,2\ninf,4\n", &["a=ignore"]).is_ok());
}

#[test]
fn what_cannot_be_done_is_refused_in_a_sentence() {
    for (asked, sentence) in [
        ("size", "'size' is not NAME=KIND"),
        ("size=real", "'size=real' names no kind: unknown unit kind 'real'"),
        (
            "weight=gaussian",
            "x.csv: the table has no column 'weight'; its columns are 'id', 'sex', 'color', 'size', 'year'",
        ),
        ("colour=potts", "the table has no column 'colour'; did you mean 'color'?"),
        ("9=potts", "the table has no column '9'"),
        ("color=gaussian", "column 'color': data row 1 has 'red', which is not a number"),
        ("color=bernoulli", "column 'color': it has 3 different values, but bernoulli units have 2 states"),
        (
            "color=potts(states=4)",
            "column 'color': it has 3 different values, but potts (states 4) units have 4 states",
        ),
        ("year=bernoulli", "column 'year': it has 3 different values, but bernoulli units have 2 states"),
    ] {
        let found = infer(TABLE, &[asked]).unwrap_err().to_string();
        assert!(found.contains(sentence), "{asked}: {found}");
    }
    let constant = infer("a,b\nx,1\nx,2\nx,4\n", &["a=potts"]).unwrap_err().to_string();
    assert!(constant.contains("column 'a': it has fewer than two different values"), "{constant}");
}

#[test]
fn words_become_codes_whatever_the_order_of_the_columns() {
    let nan = f64::NAN;
    let rows = array![[0.0, 2.0, 1.5, 1.0], [1.0, 1.0, 2.5, 2.0], [0.0, 0.0, nan, 3.0], [0.0, 2.0, 4.0, 2.0]];
    let schema = schema();
    same(&code(&schema, TABLE, Unseen::Error).unwrap(), &rows);
    same(&code(&schema, "year,size,color,sex\n3,,blue,f\n", Unseen::Error).unwrap(), &array![[0.0, 0.0, nan, 3.0]]);
    same(&code(&schema, "year,size,color,sex\n3,,,NA\n", Unseen::Error).unwrap(), &array![[nan, nan, nan, 3.0]]);
    // Without names by place, with or without what is left out.
    same(
        &code(&schema, "a9,m,red,1,2\na8,m,red,1,2\n", Unseen::Error)
            .unwrap()
            .row(0)
            .insert_axis(ndarray::Axis(0))
            .to_owned(),
        &array![[1.0, 2.0, 1.0, 2.0]],
    );
    same(
        &code(&schema, "m,red,1,2\nm,red,1,3\n", Unseen::Error).unwrap(),
        &array![[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 3.0]],
    );
    same(&code(&schema, "sex,color,size,year\nx,red,1,2\n", Unseen::Missing).unwrap(), &array![[nan, 2.0, 1.0, 2.0]]);
    // A table of numbers has codes only where the categories are numbers.
    let numbers = infer("a,b\n1,5.5\n2,6.5\n1,8.5\n", &[]).unwrap();
    let memory = Box::new(Memory::new(array![[2.0, 0.5], [nan, 1.5]], None));
    let found = numbers.coded(memory, Path::new("y"), Unseen::Error).unwrap().read(9).unwrap().unwrap();
    same(&found, &array![[1.0, 0.5], [nan, 1.5]]);
}

#[test]
fn other_columns_and_other_words_are_named() {
    let header = "sex,color,size,year\n";
    for (text, sentence) in [
        ("sex,size,year\nf,1,2\n", "y.csv has no column 'color', which the model was trained on"),
        ("sexx,color,size,year\nf,red,1,2\n", "; is 'sexx' the same?"),
        ("sex,year\nf,2\n", "y.csv has no columns 'color', 'size', which the model was trained on"),
        ("sex,color,size,year,more\nf,red,1,2,3\n", "y.csv has the column 'more', which the model was not trained on"),
        ("sex,color,size,sex\nf,red,1,f\n", "the columns 1 and 4 are both named 'sex'"),
        ("f,red,1\nf,red,2\n", "has 3 columns, expected 5, or the 4 that are learned"),
        (
            &format!("{header}f,red,1,2\nf,pink,1,2\n"),
            "data row 2, column 'color': 'pink' is not one of the known values: 'blue', 'green', 'red'",
        ),
        (
            &format!("{header}f,red,1,2\nf,red,1,2\nf,7,1,2\n"),
            "data row 3, column 'color': '7' is not one of the known values",
        ),
        (&format!("{header}f,red,big,2\n"), "data row 1, column 'size': 'big' is not a number"),
    ] {
        let found = code(&schema(), text, Unseen::Error).unwrap_err().to_string();
        assert!(found.contains(sentence), "{text}: {found}");
    }
}

#[test]
fn the_header_is_what_it_is_asked_to_be() {
    let folder = Folder::new();
    let read = |header: Header, text: &str| {
        let path = folder.file("x.csv", text.as_bytes());
        let options = ReadOptions { header, ..ReadOptions::default() };
        let mut source = data::open_with(path.to_str().unwrap(), &options).unwrap();
        let mut rows = 0;
        loop {
            match source.read_cells(9, &mut |_, _, _| Ok(())).unwrap() {
                0 => break,
                n => rows += n,
            }
        }
        (source.names().map(|names| names.join("|")), rows)
    };
    let names = |text: &str| Some(text.to_string());
    assert_eq!(read(Header::Names, "1,2\n3,4\n"), (names("1|2"), 1));
    assert_eq!(read(Header::None, "a,b\n3,4\n"), (None, 2));
    assert_eq!(read(Header::Skip, "a,b\n3,4\n"), (None, 1));
    assert_eq!(read(Header::Auto, "a,b\n3,4\n"), (names("a|b"), 1));
    assert_eq!(read(Header::Names, "red,big\nred,big\n"), (names("red|big"), 1));
}

#[test]
fn a_schema_file_that_is_wrong_is_refused_with_its_column() {
    let column = |body: &str| format!("[[column]]\nname = \"a\"\n{body}\n");
    for (text, sentence) in [
        ("", "has no [[column]]"),
        ("[[column]\n", "is not a valid schema (TOML): line 1: "),
        ("\n\n[[column]]\nname = 7\nkind = \"potts\"\n", "line 4: invalid type: integer `7`, expected a string"),
        (&column(""), "missing field `kind`"),
        (&column("kind = \"potts\"\nstates = 3"), "unknown field `states`"),
        (&column("kind = \"red\""), "column 'a': unknown unit kind 'red'"),
        (&column("kind = \"gaussian*2\""), "column 'a': 'gaussian*2' is not one kind of units"),
        (&column("kind = \"potts(states=1)\""), "column 'a': "),
        (&column("kind = \"bernoulli\"\ncategories = [\"x\"]"), "column 'a': bernoulli units cannot have 1 category"),
        (
            &column("kind = \"bernoulli\"\ncategories = [\"x\", \"y\", \"z\"]"),
            "column 'a': bernoulli units cannot have 3 categories",
        ),
        (
            &column("kind = \"gaussian\"\ncategories = [\"x\", \"y\"]"),
            "column 'a': gaussian (coupling cho) units cannot have 2 categories",
        ),
        (&column("kind = \"potts\"\ncategories = [\"x\", \"x\"]"), "column 'a': the category 'x' is there twice"),
        (
            &column("kind = \"potts\"\ncategories = [\"x\", \"\\u0007\"]"),
            "column 'a': '\\u{7}' holds a control character",
        ),
        (&format!("{}{}", column("kind = \"potts\""), column("kind = \"ignore\"")), "column 'a': is there twice"),
    ] {
        let found = Asked::from_toml(text).unwrap_err().to_string();
        assert!(found.contains(sentence) && found.lines().count() == 1, "{text}: {found}");
    }
    let asked = Asked::from_toml("[[column]]\nname = \"color\"\nkind = \"potts\"\ncategories = [\"red\", \"green\"]\n")
        .unwrap();
    let folder = Folder::new();
    let found = Schema::infer(&mut *open(&folder, TABLE), Path::new("x.csv"), &asked).unwrap_err().to_string();
    assert_eq!(found, "x.csv: data row 3, column 'color': 'blue' is not one of the known values: 'green', 'red'");
}

#[test]
fn a_schema_in_json_that_lies_is_refused() {
    let columns = |text: &str| format!("{{\"columns\":[{text}]}}");
    let kind = |name: &str, kind: &str, rest: &str| format!("{{\"name\":\"{name}\",\"kind\":\"{kind}\"{rest}}}");
    let words = |kind_: &str, words: &str| columns(&kind("a", kind_, &format!(",\"categories\":[{words}]")));
    for (text, sentence) in [
        ("", "the schema is not valid"),
        ("[]", "the schema is not valid"),
        ("{\"columns\":[{}]}", "missing field `name`"),
        ("{\"columns\":[],\"more\":1}", "unknown field `more`"),
        (&columns(""), "no column is left to learn from"),
        (&columns(&kind("a", "ignore", "")), "no column is left to learn from"),
        (&columns(&kind("", "gaussian", "")), "a column has an empty name"),
        (&columns(&kind("a\\n", "gaussian", "")), "holds a control character"),
        (&columns(&kind("a", "red", "")), "column 'a': unknown unit kind 'red'"),
        (&columns(&kind("a", "potts", "")), "column 'a': "),
        (&columns(&format!("{0},{0}", kind("a", "gaussian", ""))), "two columns have the name 'a'"),
        (&words("potts", "\"x\""), "column 'a': "),
        (&words("potts", "\"x\",\"x\""), "column 'a' has the category 'x' twice"),
        (&words("potts", "\"x\",\"\\u0000\""), "holds a control character"),
        (
            &words("bernoulli", "\"x\",\"y\",\"z\""),
            "column 'a' has 3 categories, which bernoulli units do not have as states",
        ),
        (&words("gaussian", "\"x\",\"y\""), "column 'a' has 2 categories"),
        (&words("ignore", "\"x\",\"y\""), "column 'a' is left out, but has categories"),
        (&" ".repeat(1 << 20), "the schema has 1048576 bytes, the limit is 524288"),
    ] {
        let found = Schema::from_json(text).unwrap_err().to_string();
        assert!(found.contains(sentence) && found.lines().count() == 1, "{}: {found}", &text[..text.len().min(99)]);
    }
}

/// A model for the columns of a schema.
fn model(schema: &Schema) -> ModelFile {
    let layout = schema.layout();
    let hidden = Layout::new(Kind::new("bernoulli", &Default::default()).unwrap(), 2);
    let layer = |layout: Layout| {
        let columns = layout.columns();
        let fields = layout.fields().iter().map(|field| field.1 + 1).max().unwrap();
        let par = Array2::zeros((fields, columns));
        harmonium::Layer::from_layout(layout, par, Array1::zeros(columns)).unwrap()
    };
    let weights = Array2::zeros((layout.columns(), 2));
    let rbm: Rbm<f64> = Rbm::from_parts(layer(layout), layer(hidden), weights).unwrap();
    ModelFile { schema: Some(schema.clone()), ..ModelFile::new(&rbm) }
}

#[test]
fn a_model_file_keeps_the_schema_and_refuses_one_that_does_not_fit() {
    let file = model(&schema());
    let bytes = file.to_bytes();
    let again = ModelFile::from_bytes(&bytes).unwrap();
    assert_eq!((again.schema.as_ref(), again.to_bytes() == bytes), (file.schema.as_ref(), true));
    // A model of one block with a schema is of version 2, without one of version 1.
    let one = model(&infer("a,b\n1.5,2.5\n3,1\n7,8\n", &[]).unwrap());
    assert_eq!(one.metadata()["version"], "2");
    assert_eq!(ModelFile { schema: None, ..one.clone() }.metadata()["version"], "1");
    assert_eq!(ModelFile::from_bytes(&one.to_bytes()).unwrap().schema, one.schema);
    let lie = |schema: &Schema| {
        let lying = ModelFile { schema: Some(schema.clone()), ..one.clone() };
        ModelFile::from_bytes(&lying.to_bytes()).unwrap_err().to_string()
    };
    let fits = "'data.schema': the schema has the columns ";
    assert!(lie(&schema()).starts_with(fits));
    assert!(lie(&infer("a,b\n1.5,2.5\n3,1\n7,8\n", &["b=ignore"]).unwrap()).starts_with(fits));
    let twice = Column { name: "a".into(), role: Role::Ignored, categories: Vec::new(), facts: Facts::default() };
    let mut wrong = one.schema.clone().unwrap();
    wrong.columns.push(twice);
    assert_eq!(lie(&wrong), "'data.schema': two columns have the name 'a': give them different names");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_words_truth_values_and_dates() {
    let path = crate::common::fixture("types.parquet");
    let asked = Asked::default();
    let schema = Schema::infer(&mut *data::open(&path).unwrap(), &path, &asked).unwrap();
    let of = |name: &str| schema.columns.iter().find(|c| c.name == name).unwrap();
    assert_eq!(
        (of("truth").kind_text().as_str(), of("truth").categories.join("|").as_str()),
        ("bernoulli", "false|true")
    );
    assert_eq!(of("name").categories, ["a", "b", "c"]);
    assert_eq!(of("day").facts.why, "dates or times");
    assert_eq!(of("category").categories, ["3", "5"]);
    assert_eq!(of("absent").facts.missing, 2);
    let rows = schema.coded(data::open(&path).unwrap(), &path, Unseen::Error).unwrap().read(9).unwrap().unwrap();
    let truth = schema.names().iter().position(|name| name == "truth").unwrap();
    assert_eq!(rows.column(truth).to_vec(), [1.0, 0.0, 1.0, 0.0, 1.0]);
    let mut words = Vec::new();
    let options = ReadOptions { columns: Some("name".into()), ..ReadOptions::default() };
    let mut source = data::open_with(path.to_str().unwrap(), &options).unwrap();
    source
        .read_cells(9, &mut |r, _, cell| {
            words.push((r, format!("{cell:?}")));
            Ok(())
        })
        .unwrap();
    assert_eq!(words.len(), 5);
    assert!(words[0].1.starts_with("Word("), "{words:?}");
}
