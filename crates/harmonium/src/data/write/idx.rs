//! IDX, the format of MNIST: values from 0 to 1 as bytes from 0 to 255, as images if the rows are images.

use super::{How, Outcome, TableHead, Writer};
use ndarray::ArrayView2;

pub(super) const WRITER: Writer = Writer {
    name: "IDX",
    extensions: &["idx", "ubyte"],
    about: "values from 0 to 1 as bytes, such as images",
    counts_rows: true,
    check: |_| Ok(()),
    how: How::Plain { head, rows },
};

fn head(table: &TableHead, rows: u64, out: &mut Vec<u8>) -> Outcome {
    let shape = match table.image.filter(|(h, w)| h.checked_mul(*w) == Some(table.columns)) {
        Some((h, w)) => vec![rows, h as u64, w as u64],
        None => vec![rows, table.columns as u64],
    };
    out.extend([0, 0, 0x08, shape.len() as u8]);
    for n in shape {
        let n = u32::try_from(n).map_err(|_| format!("{n} is too large for an IDX file"))?;
        out.extend(n.to_be_bytes());
    }
    Ok(())
}

fn rows(_: &TableHead, block: ArrayView2<f64>, first: u64, out: &mut Vec<u8>) -> Outcome {
    if let Some(((r, c), x)) = block.indexed_iter().find(|(_, x)| !(0.0..=1.0).contains(*x)) {
        let (row, column) = (first + r as u64, c + 1);
        return Err(format!(
            "row {row}, column {column}: {x} is not from 0 to 1, the range of IDX bytes; write .npy instead"
        ));
    }
    out.extend(block.iter().map(|x| (255.0 * x).round() as u8));
    Ok(())
}
