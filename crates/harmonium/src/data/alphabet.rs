//! Alphabets: the letters of the codes 0 … q−1 of a Potts unit.

use super::shown;

/// Named alphabets; the first letter of each is the gap.
const ALPHABETS: [(&str, &str); 3] = [("protein", "-ACDEFGHIKLMNPQRSTVWY"), ("rna", "-ACGU"), ("dna", "-ACGT")];

/// The fraction of nucleotide letters from which on an alignment is one of nucleotides. In proteins about a quarter of the
/// letters are such.
const NUCLEOTIDES: f64 = 0.9;

/// Letters in the order of their codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alphabet {
    letters: String,
}

impl Alphabet {
    /// A named alphabet, or the one with these letters: upper-case letters and symbols, each once.
    pub fn new(text: &str) -> Result<Alphabet, String> {
        let known = ALPHABETS.iter().find(|a| a.0 == text).map_or(text, |a| a.1);
        let allowed = |c: char| c.is_ascii_graphic() && !c.is_ascii_lowercase() && !">;.".contains(c);
        let once = known.chars().enumerate().all(|(i, c)| known.chars().take(i).all(|d| d != c));
        if known.len() < 2 || !known.chars().all(allowed) || !once {
            let names: Vec<&str> = ALPHABETS.iter().map(|a| a.0).collect();
            return Err(format!(
                "'{}' is not an alphabet: expected {}, or the letters in the order of their codes, in upper case, each once",
                shown(text),
                names.join(", ")
            ));
        }
        Ok(Alphabet { letters: known.into() })
    }

    /// Guesses the alphabet of an alignment in which byte b occurs `counts[b]` times.
    pub(crate) fn guess(counts: &[u64; 256]) -> Alphabet {
        let sum = |letters: &[u8]| letters.iter().map(|b| counts[usize::from(*b)]).sum::<u64>();
        let all: u64 = (b'A'..=b'Z').map(|b| counts[usize::from(b)]).sum();
        let nucleotides = sum(b"ACGTUN") as f64 >= NUCLEOTIDES * all as f64;
        let name = if !nucleotides {
            "protein"
        } else if sum(b"U") > sum(b"T") {
            "rna"
        } else {
            "dna"
        };
        let letters = ALPHABETS.iter().find(|a| a.0 == name).map_or("", |a| a.1);
        Alphabet { letters: letters.into() }
    }

    /// The letters in the order of their codes.
    pub(crate) fn letters(&self) -> &str {
        &self.letters
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&'static str> {
        ALPHABETS.iter().find(|a| a.1 == self.letters).map(|a| a.0)
    }

    /// The code of every byte.
    pub(super) fn codes(&self) -> [Option<u8>; 256] {
        let mut codes = [None; 256];
        for (code, letter) in self.letters.bytes().enumerate() {
            codes[usize::from(letter)] = Some(code as u8);
        }
        codes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(text: &str) -> Option<&'static str> {
        let mut counts = [0; 256];
        text.bytes().for_each(|b| counts[usize::from(b)] += 1);
        Alphabet::guess(&counts).name()
    }

    #[test]
    fn the_letters_tell_the_alphabet() {
        assert_eq!(guess("ACGTTGCA--N"), Some("dna"));
        assert_eq!(guess("ACGUUGCAGU..R"), Some("rna"));
        assert_eq!(guess("ACDEFGHIKL"), Some("protein"));
        assert_eq!(guess("LPGEWKPCQDIT-GDIYYFNFANGQSMWDHP"), Some("protein"));
        assert_eq!(guess("--"), Some("dna"));
    }

    #[test]
    fn alphabets_have_names_or_letters_that_are_all_different() {
        assert_eq!(Alphabet::new("protein").unwrap().letters().len(), 21);
        assert_eq!(Alphabet::new("HP").unwrap().codes()[usize::from(b'P')], Some(1));
        for bad in ["", "A", "AA", "acgt", "A>", "A B", "ÄB", "proteins"] {
            assert!(Alphabet::new(bad).unwrap_err().contains("protein, rna, dna"), "{bad}");
        }
    }
}
