//! The number types of a .npy file, all read as f64: bool, u1 to u8, i1 to i8, f2, f4, f8 in either byte order.
//!
//! Integers beyond 2⁵³ are rounded to the nearest f64.

use super::super::shown;

/// Type and byte order of the numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Dtype {
    kind: Kind,
    big: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl Dtype {
    /// From NumPy's description, such as `<f8`.
    pub fn parse(descr: &str) -> Result<Dtype, String> {
        let (big, name) = match descr.split_at_checked(1) {
            Some(("<", name)) => (false, name),
            Some((">", name)) => (true, name),
            Some(("|" | "=", name)) => (cfg!(target_endian = "big"), name),
            _ => (cfg!(target_endian = "big"), descr),
        };
        let kind = match name {
            "b1" => Kind::Bool,
            "u1" => Kind::U8,
            "u2" => Kind::U16,
            "u4" => Kind::U32,
            "u8" => Kind::U64,
            "i1" => Kind::I8,
            "i2" => Kind::I16,
            "i4" => Kind::I32,
            "i8" => Kind::I64,
            "f2" => Kind::F16,
            "f4" => Kind::F32,
            "f8" => Kind::F64,
            _ => return Err(refusal(descr, name)),
        };
        Ok(Dtype { kind, big })
    }

    /// Bytes per number.
    pub fn size(self) -> usize {
        match self.kind {
            Kind::Bool | Kind::U8 | Kind::I8 => 1,
            Kind::U16 | Kind::I16 | Kind::F16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 => 8,
        }
    }

    /// The numbers in these bytes.
    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        match self.kind {
            Kind::Bool => bytes.iter().map(|b| f64::from(u8::from(*b != 0))).collect(),
            Kind::U8 => bytes.iter().map(|b| f64::from(*b)).collect(),
            Kind::I8 => self.numbers(bytes, |b| f64::from(i8::from_le_bytes(b))),
            Kind::U16 => self.numbers(bytes, |b| f64::from(u16::from_le_bytes(b))),
            Kind::U32 => self.numbers(bytes, |b| f64::from(u32::from_le_bytes(b))),
            Kind::U64 => self.numbers(bytes, |b| u64::from_le_bytes(b) as f64),
            Kind::I16 => self.numbers(bytes, |b| f64::from(i16::from_le_bytes(b))),
            Kind::I32 => self.numbers(bytes, |b| f64::from(i32::from_le_bytes(b))),
            Kind::I64 => self.numbers(bytes, |b| i64::from_le_bytes(b) as f64),
            Kind::F16 => self.numbers(bytes, |b| half(u16::from_le_bytes(b))),
            Kind::F32 => self.numbers(bytes, |b| f64::from(f32::from_le_bytes(b))),
            Kind::F64 => self.numbers(bytes, f64::from_le_bytes),
        }
    }

    /// Applies `number` to every N bytes, in little-endian order.
    fn numbers<const N: usize>(self, bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        let (chunks, _) = bytes.as_chunks::<N>();
        let read = |chunk: &[u8; N]| {
            let mut chunk = *chunk;
            if self.big {
                chunk.reverse();
            }
            number(chunk)
        };
        chunks.iter().map(read).collect()
    }
}

fn refusal(descr: &str, name: &str) -> String {
    let what = match name.chars().next() {
        Some('O') => "Python objects",
        Some('U' | 'S' | 'a') => "text",
        Some('V') => "records",
        Some('c') => "complex numbers",
        Some('M' | 'm') => "dates or times",
        _ => "an unknown type",
    };
    format!("the array holds {what} (dtype '{}'), expected bool, integer or float numbers", shown(descr))
}

/// IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 bits of fraction.
fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff);
    let magnitude = match (bits >> 10) & 0x1f {
        0 => fraction * f64::powi(2.0, -24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + fraction) * f64::powi(2.0, i32::from(e) - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_in_both_byte_orders() {
        let check = |name: &str, little: &[u8], expected: f64| {
            let big: Vec<u8> = little.iter().rev().copied().collect();
            for (order, bytes) in [("<", little), (">", &big)] {
                let dtype = Dtype::parse(&format!("{order}{name}")).unwrap();
                assert_eq!(dtype.size(), bytes.len());
                assert_eq!(dtype.decode(bytes), [expected], "{order}{name}");
            }
        };
        check("b1", &[1], 1.0);
        check("u1", &[200], 200.0);
        check("u2", &40_000u16.to_le_bytes(), 40_000.0);
        check("u4", &4_000_000_000u32.to_le_bytes(), 4e9);
        check("u8", &(1u64 << 63).to_le_bytes(), f64::powi(2.0, 63));
        check("i1", &(-3i8).to_le_bytes(), -3.0);
        check("i2", &(-300i16).to_le_bytes(), -300.0);
        check("i4", &(-70_000i32).to_le_bytes(), -70_000.0);
        check("i8", &i64::MIN.to_le_bytes(), -f64::powi(2.0, 63));
        check("f2", &0xc580u16.to_le_bytes(), -5.5);
        check("f4", &0.1f32.to_le_bytes(), f64::from(0.1f32));
        check("f8", &0.1f64.to_le_bytes(), 0.1);
    }

    #[test]
    fn halves_cover_their_range() {
        for (bits, value) in [(0, 0.0), (1, 5.960464477539063e-8), (0x3c00, 1.0), (0x7bff, 65504.0)] {
            assert_eq!(half(bits), value);
        }
        assert_eq!(half(0xfc00), f64::NEG_INFINITY);
        assert!(half(0x7c01).is_nan());
    }

    #[test]
    fn other_types_are_refused_by_name() {
        let names =
            [("|O", "Python objects"), ("<U10", "text"), ("|S3", "text"), ("<c16", "complex"), ("|V8", "records")];
        for (descr, what) in names.into_iter().chain([("<M8[ns]", "dates"), ("", "unknown"), ("é", "unknown")]) {
            assert!(Dtype::parse(descr).unwrap_err().contains(what), "{descr}");
        }
    }
}
