//! FASTA alignments: a line `>name`, then a sequence on one or more lines; each letter is the code of a Potts unit.
//!
//! All sequences have the same length. Lower case is read as upper case and `.` as a gap, except in .a2m and .a3m files, where
//! both are insertions and ignored. `?` is a missing cell where cells may be missing. Letters outside the alphabet are read as gaps, as is common, and counted. The file is read
//! twice: first for its alphabet, its length and its number of sequences.

use super::alphabet::Alphabet;
use super::bytes::Bytes;
use super::text::{Lines, places};
use super::{MOST_COLUMNS, ReadOptions, Source, extension, shown};
use crate::error::{Error, Result};
use ndarray::Array2;
use std::path::Path;

/// The sign of a missing cell.
const MISSING: u8 = b'?';
/// Extensions of files whose lower-case letters are insertions.
const WITH_INSERTIONS: [&str; 2] = ["a2m", "a3m"];
/// Longest name that is kept, in bytes.
const MOST_NAME: usize = 256;
/// Numbers that are allocated at first; more follow as the file turns out to have them.
const RESERVE: usize = 1 << 24;

/// Whether a file with these first bytes is FASTA.
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(b">") && super::is_text(head)
}

/// Opens a FASTA file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    if options.skip_rows > 0 || options.label_column.is_some() {
        let problem = "a FASTA file has no lines to skip and no label column".into();
        return Err(Error::Data { path: path.into(), problem });
    }
    let mut records = Records::open(path, options.missing)?;
    let found = Survey::new(&mut records)?;
    let alphabet = match &options.alphabet {
        Some(text) => Alphabet::new(text).map_err(|problem| records.refuse(problem))?,
        None => Alphabet::guess(&found.counts),
    };
    let codes = codes(&alphabet);
    let unknown = found.unknown(&alphabet);
    if let Some(letter) = unknown.iter().find(|_| codes[usize::from(b'-')].is_none()) {
        let letter = shown(&char::from(letter.0).to_string());
        return Err(records.refuse(format!("the letter '{letter}' is not in the alphabet {}", alphabet.letters())));
    }
    let no_header = None::<std::iter::Empty<&[u8]>>;
    let places = places(options, found.sites, no_header).map_err(|problem| records.refuse(problem))?;
    let columns = places.as_ref().map_or(found.sites, |p| p.iter().flatten().count());
    let records = Records::open(path, options.missing)?;
    Ok(Box::new(Alignment { records, alphabet, codes, unknown, places, columns, rows: found.rows, done: 0 }))
}

/// The code of every byte of a sequence; a gap if the byte is not in the alphabet.
fn codes(alphabet: &Alphabet) -> [Option<u8>; 256] {
    let codes = alphabet.codes();
    codes.map(|code| code.or(codes[usize::from(b'-')]))
}

/// The sequences of a file, one after the other.
struct Records {
    lines: Lines,
    insertions: bool,
    /// Whether cells may be missing.
    missing: bool,
    /// The `>` line of the next sequence, if it was read already.
    head: Option<Vec<u8>>,
    count: u64,
    line: Vec<u8>,
}

impl Records {
    fn open(path: &Path, missing: bool) -> Result<Records> {
        let insertions = WITH_INSERTIONS.contains(&extension(path).as_str());
        let lines = Lines::new(Bytes::open(path)?);
        let mut records = Records { lines, insertions, missing, head: None, count: 0, line: Vec::new() };
        while records.next_line()? {
            match records.line.first() {
                None | Some(b';') => continue,
                Some(b'>') => {
                    records.head = Some(records.line.clone());
                    break;
                }
                Some(_) => return Err(records.refuse("not a FASTA file: it does not start with '>'".into())),
            }
        }
        Ok(records)
    }

    /// Reads the next line without surrounding white space; false at the end.
    fn next_line(&mut self) -> Result<bool> {
        self.line.clear();
        let more = self.lines.append(&mut self.line)?;
        self.line = self.line.trim_ascii().to_vec();
        Ok(more)
    }

    /// Reads the next sequence into `sequence`, in upper case and with `-` for gaps; false at the end.
    fn next(&mut self, sequence: &mut Vec<u8>) -> Result<bool> {
        sequence.clear();
        let Some(mut head) = self.head.take() else { return Ok(false) };
        head.truncate(MOST_NAME);
        self.count += 1;
        while self.next_line()? {
            match self.line.first() {
                Some(b'>') => {
                    self.head = Some(std::mem::take(&mut self.line));
                    break;
                }
                None | Some(b';') => continue,
                Some(_) => self.residues(&head, sequence)?,
            }
        }
        Ok(true)
    }

    /// Appends the letters of a line.
    fn residues(&self, head: &[u8], sequence: &mut Vec<u8>) -> Result<()> {
        for &byte in &self.line {
            match byte {
                b'a'..=b'z' | b'.' if self.insertions => (),
                b' ' | b'\t' => (),
                b'.' | b'-' => sequence.push(b'-'),
                MISSING if self.missing => sequence.push(MISSING),
                b if b.is_ascii_alphabetic() || b == b'*' => sequence.push(b.to_ascii_uppercase()),
                b => {
                    let sign = shown(&String::from_utf8_lossy(&[b]));
                    return Err(self.refuse(format!("{}: '{sign}' is not a letter of a sequence", self.name(head))));
                }
            }
        }
        if sequence.len() > MOST_COLUMNS {
            Err(self.refuse(format!("{} has more than {MOST_COLUMNS} letters", self.name(head))))
        } else {
            Ok(())
        }
    }

