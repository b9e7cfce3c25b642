//! Files that are not what their name says, and names that are no files.

use crate::common::{Folder, idx, read};
use harmonium::data::{FORMATS, ReadOptions};
use harmonium::rng::Key;

#[test]
fn an_idx_file_that_lies_is_refused_in_a_sentence() {
    let folder = Folder::new();
    for (bytes, message) in [
        (vec![], "ends within its IDX header"),
        (vec![0, 0, 8], "ends within its IDX header"),
        (vec![0, 0, 8, 255, 1, 2], "ends within its IDX header"),
        (b"1,2,3,4".to_vec(), "does not begin with two zero bytes"),
        (idx(0x0a, &[1, 1], &[0]), "type 0x0a is unknown"),
        (idx(8, &[], &[0]), "single number"),
        (idx(8, &[3], &[0; 3]), "3 single numbers, such as labels"),
        (idx(8, &[2, 2], &[0; 3]), "4 bytes of data, but 3 bytes follow"),
        (idx(8, &[2, 2], &[0; 5]), "4 bytes of data, but 5 bytes follow"),
        (idx(8, &[0, 2], &[]), "is empty"),
        (idx(8, &[u32::MAX; 2], &[0; 4]), "rows of more than 16777216 numbers"),
        (idx(8, &[u32::MAX; 3], &[0; 4]), "more than any file can hold"),
        (idx(8, &[u32::MAX; 255], &[0; 4]), "more than any file can hold"),
    ] {
        let found = folder.refusal("x.idx", &bytes);
        assert!(found.contains(message), "expected {message}: {found}");
    }
}

#[test]
fn a_libsvm_file_that_lies_is_refused_by_row_and_line() {
    let folder = Folder::new();
    for (text, message) in [
        ("", "the file is empty"),
        ("1\n2\n", "no line has a pair"),
        ("1 1:2\n\n1 a:2\n", "row 2 (line 3): 'a:2' is not index:value"),
        ("1 1:\n", "row 1 (line 1): the value of index 1 is missing"),
        ("1 1:nan\n", "the value of index 1 is missing"),
        ("1 1:x\n", "the value 'x' of index 1 is not a number"),
        ("1 -1:2\n", "'-1:2' is not index:value"),
        ("1 2:1 2:1\n", "row 1 (line 1): the index 2 follows 2, but indices must increase"),
        ("1 16777217:1\n", "index 16777217 is above the limit of 16777216 columns"),
        ("1 99999999999999999999:1\n", "is not index:value"),
    ] {
        let found = folder.refusal("x.svm", text.as_bytes());
        assert!(found.contains(message), "expected {message}: {found}");
    }
}

#[test]
fn garbage_and_emptiness_are_refused_by_every_format() {
    let folder = Folder::new();
    let names = FORMATS.iter().flat_map(|f| f.extensions).map(|e| format!("x.{e}")).chain(["x".into(), "x.gz".into()]);
    for name in names {
        folder.refusal(&name, b"");
        for round in 0..50u64 {
            let words = (0..100).flat_map(|i| Key::root(round).words(i, 0));
            folder.refusal(&name, &words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        }
    }
}

/// Opening a pipe waits until something writes to it: for ever.
#[cfg(unix)]
#[test]
fn a_named_pipe_is_refused_and_not_waited_for() {
    let folder = Folder::new();
    for name in FORMATS.iter().flat_map(|f| f.extensions).map(|e| format!("x.{e}")).chain(["x".into()]) {
        let path = folder.0.path().join(name);
        if std::process::Command::new("mkfifo").arg(&path).status().is_ok_and(|s| s.success()) {
            assert!(read(&path, 1).unwrap_err().to_string().contains("not a regular file"));
        }
    }
    let device = harmonium::data::open_with("/dev/zero", &ReadOptions::default()).err().unwrap().to_string();
    assert!(device.contains("not a regular file") || device.contains("cannot open"), "{device}");
}
