//! Whether a piece of work fits in memory: the bytes it needs, compared with those that the computer has left.

use crate::error::{Error, Result};
use std::fmt::Display;

/// What a computer is taken to have if it does not report it.
const UNKNOWN: u64 = 64 << 30;

/// Bytes of memory that are left: of the computer, of the process's control group, and of its own limit (`ulimit -v`).
pub fn available() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let limits = [
        read("/proc/meminfo").and_then(|text| free(&text)),
        read("/sys/fs/cgroup/memory.max").and_then(|text| number(&text)),
        read("/sys/fs/cgroup/memory/memory.limit_in_bytes").and_then(|text| number(&text)),
        read("/proc/self/limits").and_then(|text| address_space(&text)),
    ];
    limits.into_iter().flatten().min().unwrap_or(UNKNOWN)
}

/// The first number of a text.
fn number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

/// `MemAvailable` and `SwapFree` of /proc/meminfo, which are in kB.
fn free(text: &str) -> Option<u64> {
    let line = |name| text.lines().find_map(|line| number(line.strip_prefix(name)?));
    Some(1024 * (line("MemAvailable:")? + line("SwapFree:").unwrap_or(0)))
}

/// The limit of the address space in /proc/self/limits; none if it is unlimited.
fn address_space(text: &str) -> Option<u64> {
    text.lines().find_map(|line| number(line.strip_prefix("Max address space")?))
}

/// Refuses a setting whose `value` needs more memory than is left.
pub(crate) fn check(key: &'static str, value: impl Display, bytes: f64) -> Result<()> {
    let free = available() as f64;
    if bytes <= free {
        return Ok(());
    }
    let problem = format!("is {value}, which needs about {} of memory, but only {} is free", size(bytes), size(free));
    Err(Error::Config { key, problem })
}

/// A number of bytes in words: `1.5 GB`.
pub(crate) fn size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["MB", "GB", "TB", "PB", "EB"];
    let thousands = ((bytes.max(1.0).log10() / 3.0) as usize).clamp(2, UNITS.len() + 1);
    let number = bytes / 1000f64.powi(thousands as i32);
    if number < 1000.0 { format!("{number:.1} {}", UNITS[thousands - 2]) } else { "more than 1000 EB".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_reports_is_read() {
        assert_eq!(free("MemTotal: 9 kB\nMemAvailable:   4 kB\nSwapFree: 3 kB\n"), Some(7 * 1024));
        assert_eq!(free("MemTotal: 9 kB\n"), None);
        assert_eq!((number("max\n"), number("1048576\n")), (None, Some(1 << 20)));
        let limits = "Max cpu time  unlimited  unlimited  seconds\nMax address space         4096  unlimited  bytes\n";
        assert_eq!((address_space(limits), address_space("Max address space  unlimited  x\n")), (Some(4096), None));
        assert!(available() > 0);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name_with_its_size() {
        assert!(check("chains", 4, 1e3).is_ok());
        let refused = check("chains", 4, 1e19).unwrap_err().to_string();
        assert!(refused.starts_with("chains is 4, which needs about 10.0 EB of memory, but only "), "{refused}");
        assert_eq!([0.0, 1.5e6, 999e9, 1e40].map(size), ["0.0 MB", "1.5 MB", "999.0 GB", "more than 1000 EB"]);
    }
}