    /// "sequence 3 (its name)".
    fn name(&self, head: &[u8]) -> String {
        let words = String::from_utf8_lossy(head);
        let name = words.trim_start_matches('>').split_whitespace().next().unwrap_or("without a name");
        format!("sequence {} ({})", self.count, shown(name))
    }

    fn refuse(&self, problem: String) -> Error {
        self.lines.refuse(problem)
    }
}

/// What the first pass over the file finds.
struct Survey {
    rows: u64,
    sites: usize,
    /// How often each byte occurs.
    counts: [u64; 256],
}

impl Survey {
    fn new(records: &mut Records) -> Result<Survey> {
        let mut found = Survey { rows: 0, sites: 0, counts: [0; 256] };
        let mut sequence = Vec::new();
        loop {
            let head = records.head.clone().unwrap_or_default();
            if !records.next(&mut sequence)? {
                break;
            }
            let (name, length, sites) = (|| records.name(&head), sequence.len(), found.sites);
            if length == 0 {
                return Err(records.refuse(format!("{} has no letters", name())));
            }
            if found.rows > 0 && length != sites {
                let hint = if records.insertions {
                    "all sequences must have the same length without insertions"
                } else {
                    "all sequences must have the same length; if lower-case letters are insertions, rename the file to .a3m"
                };
                let problem = format!("{} has {length} letters, but the first sequence has {sites}; {hint}", name());
                return Err(records.refuse(problem));
            }
            (found.rows, found.sites) = (found.rows + 1, length);
            sequence.iter().for_each(|b| found.counts[usize::from(*b)] += 1);
        }
        match found.rows {
            0 => Err(records.refuse("the file holds no sequences".into())),
            _ => Ok(found),
        }
    }

    /// The letters outside the alphabet, and how often they occur.
    fn unknown(&self, alphabet: &Alphabet) -> Vec<(u8, u64)> {
        let codes = alphabet.codes();
        let strange = |b: &u8| *b != MISSING && codes[usize::from(*b)].is_none() && self.counts[usize::from(*b)] > 0;
        (0..=255).filter(strange).map(|b| (b, self.counts[usize::from(b)])).collect()
    }
}

/// An alignment being read.
struct Alignment {
    records: Records,
    alphabet: Alphabet,
    codes: [Option<u8>; 256],
    /// Letters outside the alphabet, and how often they occur.
    unknown: Vec<(u8, u64)>,
    /// For every site its column in a row, if it has one; none if all sites are read.
    places: Option<Vec<Option<u32>>>,
    columns: usize,
    rows: u64,
    done: u64,
}

impl Alignment {
    fn refuse_changed(&self) -> Error {
        self.records.refuse("the file changed while it was read".into())
    }

    /// Letters of a sequence in the file.
    fn sites(&self) -> usize {
        self.places.as_ref().map_or(self.columns, Vec::len)
    }

    /// Writes the codes of a sequence into a row.
    fn encode(&self, sequence: &[u8], row: &mut [f64]) -> Option<()> {
        if sequence.len() != self.sites() {
            return None;
        }
        for (site, letter) in sequence.iter().enumerate() {
            let place = self.places.as_ref().map_or(Some(site as u32), |p| p[site]);
            let Some(place) = place else { continue };
            row[place as usize] = match *letter {
                MISSING => f64::NAN,
                letter => f64::from(self.codes[usize::from(letter)]?),
            };
        }
        Some(())
    }
}

impl Source for Alignment {
    fn columns(&self) -> usize {
        self.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn alphabet(&self) -> Option<&str> {
        Some(self.alphabet.letters())
    }

    fn note(&self) -> Option<String> {
        let count: u64 = self.unknown.iter().map(|u| u.1).sum();
        let letters: String = self.unknown.iter().map(|u| char::from(u.0)).collect();
        let all = self.rows as f64 * self.sites() as f64;
        (count > 0).then(|| {
            let part = 100.0 * count as f64 / all;
            format!("letters outside the alphabet are read as gaps: {letters}, {count} in all ({part:.2} %)")
        })
    }

    fn read(&mut self, n: usize) -> Result<Option<Array2<f64>>> {
        let n = (self.rows - self.done).min(n.max(1) as u64) as usize;
        if n == 0 {
            return Ok(None);
        }
        let mut numbers = Vec::with_capacity(n.saturating_mul(self.columns).min(RESERVE));
        let mut sequence = Vec::new();
        for _ in 0..n {
            if !self.records.next(&mut sequence)? {
                return Err(self.refuse_changed());
            }
            let start = numbers.len();
            numbers.resize(start + self.columns, 0.0);
            self.encode(&sequence, &mut numbers[start..]).ok_or_else(|| self.refuse_changed())?;
            self.done += 1;
        }
        Array2::from_shape_vec((n, self.columns), numbers).map(Some).map_err(|_| self.refuse_changed())
    }
}
