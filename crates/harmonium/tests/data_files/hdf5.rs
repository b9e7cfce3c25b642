//! HDF5 files as h5py writes them; `oracle/make_data_files.py` has the formulas of their numbers.

use crate::common::{Folder, fixture, gz, read, read_with};
use harmonium::data::{self, ReadOptions};
use ndarray::Array2;

fn named(name: &str) -> harmonium::Result<Array2<f64>> {
    read_with(&format!("{}:{name}", fixture("many.h5").display()), &ReadOptions::default())
}

#[test]
fn every_type_of_number_is_read_as_it_stands_wherever_it_is() {
    let bits = Array2::from_shape_fn((7, 6), |(r, c)| f64::from(u8::from((r * 5 + c * 3) % 4 < 2)));
    assert_eq!(read(&fixture("bits.h5"), 2).unwrap(), bits);
    assert_eq!(named("truth").unwrap(), bits);
    assert_eq!(named("deep/er/big").unwrap(), &bits * 1.5);
    assert_eq!(named("/half").unwrap(), &bits / 2.0);
    assert_eq!(named("long").unwrap(), -&bits);
    assert_eq!(named("images").unwrap(), bits);
    let images = data::open_with(&format!("{}:images", fixture("many.h5").display()), &ReadOptions::default());
    assert_eq!(images.unwrap().image(), Some((2, 3)));
}

#[test]
fn files_of_several_tables_ask_for_a_name() {
    let said = |result: harmonium::Result<Array2<f64>>| result.unwrap_err().to_string();
    let found = said(read(&fixture("many.h5"), 1));
    let list = "deep/er/big (7, 6), half (7, 6), images (7, 2, 3), long (7, 6), truth (7, 6)";
    assert!(found.contains(&format!("several data sets: {list}; choose one, such as many.h5:deep/er/big")), "{found}");
    let found = said(named("absent"));
    assert!(found.contains("no data set 'absent'; it has deep/er/big, half, images"), "{found}");
    assert!(said(named("text")).contains("no data set 'text'"));
    assert!(said(read(&fixture("none.h5"), 1)).contains("none of the data sets in this file has rows and columns"));
}

#[test]
fn what_is_no_table_is_refused_in_a_sentence() {
    let folder = Folder::new();
    assert!(folder.refusal("x.h5", b"a,b\n1,2\n").contains("not readable as HDF5"));
    let packed = gz(&std::fs::read(fixture("bits.h5")).unwrap());
    assert!(folder.refusal("x.h5.gz", &packed).contains("compressed with gzip; decompress it first"));
    let options = ReadOptions { columns: Some("1".into()), ..ReadOptions::default() };
    let found = read_with(fixture("bits.h5").to_str().unwrap(), &options).unwrap_err().to_string();
    assert!(found.contains("can be chosen in text tables, not in HDF5 files"), "{found}");
}
