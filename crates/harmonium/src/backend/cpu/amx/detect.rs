//! Whether tiles of bytes can be used: the processor says so, the system saves them, permits them, and they compute.
//!
//! Virtual models may pass on some of this and not the rest, and leaf 1DH, which describes the tiles, may read zero in one
//! that has them; so nothing is believed that is not needed, and at last a product is compared with plain Rust.

use super::tiles::{SIDE, Sums, Tile, Tiles, plain};

/// Whether there are tiles, found out once.
pub fn available() -> bool {
    static FOUND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    // SAFETY: the test comes last, when the processor reports tiles and the system has permitted them.
    *FOUND.get_or_init(|| reported() && permitted() && unsafe { tested() })
}

/// CPUID leaf 7 has amx-tile (EDX bit 24) and amx-int8 (bit 25); XCR0 says that the system saves the configuration (bit 17)
/// and the tiles (bit 18), and can be read if leaf 1 has OSXSAVE (ECX bit 27).
fn reported() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
    #[target_feature(enable = "xsave")]
    fn saved() -> u64 {
        // SAFETY: this is called only if OSXSAVE is set, and register 0 exists then.
        unsafe { _xgetbv(0) }
    }
    const OSXSAVE: u32 = 1 << 27;
    const TILES: u32 = 1 << 24 | 1 << 25;
    const SAVED: u64 = 1 << 17 | 1 << 18;
    if __cpuid(0).eax < 7 || __cpuid(1).ecx & OSXSAVE == 0 || __cpuid_count(7, 0).edx & TILES != TILES {
        return false;
    }
    // SAFETY: OSXSAVE is set, so there is XGETBV.
    unsafe { saved() & SAVED == SAVED }
}

/// Asks Linux for the tiles of this process: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA).
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    let mut result = ARCH_PRCTL;
    // SAFETY: a system call that reads and writes no memory of ours; it keeps all registers but these.
    unsafe {
        std::arch::asm!(
            "syscall",
            inout("rax") result,
            in("rdi") 0x1023,
            in("rsi") 18,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

/// Products of all kinds of bytes, over no, one and three blocks, are what they should be.
///
/// # Safety
/// As for [`Tiles::configure`].
pub unsafe fn tested() -> bool {
    let mut word = 1u32;
    let mut tile = || {
        let mut tile = Tile::ZERO;
        for i in 0..SIDE * SIDE {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            tile.0[i / SIDE][i % SIDE] = word ^ word >> 16;
        }
        tile
    };
    // SAFETY: as the caller promises.
    let mut tiles = unsafe { Tiles::configure() };
    [0, 1, 3].into_iter().all(|blocks| {
        let bits: Vec<Tile> = (0..2 * blocks).map(|_| tile()).collect();
        let digits: Vec<Tile> = (0..3 * blocks).map(|_| tile()).collect();
        let (mut found, mut want) = (Sums::default(), Sums::default());
        tiles.multiply(&bits, &digits, &mut found);
        plain(&bits, &digits, &mut want);
        found == want
    })
}
