//! From the bytes of an instruction to what it says.

use super::Fault;

/// Where an operand is in memory: base + index·2^scale + displacement; for tiles, index·2^scale is the distance of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    pub base: usize,
    pub index: Option<usize>,
    pub scale: u8,
    pub displacement: i32,
}

/// A decoded instruction; tiles by number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instruction {
    /// LDTILECFG m512.
    Configure(Address),
    /// TILERELEASE.
    Release,
    /// TILEZERO tmm.
    Zero(usize),
    /// TILELOADD tmm, sibmem, or TILELOADDT1, which differs by a hint.
    Load(usize, Address),
    /// TILESTORED sibmem, tmm.
    Store(Address, usize),
    /// TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD tmm1, tmm2, tmm3: whether tmm2 and tmm3 are signed, then the tiles.
    Dot([bool; 2], [usize; 3]),
}

/// The mandatory prefix that VEX.pp stands for.
#[derive(Clone, Copy, PartialEq)]
enum Prefix {
    None,
    P66,
    F3,
    F2,
}

/// Decodes VEX.128.pp.0F38.W0 instructions of tiles; returns how many bytes they take.
///
/// | | no prefix | 66 | F3 | F2 |
/// |---|---|---|---|---|
/// | 49, memory, /0 | LDTILECFG | (STTILECFG) | | |
/// | 49, register | TILERELEASE (C0) | | | TILEZERO (rm 0) |
/// | 4B, memory with SIB | | TILELOADDT1 | TILESTORED | TILELOADD |
/// | 5E, register | TDPBUUD | TDPBUSD | TDPBSUD | TDPBSSD |
pub fn decode(code: &[u8; 10]) -> Result<(Instruction, usize), Fault> {
    let unknown = || format!("not a tile instruction: {code:02x?}");
    let [vex, first, second, opcode, modrm, ..] = *code;
    // Map 0F38; W = 0; L = 0.
    if vex != 0xc4 || first & 0x1f != 2 || second & 0x84 != 0 {
        return Err(unknown());
    }
    let prefix = [Prefix::None, Prefix::P66, Prefix::F3, Prefix::F2][usize::from(second & 3)];
    // Registers that VEX extends are stored inverted.
    let extended = |bit: u8| if first >> bit & 1 == 0 { 8 } else { 0 };
    let third = usize::from(!(second >> 3) & 15);
    let (reg, rm) = (usize::from(modrm >> 3 & 7) + extended(7), usize::from(modrm & 7) + extended(5));
    let memory = || address(code, extended(6), extended(5));
    let in_memory = modrm >> 6 != 3;
    let sib = in_memory && modrm & 7 == 4;
    if opcode != 0x5e && third != 0 {
        return Err(format!("VEX.vvvv must be 1111 (#UD): {code:02x?}"));
    }
    let (instruction, length) = match (opcode, in_memory, prefix) {
        (0x49, true, Prefix::None) if reg == 0 => memory().map(|(a, n)| (Instruction::Configure(a), n))?,
        (0x49, false, Prefix::None) if modrm == 0xc0 => (Instruction::Release, 5),
        (0x49, false, Prefix::F2) if rm == 0 => (Instruction::Zero(reg), 5),
        (0x4b, true, Prefix::F2 | Prefix::P66) if sib => memory().map(|(a, n)| (Instruction::Load(reg, a), n))?,
        (0x4b, true, Prefix::F3) if sib => memory().map(|(a, n)| (Instruction::Store(a, reg), n))?,
        (0x5e, false, _) => {
            let signed = [matches!(prefix, Prefix::F2 | Prefix::F3), matches!(prefix, Prefix::F2 | Prefix::P66)];
            (Instruction::Dot(signed, [reg, rm, third]), 5)
        }
        _ => return Err(unknown()),
    };
    Ok((instruction, length))
}

