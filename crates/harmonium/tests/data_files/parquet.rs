//! Parquet files as pandas, pyarrow and Polars write them; `oracle/make_data_files.py` has the formulas of their numbers.

use crate::common::{Folder, fixture, gz, read, read_with};
use harmonium::data::{self, ReadOptions};
use ndarray::{Array2, Axis};

fn columns(name: &str, columns: &str) -> harmonium::Result<Array2<f64>> {
    let options = ReadOptions { columns: Some(columns.into()), ..ReadOptions::default() };
    read_with(fixture(name).to_str().unwrap(), &options)
}

#[test]
fn every_type_of_number_is_read_as_it_stands() {
    let r = |f: fn(f64) -> f64| (0..5).map(|r| f(f64::from(r))).collect::<Vec<f64>>();
    for (name, expected) in [
        ("truth", r(|r| f64::from(u8::from(r % 2.0 == 0.0)))),
        ("small", r(|r| r - 2.0)),
        ("large", r(|r| 9_223_372_036_854_775_808.0 + r)),
        ("u32", r(|r| 4_294_967_295.0 - r)),
        ("i64", r(|r| -1e12 * r)),
        ("single", r(|r| r / 4.0)),
        ("double", r(|r| r / 3.0)),
        ("category", vec![3.0, 5.0, 3.0, 5.0, 3.0]),
        ("__index_level_0__", r(|r| 10.0 * (r + 1.0))),
    ] {
        assert_eq!(columns("types.parquet", name).unwrap().column(0).to_vec(), expected, "{name}");
    }
    assert_eq!(columns("polars.parquet", "q,p").unwrap().row(3).to_vec(), [3.0, 0.375]);
}

#[test]
fn missing_numbers_are_nan() {
    let found = columns("types.parquet", "missing,absent").unwrap();
    for (row, expected) in
        found.axis_iter(Axis(0)).zip([[0.5, 1.0], [f64::NAN; 2], [1.5, 3.0], [f64::NAN; 2], [2.5, 5.0]])
    {
        assert!(row.iter().zip(expected).all(|(x, y)| *x == y || (x.is_nan() && y.is_nan())), "{row} {expected:?}");
    }
}

#[test]
fn columns_have_names_and_are_chosen_by_them() {
    let names = |name: &str| data::open(&fixture(name)).unwrap().names().map(<[String]>::to_vec).unwrap();
    assert_eq!(names("bits.parquet"), ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(names("lists.parquet")[..2], ["x[0]", "x[1]"]);
    let bits = read(&fixture("bits.parquet"), 100).unwrap();
    assert_eq!(columns("bits.parquet", "c,1-2").unwrap(), bits.select(Axis(1), &[2, 0, 1]));
    let label = ReadOptions { label_column: Some("a".into()), ..ReadOptions::default() };
    let path = fixture("bits.parquet");
    assert_eq!(read_with(path.to_str().unwrap(), &label).unwrap(), bits.select(Axis(1), &[1, 2, 3, 4, 5]));
    let source = data::open_with(path.to_str().unwrap(), &label).unwrap();
    assert_eq!(source.names().unwrap()[0], "b");
}

#[test]
fn what_is_no_table_of_numbers_is_refused_in_a_sentence() {
    let said = |result: harmonium::Result<Array2<f64>>| result.unwrap_err().to_string();
    assert!(said(read(&fixture("types.parquet"), 1)).contains("column 'name' holds text or bytes, expected numbers"));
    assert!(said(columns("types.parquet", "day")).contains("column 'day' holds dates or times"));
    assert!(said(columns("types.parquet", "none")).contains("no column 'none'"));
    assert!(
        said(read(&fixture("ragged.parquet"), 9)).contains("row 2, column 'x': the list has 1 numbers, expected 2")
    );
    let skip = ReadOptions { skip_rows: 1, ..ReadOptions::default() };
    assert!(said(read_with(fixture("bits.parquet").to_str().unwrap(), &skip)).contains("no lines to skip"));
    let folder = Folder::new();
    assert!(folder.refusal("x.parquet", b"a,b\n1,2\n").contains("not readable as Parquet"));
    let packed = gz(&std::fs::read(fixture("bits.parquet")).unwrap());
    assert!(folder.refusal("x.parquet.gz", &packed).contains("compressed with gzip; decompress it first"));
}
