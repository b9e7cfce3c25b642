//! A panic inside a foreign reader becomes an error about the file, and prints nothing.

use super::shown;
use crate::error::{Error, Result};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread will be caught here.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which reads a file with the library for the format `what`.
pub(super) fn guarded<T>(path: &Path, what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(silence_guarded);
    let before = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    done.unwrap_or_else(|panic| {
        let problem = format!("not readable as {what}: its reader failed ({})", shown(message(&*panic)));
        Err(Error::Data { path: path.into(), problem })
    })
}

/// Leaves the messages of all other panics as they are.
fn silence_guarded() {
    let print = take_hook();
    set_hook(Box::new(move |info| {
        if !GUARDED.get() {
            print(info);
        }
    }));
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_ends_with_the_guard() {
        let path = Path::new("x.pq");
        let fall = |n: usize| guarded(path, "Parquet", || if n > 2 { panic!("{n} is too many") } else { Ok(n) });
        assert_eq!(fall(2).unwrap(), 2);
        let found = fall(3).unwrap_err().to_string();
        assert_eq!(found, "x.pq: not readable as Parquet: its reader failed (3 is too many)");
        guarded(path, "Parquet", || fall(4).or(Ok(0)).inspect(|_| assert!(GUARDED.get()))).unwrap();
        assert!(!GUARDED.get());
    }
}
