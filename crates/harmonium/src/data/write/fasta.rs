//! FASTA: every row is a sequence of letters, named by its number.

use super::{How, Outcome, TableHead, Writer};
use ndarray::ArrayView2;

pub(super) const WRITER: Writer = Writer {
    name: "FASTA",
    extensions: &["fasta", "fa", "faa", "fas", "afa"],
    about: "sequences, from a model that was trained on sequences",
    counts_rows: false,
    check,
    how: How::Plain { head: |_, _, _| Ok(()), rows },
};

fn check(table: &TableHead) -> Outcome {
    match table.alphabet {
        Some(_) => Ok(()),
        None => Err("these rows are not sequences: FASTA is for the visible rows of a model trained on sequences; write .npy instead".into()),
    }
}

fn rows(table: &TableHead, block: ArrayView2<f64>, first: u64, out: &mut Vec<u8>) -> Outcome {
    let letters = table.alphabet.unwrap_or_default().as_bytes();
    for (r, row) in block.rows().into_iter().enumerate() {
        out.extend(format!(">{}\n", first + r as u64).bytes());
        for (c, &x) in row.iter().enumerate() {
            let letter = letters.get(x as usize).filter(|_| x >= 0.0 && x.fract() == 0.0);
            let wrong = || format!("row {}, column {}: {x} is not the code of a letter", first + r as u64, c + 1);
            out.push(*letter.ok_or_else(wrong)?);
        }
        out.push(b'\n');
    }
    Ok(())
}
