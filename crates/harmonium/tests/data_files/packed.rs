//! gzip and zip: what is cut, damaged or untrue is refused in a sentence.

use crate::common::{Entry, Folder, dict, gz, idx, npy, npy_u8, read, zip};
use ndarray::array;

fn x() -> Vec<u8> {
    npy_u8(&array![[1.0, 2.0], [3.0, 4.0]], false)
}

#[test]
fn gzip_that_is_cut_or_damaged_is_refused() {
    let folder = Folder::new();
    let whole = gz("1,2\n".repeat(1000).as_bytes());
    for cut in [3, 12, whole.len() / 2, whole.len() - 3] {
        let found = folder.refusal("x.csv.gz", &whole[..cut]);
        assert!(found.contains("gzip data ends too early"), "{cut}: {found}");
    }
    let mut wrong = whole.clone();
    let checksum = wrong.len() - 6;
    wrong[checksum] ^= 1;
    for bytes in [wrong, [&whole[..], b"rest"].concat(), [&[0x1f, 0x8b][..], &[7; 50]].concat()] {
        let found = folder.refusal("x.csv.gz", &bytes);
        assert!(found.contains("gzip data is damaged") || found.contains("gzip data ends"), "{found}");
    }
}

/// The number of rows is known only at the end of packed data, and nothing is allocated for what is not there.
#[test]
fn packed_arrays_with_other_sizes_than_they_claim_are_refused() {
    let folder = Folder::new();
    let f8 = |order, shape: &str, bytes: usize| npy(1, &dict("<f8", order, shape), &vec![0; bytes]);
    for (bytes, message) in [
        (f8("False", "(2, 2)", 24), "claims 2 rows, but the data ends within row 2"),
        (f8("False", "(2, 2)", 40), "more data follows the 2 rows of 2 numbers"),
        (f8("False", "(99999999999, 16777216)", 40), "claims 99999999999 rows, but the data ends within row 1"),
        (f8("False", "(3, 16777217)", 40), "rows of more than 16777216"),
        (f8("True", "(2, 2)", 24), "claims 32 bytes of data, but 24 bytes follow"),
        (f8("True", "(2, 2)", 40), "more data follows the 32 bytes"),
        (f8("True", "(100000, 1000)", 40), "claims 800000000 bytes of data, but 40 bytes follow"),
        (f8("True", "(1000000, 1000)", 40), "8000000000 bytes, the limit is 1073741824: save it in C order"),
    ] {
        let found = folder.refusal("x.npy.gz", &gz(&bytes));
        assert!(found.contains(message), "expected {message}: {found}");
        let found = folder.refusal("x.npz", &zip(&[Entry::deflated("x.npy", &bytes)]));
        assert!(found.contains(message), "expected {message}: {found}");
    }
    let found = folder.refusal("x-idx3-ubyte.gz", &gz(&idx(8, &[u32::MAX, 4000, 4000], &[0; 9])));
    assert!(found.contains("claims 4294967295 rows, but the data ends within row 1"), "{found}");
}

#[test]
fn archives_that_lie_are_refused() {
    let folder = Folder::new();
    let (stored, deflated) = (|| Entry::stored("x.npy", &x()), || Entry::deflated("x.npy", &x()));
    let size = x().len() as u32;
    for (entry, message) in [
        (Entry { crc: 1, ..stored() }, "checksum"),
        (Entry { crc: 1, ..deflated() }, "checksum"),
        (Entry { size: size + 1, ..deflated() }, "not have the size it claims"),
        (Entry { size: size - 1, ..deflated() }, "not have the size it claims"),
        (Entry { size: u32::MAX - 1, ..deflated() }, "not have the size it claims"),
        (Entry { packed_size: deflated().packed_size - 3, ..deflated() }, "zip data"),
        (Entry { packed_size: u32::MAX - 1, ..stored() }, "beyond the end of the file"),
        (Entry { packed_size: u32::MAX - 1, ..deflated() }, "beyond the end of the file"),
        (Entry { method: 12, ..stored() }, "neither stored nor deflated"),
        (Entry::stored("x.txt", &x()), "holds no .npy arrays"),
        (Entry::stored("x.npy", b"hello, hello"), "not a .npy file"),
        (Entry::stored("x.npy", &npy(1, &dict("|O", "False", "(2, 2)"), &[0; 32])), "Python objects"),
    ] {
        let found = folder.refusal("x.npz", &zip(&[entry]));
        assert!(found.contains(message), "expected {message}: {found}");
    }
    for bytes in [b"".to_vec(), b"PK\x03\x04".to_vec(), zip(&[stored()])[..40].to_vec(), vec![7; 100], zip(&[])] {
        let found = folder.refusal("x.npz", &bytes);
        assert!(found.contains("zip archive"), "{found}");
    }
    let labels = || Entry::stored("y.npy", &npy(1, &dict("|u1", "False", "(2,)"), &[0; 2]));
    let found = folder.refusal("x.npz", &zip(&[labels(), Entry { name: "z.npy", ..labels() }]));
    assert!(found.contains("none of the arrays in this file has rows and columns"), "{found}");
    // The directory claims 65,535 members.
    let mut many = zip(&[stored()]);
    let end = many.len() - 14;
    many[end..end + 4].fill(0xff);
    let _ = read(&folder.file("x.npz", &many), 1);
}
