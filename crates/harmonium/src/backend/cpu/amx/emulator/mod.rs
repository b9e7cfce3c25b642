//! Tile instructions on processors without them: each traps (SIGILL), is decoded where it stands, carried out on a tile file
//! in memory as Intel's manual says (Software Developer's Manual, volume 2), and stepped over.
//!
//! It knows nothing of the kernel. What the manual calls an exception ends the test with a message, as does every
//! instruction that is not one of tiles of bytes.

mod decode;
mod file;

use decode::decode;
use file::File;
use std::cell::RefCell;

/// Why an instruction cannot be carried out.
type Fault = String;

thread_local! {
    static TILES: RefCell<File> = const { RefCell::new(File::RELEASED) };
}

/// From now on tile instructions of this process are emulated.
pub fn install() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler touches what the trapped instruction could have touched, and this thread's tile file.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_trap as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGILL, &action, std::ptr::null_mut()), 0);
        }
    });
}

/// Carries out the instruction that trapped, or ends the process and says why.
extern "C" fn on_trap(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // The order in which instructions number the registers.
    const NUMBERED: [i32; 16] = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    // SAFETY: the system gives a handler with SA_SIGINFO the context of the thread.
    let saved = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let here = saved[libc::REG_RIP as usize];
    // SAFETY: an instruction stands there, and code goes on after it for more than ten bytes.
    let code = unsafe { &*(here as *const [u8; 10]) };
    let registers = NUMBERED.map(|r| saved[r as usize] as usize);
    let done = decode(code).and_then(|(instruction, length)| {
        // SAFETY: the processor would have touched the same memory.
        TILES.with_borrow_mut(|tiles| unsafe { tiles.execute(instruction, registers) })?;
        Ok(length)
    });
    match done {
        Ok(length) => saved[libc::REG_RIP as usize] += length as i64,
        Err(fault) => {
            let text = format!("\nillegal instruction at {here:#x}: {fault}\n");
            // SAFETY: writes the bytes of `text`, then ends the process.
            unsafe {
                libc::write(2, text.as_ptr().cast(), text.len());
                libc::abort();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Level;
    use std::arch::asm;

    /// What cannot be carried out ends the process: here a copy of it, by a tile that was not configured and by UD2.
    #[test]
    fn wrong_instructions_end_the_process() {
        Level::with_tiles();
        for wrong in [0, 1] {
            // SAFETY: the copy does nothing but trap; the handler ends it.
            let status = unsafe {
                let child = libc::fork();
                if child == 0 {
                    libc::close(2);
                    match wrong {
                        0 => asm!("tilezero tmm0", out("tmm0") _),
                        _ => asm!("ud2"),
                    }
                    libc::_exit(0);
                }
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                status
            };
            assert!(libc::WIFSIGNALED(status), "{wrong}");
        }
    }
}