/// The operand that ModRM, SIB and displacement describe, and the length of the instruction.
fn address(code: &[u8; 10], more_index: usize, more_base: usize) -> Result<(Address, usize), Fault> {
    let (form, rm) = (code[4] >> 6, usize::from(code[4] & 7));
    let (mut base, mut index, mut scale, mut length) = (rm + more_base, None, 0, 5);
    if rm == 4 {
        let sib = code[5];
        base = usize::from(sib & 7) + more_base;
        index = Some(usize::from(sib >> 3 & 7) + more_index).filter(|i| *i != 4);
        scale = sib >> 6;
        length = 6;
    }
    if form == 0 && base % 8 == 5 {
        return Err(format!("an address without a base is not emulated: {code:02x?}"));
    }
    let at = |i: usize| [code[length], code[length + 1], code[length + 2], code[length + 3]][i];
    let (displacement, size) = match form {
        0 => (0, 0),
        1 => (i32::from(at(0) as i8), 1),
        _ => (i32::from_le_bytes([at(0), at(1), at(2), at(3)]), 4),
    };
    Ok((Address { base, index, scale, displacement }, length + size))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodings written out by hand from the manual's opcode column.
    #[test]
    fn instructions_are_decoded_as_the_manual_encodes_them() {
        let rax_rcx = |displacement| Address { base: 0, index: Some(1), scale: 0, displacement };
        let cases: [(&[u8], Instruction); 13] = [
            (&[0xc4, 0xe2, 0x78, 0x49, 0x00], Instruction::Configure(Address { index: None, ..rax_rcx(0) })),
            (&[0xc4, 0xe2, 0x78, 0x49, 0xc0], Instruction::Release),
            (&[0xc4, 0xe2, 0x7b, 0x49, 0xc0], Instruction::Zero(0)),
            (&[0xc4, 0xe2, 0x7b, 0x49, 0xf8], Instruction::Zero(7)),
            (&[0xc4, 0xe2, 0x7b, 0x4b, 0x34, 0x08], Instruction::Load(6, rax_rcx(0))),
            (&[0xc4, 0xe2, 0x79, 0x4b, 0x34, 0x08], Instruction::Load(6, rax_rcx(0))),
            (&[0xc4, 0xe2, 0x7b, 0x4b, 0x5c, 0x08, 0xc0], Instruction::Load(3, rax_rcx(-64))),
            (&[0xc4, 0xe2, 0x7a, 0x4b, 0xac, 0x08, 0x00, 0x14, 0x00, 0x00], Instruction::Store(rax_rcx(5120), 5)),
            // [r13 + r12·8 + 0], and [rsp] without an index.
            (
                &[0xc4, 0x82, 0x7b, 0x4b, 0x4c, 0xe5, 0x00],
                Instruction::Load(1, Address { base: 13, index: Some(12), scale: 3, displacement: 0 }),
            ),
            (
                &[0xc4, 0xe2, 0x7b, 0x4b, 0x0c, 0x24],
                Instruction::Load(1, Address { base: 4, index: None, scale: 0, displacement: 0 }),
            ),
            // tdpbusd tmm0, tmm6, tmm7; tdpbssd tmm1, tmm2, tmm3; tdpbuud tmm5, tmm4, tmm0.
            (&[0xc4, 0xe2, 0x41, 0x5e, 0xc6], Instruction::Dot([false, true], [0, 6, 7])),
            (&[0xc4, 0xe2, 0x63, 0x5e, 0xca], Instruction::Dot([true, true], [1, 2, 3])),
            (&[0xc4, 0xe2, 0x78, 0x5e, 0xec], Instruction::Dot([false, false], [5, 4, 0])),
        ];
        for (bytes, want) in cases {
            let mut code = [0xcc; 10];
            code[..bytes.len()].copy_from_slice(bytes);
            assert_eq!(decode(&code), Ok((want, bytes.len())), "{bytes:02x?}");
        }
    }

    #[test]
    fn other_instructions_are_refused() {
        for bytes in [
            [0x0f, 0x0b, 0xcc, 0xcc, 0xcc, 0xcc], // ud2
            [0xc4, 0xe2, 0x79, 0x49, 0x00, 0xcc], // sttilecfg
            [0xc4, 0xe2, 0xfb, 0x4b, 0x34, 0x08], // tileloadd with W = 1
            [0xc4, 0xe2, 0x7f, 0x4b, 0x34, 0x08], // with L = 1
            [0xc4, 0xe1, 0x7b, 0x4b, 0x34, 0x08], // in map 0F
            [0xc4, 0xe2, 0x7b, 0x4b, 0x30, 0xcc], // without SIB
            [0xc4, 0xe2, 0x73, 0x4b, 0x34, 0x08], // with a third register
            [0xc4, 0xe2, 0x42, 0x5c, 0xc6, 0xcc], // tdpbf16ps
            [0xc5, 0xfa, 0x4b, 0x34, 0x08, 0xcc], // two-byte VEX
        ] {
            let mut code = [0xcc; 10];
            code[..6].copy_from_slice(&bytes);
            assert!(decode(&code).is_err(), "{bytes:02x?}");
        }
    }
}
