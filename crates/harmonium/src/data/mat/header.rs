//! The first 128 bytes of a .mat file: 116 of text, 8 of no concern here, the version, and two letters for the byte order.

use super::super::bytes::Refusal;
use super::super::npy::Dtype;
use std::io::{Read, Seek};

/// Bytes of the header.
pub(super) const LENGTH: u64 = 128;

/// Whether a file with these first bytes is a MATLAB file with such a header.
pub fn begins(head: &[u8]) -> bool {
    head.starts_with(b"MATLAB 5.0 MAT-file") || head.starts_with(b"MATLAB 7.3 MAT-file")
}

/// The byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Order {
    big: bool,
}

impl Order {
    /// The number in these bytes.
    pub fn number(self, bytes: [u8; 4]) -> u32 {
        if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// The type with this name in NumPy, without its order.
    pub fn dtype(self, name: &str) -> Result<Dtype, String> {
        Dtype::parse(&format!("{}{name}", if self.big { '>' } else { '<' }))
    }
}

/// Reads the header and returns the byte order.
pub(super) fn read(file: &mut (impl Read + Seek)) -> Result<Order, Refusal> {
    let mut head = Vec::new();
    file.rewind()?;
    file.take(LENGTH).read_to_end(&mut head)?;
    check(&head).map_err(Refusal::Problem)
}

fn check(head: &[u8]) -> Result<Order, String> {
    if head.starts_with(b"\x89HDF\r\n\x1a\n") {
        return Err("the file is HDF5, not a MATLAB file; rename it to .h5".into());
    }
    if [false, true].into_iter().any(|big| is_level_4(head, Order { big })) {
        return Err("the file has the format of MATLAB 4; load it in MATLAB or Octave and save it with -v7".into());
    }
    let Some([major, minor, letters @ ..]) = head.get(124..128) else {
        return Err("the file ends within its MATLAB header of 128 bytes".into());
    };
    let (order, version) = match letters {
        b"IM" => (Order { big: false }, u16::from_le_bytes([*major, *minor])),
        b"MI" => (Order { big: true }, u16::from_be_bytes([*major, *minor])),
        _ => return Err("not a MATLAB file: bytes 127 and 128 are not the letters of its byte order".into()),
    };
    match version {
        0x0100 => Ok(order),
        0x0200 => {
            Err("the file has the format of MATLAB 7.3, which is HDF5; load it in MATLAB and save it with -v7".into())
        }
        _ => Err(format!("the version 0x{version:04x} of the MATLAB file is unknown; known is 0x0100")),
    }
}

/// Whether the file begins as level 4 does: a type, rows, columns, 1 for complex numbers, and the length of a name.
fn is_level_4(head: &[u8], order: Order) -> bool {
    let (words, _) = head.as_chunks::<4>();
    let [kind, _, _, complex, name, ..] = *words else { return false };
    let [kind, complex, name] = [kind, complex, name].map(|word| order.number(word));
    // Thousands: the byte order; hundreds: 0; tens: the type of the numbers; units: the class of the array.
    kind < 5000
        && kind / 100 % 10 == 0
        && kind / 10 % 10 <= 5
        && kind % 10 <= 2
        && complex <= 1
        && (1..=64).contains(&name)
}
