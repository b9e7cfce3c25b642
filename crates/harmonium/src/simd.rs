//! Which instructions the processor has: one source for every kernel, compiled once per [`Level`], chosen at run time.
//!
//! Kernels are plain Rust over rows of 32 numbers, which the compiler turns into vector code for the enabled features. All levels
//! give the same bits, because none reorders a sum, or fuses a multiplication with an addition where another does not.

#![allow(unsafe_code)]

use crate::error::{Error, Result};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of instructions. Made only by [`Level::available`], so this processor has every level there is a value of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Isa);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    Portable,
    Avx2,
    Avx512,
}

/// A bit for every level that has run.
static USED: AtomicU8 = AtomicU8::new(0);

/// The environment variable that forces a level: `portable`, `avx2` or `avx512`.
pub const VARIABLE: &str = "HARMONIUM_SIMD";

impl Level {
    /// The levels of this processor, slowest first.
    pub fn available() -> Vec<Level> {
        let mut all = vec![Level(Isa::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if avx2 && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") {
                all.push(Level(Isa::Avx2));
            }
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
            let words = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512dq");
            if all.len() == 2 && wide && words {
                all.push(Level(Isa::Avx512));
            }
        }
        all
    }

    /// The fastest level, or the one the environment variable names; refuses a name this processor does not have.
    pub fn choose() -> Result<Level> {
        let all = Level::available();
        let Ok(name) = std::env::var(VARIABLE) else {
            return Ok(all.last().copied().unwrap_or(Level(Isa::Portable)));
        };
        all.iter().find(|l| l.name() == name).copied().ok_or_else(|| {
            let known = all.iter().map(|l| l.name()).collect::<Vec<_>>().join(", ");
            let problem = format!("is '{}', but this processor has {known}", crate::error::shown(&name));
            Error::Config { key: VARIABLE, problem }
        })
    }

    /// The level of everything that is not given one: the same as [`choose`](Level::choose), once for the whole process.
    pub(crate) fn of_process() -> Level {
        static LEVEL: LazyLock<Level> = LazyLock::new(|| Level::choose().unwrap_or(Level(Isa::Portable)));
        *LEVEL
    }

    /// Notes that this level runs, in builds with assertions.
    #[inline(always)]
    pub(crate) fn used(self) {
        #[cfg(debug_assertions)]
        USED.fetch_or(1 << self.0 as u8, Ordering::Relaxed);
    }

    /// The levels that have run in this process; none in builds without assertions.
    #[doc(hidden)]
    pub fn all_used() -> Vec<Level> {
        let used = USED.load(Ordering::Relaxed);
        [Isa::Portable, Isa::Avx2, Isa::Avx512]
            .into_iter()
            .filter(|isa| used >> *isa as u8 & 1 == 1)
            .map(Level)
            .collect()
    }

    /// Its name, as the environment variable takes it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    pub(crate) fn isa(self) -> Isa {
        self.0
    }
}

/// Fetches N numbers into the cache that will be written soon; `first` may be any address.
#[inline(always)]
pub(crate) fn prefetch<T, const N: usize>(first: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // One line more than they fill if they start with a line.
        for line in 0..=(N * size_of::<T>() / 64) {
            // SAFETY: a prefetch changes nothing that a program can see, and addresses of nothing are passed over.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(first.cast::<i8>().wrapping_add(64 * line)) };
        }
    }
    let _ = first;
}

/// Declares a function that runs an `#[inline(always)]` body compiled for a level: the one it is given, if its first parameter is
/// `level`, or that of the process.
macro_rules! dispatch {
    ($(#[$doc:meta])* $vis:vis fn $name:ident $(<$($T:ident),+>)?(level, $($arg:ident: $ty:ty),* $(,)?)
        $(-> $ret:ty)? => $body:path;) => {
        $(#[$doc])*
        #[allow(unsafe_code, clippy::too_many_arguments)] // the level is one more
        $vis fn $name $(<$($T: Real),+>)?(level: $crate::simd::Level, $($arg: $ty),*) $(-> $ret)? {
            level.used();
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::simd::Isa;
                #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
                fn avx2 $(<$($T: Real),+>)?($($arg: $ty),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,fma,bmi1,bmi2")]
                fn avx512 $(<$($T: Real),+>)?($($arg: $ty),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                match level.isa() {
                    // SAFETY: `Level::available` makes this level only where the processor reports these features.
                    Isa::Avx2 => return unsafe { avx2($($arg),*) },
                    // SAFETY: as above.
                    Isa::Avx512 => return unsafe { avx512($($arg),*) },
                    Isa::Portable => {}
                }
            }
            $body($($arg),*)
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident $(<$($T:ident),+>)?($($arg:ident: $ty:ty),* $(,)?)
        $(-> $ret:ty)? => $body:path;) => {
        $(#[$doc])*
        $vis fn $name $(<$($T: Real),+>)?($($arg: $ty),*) $(-> $ret)? {
            $crate::simd::dispatch! { fn at_level $(<$($T),+>)?(level, $($arg: $ty),*) $(-> $ret)? => $body; }
            at_level($crate::simd::Level::of_process(), $($arg),*)
        }
    };
}
pub(crate) use dispatch;
