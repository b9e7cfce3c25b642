//! A model file comes back to the bit, old versions stay readable, and a file that lies is refused with a sentence.

use crate::common::{LayerJson, Numbers, all_close, all_pairs, close, files, matrix, small_rbm};
use harmonium::data::{Binarize, Preprocess};
use harmonium::file::{ModelFile, Precision};
use harmonium::{Exact, Layout, Rbm};
use ndarray::Array1;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn example() -> ModelFile {
    let cho = harmonium::units::Kind::new("gaussian", &Default::default()).unwrap();
    let bernoulli = harmonium::units::Kind::new("bernoulli", &Default::default()).unwrap();
    let mut file = ModelFile::new(&small_rbm(&cho, &bernoulli, true, 1));
    file.preprocess = Preprocess {
        binarize: Some(Binarize::Threshold(0.25)),
        shift: Some(ndarray::arr1(&[1.0, -2.0, 3.0])),
        scale: Some(ndarray::arr1(&[0.5, 2.0, 1.0])),
    };
    file.about.insert("note".into(), "σ² \"learned\"".into());
    file
}

#[test]
fn every_pair_in_both_precisions_comes_back_to_the_bit() {
    for (seed, v, h) in all_pairs("every_pair_in_both_precisions_comes_back_to_the_bit") {
        for centred in [false, true] {
            let rbm = small_rbm(&v, &h, centred, seed);
            let double = ModelFile::new(&rbm);
            let single = ModelFile::new(&rbm.cast::<f32>());
            assert_eq!((double.precision, single.precision), (Precision::F64, Precision::F32));
            for file in [double, single] {
                let bytes = file.to_bytes();
                let again = ModelFile::from_bytes(&bytes).unwrap();
                assert_eq!(again, file, "{v} with {h}");
                assert_eq!(again.to_bytes(), bytes, "the same model is the same bytes");
            }
        }
    }
    let file = example();
    assert_eq!(ModelFile::from_bytes(&file.to_bytes()).unwrap(), file);
}

#[test]
fn a_file_on_disk_comes_back_and_anyone_can_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.safetensors");
    example().write(&path).unwrap();
    assert_eq!(ModelFile::read(&path).unwrap(), example());
    let bytes = std::fs::read(&path).unwrap();
    let theirs = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(theirs.tensor("weights").unwrap().shape(), [3, 2]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary is left behind");
}

#[derive(Deserialize)]
struct Golden {
    dtype: String,
    visible: LayerJson,
    hidden: LayerJson,
    weights: Vec<Vec<f64>>,
    shift: Option<Vec<f64>>,
    scale: Option<Vec<f64>>,
    about: BTreeMap<String, String>,
    data: Vec<Vec<f64>>,
    log_likelihood: Vec<f64>,
    log_z: f64,
}

/// Written by the oracle's own writer, one set per format version; they must stay readable for ever.
#[test]
fn golden_files_of_every_version_are_read_and_written_again_as_they_are() {
    let all = files("golden", "safetensors");
    assert!(all.len() >= 3);
    for path in all {
        let file = ModelFile::read(&path).unwrap();
        let golden: Golden = serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
        let rbm = Rbm::from_parts(golden.visible.layer(), golden.hidden.layer(), matrix(&golden.weights)).unwrap();
        assert_eq!(file.rbm, rbm, "{path:?}");
        assert_eq!(file.precision == Precision::F32, golden.dtype == "F32");
        assert_eq!(file.about, golden.about);
        assert_eq!(file.preprocess.shift, golden.shift.map(Array1::from));
        assert_eq!(file.preprocess.scale, golden.scale.map(Array1::from));
        let exact = Exact::new(&rbm).unwrap();
        close(exact.log_z(), golden.log_z, 1e-11, "log Z");
        let mut rows = matrix(&golden.data);
        file.preprocess.standardize(&mut rows);
        let log_p = exact.log_likelihood(rows.view()).unwrap() + file.preprocess.log_jacobian(rbm.visible().layout());
        all_close(&log_p, &golden.log_likelihood, 1e-11, "log p");
        file.preprocess.restore(&mut rows);
        all_close(&rows, &matrix(&golden.data), 1e-14, "data restored");
        assert_eq!(file.to_bytes(), std::fs::read(&path).unwrap(), "{path:?}: the same model is the same bytes");
    }
}

