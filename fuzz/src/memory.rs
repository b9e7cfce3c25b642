//! Counts the memory in use, and ends the program when it is more than the limit: the fuzzer keeps the input as a crash.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub struct Counted;

static USED: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Runs `work`, which may take `most` bytes more than are in use now; returns what it took.
pub fn limited(most: usize, work: impl FnOnce()) -> usize {
    let before = USED.load(Relaxed);
    PEAK.store(before, Relaxed);
    LIMIT.store(before.saturating_add(most), Relaxed);
    work();
    LIMIT.store(usize::MAX, Relaxed);
    PEAK.load(Relaxed).saturating_sub(before)
}

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        USED.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }
}

fn count(bytes: usize) {
    let used = USED.fetch_add(bytes, Relaxed).saturating_add(bytes);
    PEAK.fetch_max(used, Relaxed);
    if used > LIMIT.load(Relaxed) {
        LIMIT.store(usize::MAX, Relaxed);
        eprintln!("memory: {used} bytes in use, the last {bytes} of them are beyond the limit");
        std::process::abort();
    }
}
