//! NumPy's .npy: f64 in C order, bit for bit.

use super::{How, Outcome, TableHead, Writer};
use crate::data::npy::header;
use ndarray::ArrayView2;

pub(super) const WRITER: Writer = Writer {
    name: "NumPy",
    extensions: &["npy"],
    about: "an array of double-precision numbers",
    counts_rows: true,
    check: |_| Ok(()),
    how: How::Plain { head, rows },
};

fn head(table: &TableHead, rows: u64, out: &mut Vec<u8>) -> Outcome {
    let shape = if table.vector { vec![rows] } else { vec![rows, table.columns as u64] };
    out.extend(header::to_bytes(&shape));
    Ok(())
}

fn rows(_: &TableHead, block: ArrayView2<f64>, _: u64, out: &mut Vec<u8>) -> Outcome {
    out.extend(block.iter().flat_map(|x| x.to_le_bytes()));
    Ok(())
}