/// A scale changes the units of a density, not a probability.
#[test]
fn a_scale_counts_for_continuous_units_only() {
    let scaled = Preprocess { scale: Some(ndarray::arr1(&[2.0, 4.0])), ..Preprocess::default() };
    for (name, want) in [("gaussian", -(8f64.ln())), ("bernoulli", 0.0), ("spin", 0.0)] {
        let kind = harmonium::units::Kind::new(name, &Default::default()).unwrap();
        close(scaled.log_jacobian(&Layout::new(kind, 2)), want, 1e-15, name);
    }
}

#[test]
fn truncation_at_every_length_is_refused() {
    let bytes = example().to_bytes();
    for n in 0..bytes.len() {
        assert!(ModelFile::from_bytes(&bytes[..n]).is_err(), "{n} of {} bytes", bytes.len());
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(ModelFile::from_bytes(&longer).is_err(), "trailing byte");
}

#[test]
fn every_flipped_bit_is_refused_or_harmless() {
    let (bytes, file) = (example().to_bytes(), example());
    let mut harmless = 0;
    for k in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[k / 8] ^= 1 << (k % 8);
        if let Ok(read) = ModelFile::from_bytes(&flipped) {
            assert_eq!(read, file, "bit {k} was not seen");
            harmless += 1;
        }
    }
    println!("{} bits flipped, {harmless} harmless", bytes.len() * 8);
}

/// Builds a file from a JSON header and a data section, without a digest.
fn forge(edit: impl FnOnce(&mut Value, &mut Vec<u8>)) -> Vec<u8> {
    let bytes = example().to_bytes();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + n]).unwrap();
    header["__metadata__"].as_object_mut().unwrap().remove("digest");
    let mut data = bytes[8 + n..].to_vec();
    edit(&mut header, &mut data);
    let text = header.to_string().into_bytes();
    [&(text.len() as u64).to_le_bytes()[..], &text, &data].concat()
}

/// The example as a file of version 2 with these visible blocks.
fn of_blocks(visible: &str) -> Vec<u8> {
    forge(|h, _| {
        let metadata = h["__metadata__"].as_object_mut().unwrap();
        metadata.retain(|key, _| !key.ends_with(".kind") && !key.ends_with(".coupling"));
        metadata.extend([
            ("version".into(), json!("2")),
            ("visible.blocks".into(), json!(visible)),
            ("hidden.blocks".into(), json!(r#"[{"kind":"bernoulli","sites":2}]"#)),
        ]);
    })
}

/// One kind may also be written as a list of one block.
#[test]
fn a_list_of_one_block_is_that_kind() {
    let read = ModelFile::from_bytes(&of_blocks(r#"[{"kind":"gaussian","sites":3,"options":{"coupling":"cho"}}]"#));
    assert_eq!(read.unwrap(), example());
}

fn rename(header: &mut Value, from: &str, to: &str) {
    let header = header.as_object_mut().unwrap();
    let tensor = header.remove(from).unwrap();
    header.insert(to.into(), tensor);
}

#[test]
fn the_digest_is_optional_on_reading() {
    assert_eq!(ModelFile::from_bytes(&forge(|_, _| ())).unwrap(), example());
}

#[test]
fn every_way_to_lie_has_its_sentence() {
    let lies: Vec<(&str, Vec<u8>)> = vec![
        ("'format' is missing", forge(|h, _| drop(h["__metadata__"].as_object_mut().unwrap().remove("format")))),
        ("format is 'other'", forge(|h, _| h["__metadata__"]["format"] = json!("other"))),
        ("version is '3'", forge(|h, _| h["__metadata__"]["version"] = json!("3"))),
        ("'visible.blocks' is missing", forge(|h, _| h["__metadata__"]["version"] = json!("2"))),
        ("unknown unit kind 'boson'", forge(|h, _| h["__metadata__"]["hidden.kind"] = json!("boson"))),
        ("there is no coupling", forge(|h, _| h["__metadata__"]["visible.coupling"] = json!("glue"))),
        ("no option 'coupling'", forge(|h, _| h["__metadata__"]["hidden.coupling"] = json!("cho"))),
        ("unknown metadata key 'surprise'", forge(|h, _| h["__metadata__"]["surprise"] = json!("x"))),
        ("binarize is 'perhaps'", forge(|h, _| h["__metadata__"]["data.binarize"] = json!("perhaps"))),
        ("digest does not match", forge(|h, _| h["__metadata__"]["digest"] = json!("sha256:00"))),
        ("unknown digest", forge(|h, _| h["__metadata__"]["digest"] = json!("crc:00"))),
        ("unknown tensor 'visible.spin'", forge(|h, _| rename(h, "visible.offset", "visible.spin"))),
        ("shape [6], expected two", forge(|h, _| h["weights"]["shape"] = json!([6]))),
        ("'visible.bias' has shape", forge(|h, _| h["weights"]["shape"] = json!([2, 3]))),
        ("'hidden.bias' has shape", forge(|h, _| h["hidden.bias"]["shape"] = json!([1, 2]))),
        ("holds I64", forge(|h, _| h["weights"]["dtype"] = json!("I64"))),
        ("not a harmonium model file", forge(|h, _| h["weights"]["shape"] = json!([1u64 << 40, 1u64 << 40]))),
        ("not a harmonium model file", forge(|h, _| h["weights"]["data_offsets"] = json!([0, 1u64 << 50]))),
        ("not a harmonium model file", forge(|_, d| d.push(0))),
        ("not a harmonium model file", forge(|_, d| d.truncate(d.len() - 1))),
        ("not a harmonium model file", b"\xff\xff\xff\xff\xff\xff\xff\x7f{}".to_vec()),
        ("not a harmonium model file", b"not a model".to_vec()),
        ("not a harmonium model file", vec![]),
    ];
    for (blocks, sentence) in [
        ("[]", "'visible.blocks' lists no blocks"),
        ("7", "'visible.blocks': invalid type"),
        (r#"[{"kind":"boson","sites":3}]"#, "unknown unit kind 'boson'"),
        (r#"[{"kind":"gaussian","sites":4}]"#, "columns for it, but its blocks have 4"),
        (r#"[{"kind":"gaussian","sites":0}]"#, "a block of 0 units is impossible"),
        (r#"[{"kind":"potts","sites":1000000000000,"options":{"states":"3"}}]"#, "is impossible"),
        (r#"[{"kind":"gaussian","sites":18446744073709551615},{"kind":"gaussian","sites":4}]"#, "is impossible"),
        (r#"[{"kind":"gaussian","sites":3,"colour":"red"}]"#, "unknown field `colour`"),
        (
            r#"[{"kind":"bernoulli","sites":2},{"kind":"gaussian","sites":1}]"#,
            "a parameter that its unit does not have",
        ),
    ] {
        let text = ModelFile::from_bytes(&of_blocks(blocks)).unwrap_err().to_string();
        assert!(text.contains(sentence), "expected '{sentence}' in '{text}'");
    }
    for (sentence, bytes) in lies {
        let text = ModelFile::from_bytes(&bytes).unwrap_err().to_string();
        assert!(text.contains(sentence), "expected '{sentence}' in '{text}'");
        assert!(!text.contains('\n'));
    }
    for field in ["weights", "visible.bias", "visible.log_variance", "hidden.offset", "data.shift", "data.scale"] {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let bytes = forge(|h, d| {
                let begin = h[field]["data_offsets"][0].as_u64().unwrap() as usize;
                d[begin..begin + 8].copy_from_slice(&bad.to_le_bytes());
            });
            let text = ModelFile::from_bytes(&bytes).unwrap_err().to_string();
            assert!(text.contains(&format!("is {bad}")), "{field}: {text}");
        }
    }
    let zero_scale = forge(|h, d| {
        let begin = h["data.scale"]["data_offsets"][0].as_u64().unwrap() as usize;
        d[begin..begin + 8].copy_from_slice(&0f64.to_le_bytes());
    });
    assert!(ModelFile::from_bytes(&zero_scale).unwrap_err().to_string().contains("must be positive"));
}

/// 20,000 random edits of a valid file: no panic, and what is accepted without a digest is a valid model.
#[test]
fn random_damage_never_panics() {
    let bytes = forge(|_, _| ());
    let mut r = Numbers::new(77);
    for _ in 0..20_000 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + r.below(4) {
            if damaged.is_empty() {
                break;
            }
            let at = r.below(damaged.len());
            match r.below(4) {
                0 => damaged[at] = r.below(256) as u8,
                1 => drop(damaged.remove(at)),
                2 => damaged.insert(at, b"0123456789{}[]\":,"[r.below(17)]),
                _ => damaged.truncate(at.max(1)),
            }
        }
        if let Ok(file) = ModelFile::from_bytes(&damaged) {
            assert_eq!(ModelFile::from_bytes(&file.to_bytes()).unwrap(), file);
        }
    }
}
