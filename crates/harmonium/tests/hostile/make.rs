//! Makes the files of this folder again: `cargo test -p harmonium --test hostile -- --ignored`. Each is an honest file
//! with one lie.

use super::runs::{Folder, checkpoint};
use harmonium::Rbm;
use harmonium::data::Preprocess;
use harmonium::file::ModelFile;
use harmonium::units::{Kind, Options};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Files by their names.
type Named = Vec<(&'static str, Vec<u8>)>;

/// A safetensors file in its parts.
struct Parts {
    header: Value,
    data: Vec<u8>,
}

impl Parts {
    fn of(bytes: &[u8]) -> Parts {
        let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let mut header: Value = serde_json::from_slice(&bytes[8..8 + n]).unwrap();
        header["__metadata__"].as_object_mut().unwrap().remove("digest");
        Parts { header, data: bytes[8 + n..].to_vec() }
    }

    fn with(mut self, edit: impl FnOnce(&mut Value, &mut Vec<u8>)) -> Parts {
        edit(&mut self.header, &mut self.data);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        forged(&self.header.to_string(), &self.data)
    }

    /// With a digest that is right, which a checkpoint needs.
    fn signed(mut self) -> Vec<u8> {
        let metadata: BTreeMap<String, String> = serde_json::from_value(self.header["__metadata__"].clone()).unwrap();
        let place = |t: &Value| {
            let shape: Vec<String> = t["shape"].as_array().unwrap().iter().map(Value::to_string).collect();
            let ends = &t["data_offsets"];
            format!("{} [{}] {} {}", t["dtype"].as_str().unwrap(), shape.join(","), ends[0], ends[1])
        };
        let tensors = self.header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
        let places: BTreeMap<String, String> = tensors.map(|(name, t)| (name.clone(), place(t))).collect();
        let mut hash = Sha256::new();
        for text in metadata.iter().chain(&places).flat_map(|(k, v)| [k, v]) {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        hash.update(&self.data);
        let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
        self.header["__metadata__"]["digest"] = json!(format!("sha256:{hex}"));
        self.bytes()
    }

    /// Replaces the bytes of a tensor, and its type and shape.
    fn tensor(mut self, name: &str, dtype: &str, shape: &[u64], bytes: &[u8]) -> Parts {
        let ends = |t: &Value| [0, 1].map(|k| t["data_offsets"][k].as_u64().unwrap() as usize);
        let [start, end] = ends(&self.header[name]);
        self.data.splice(start..end, bytes.iter().copied());
        for (_, t) in self.header.as_object_mut().unwrap().iter_mut().filter(|(other, _)| *other != "__metadata__") {
            let moved = ends(t).map(|at| if at >= end && end > start { at + bytes.len() - (end - start) } else { at });
            t["data_offsets"] = json!(moved);
        }
        self.header[name] = json!({"dtype": dtype, "shape": shape, "data_offsets": [start, start + bytes.len()]});
        self
    }

    fn meta(mut self, key: &str, value: &str) -> Parts {
        self.header["__metadata__"][key] = json!(value);
        self
    }

    /// The bytes of a tensor.
    fn part(&self, name: &str) -> Vec<u8> {
        let [start, end] = [0, 1].map(|k| self.header[name]["data_offsets"][k].as_u64().unwrap() as usize);
        self.data[start..end].to_vec()
    }
}

fn forged(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn kind(name: &str, states: &str) -> Kind {
    let options: Options = if states.is_empty() { Options::new() } else { [("states".into(), states.into())].into() };
    Kind::new(name, &options).unwrap()
}

fn model(visible: &Kind) -> Parts {
    let rbm = Rbm::<f64>::new(visible.clone(), 3, kind("bernoulli", ""), 2).unwrap();
    let scale = Some(ndarray::arr1(&[1.0, 2.0, 3.0]));
    let gaussian = visible.name() == "gaussian";
    let preprocess = Preprocess { scale: scale.filter(|_| gaussian), ..Preprocess::default() };
    Parts::of(&ModelFile { preprocess, ..ModelFile::new(&rbm) }.to_bytes())
}

/// A model whose only tensors are weights of this shape and biases without a byte.
fn hollow(weights: [u64; 2]) -> Vec<u8> {
    let tensor = |shape: &[u64]| json!({"dtype": "F64", "shape": shape, "data_offsets": [0, 0]});
    let header = json!({
        "__metadata__": {"format": "harmonium", "version": "1", "visible.kind": "bernoulli", "hidden.kind": "bernoulli"},
        "weights": tensor(&weights), "visible.bias": tensor(&[0]), "hidden.bias": tensor(&[0]),
    });
    forged(&header.to_string(), &[])
}

/// The model of three Gaussian columns as a file of version 2 with these visible blocks and this schema.
fn described(blocks: &str, schema: &str) -> Vec<u8> {
    let plain = model(&kind("gaussian", "")).with(|h, _| {
        let meta = h["__metadata__"].as_object_mut().unwrap();
        meta.retain(|key, _| !key.starts_with("visible.") && !key.starts_with("hidden."));
    });
    let plain = plain.meta("version", "2").meta("visible.blocks", blocks);
    let plain = plain.meta("hidden.blocks", r#"[{"kind":"bernoulli","sites":2}]"#);
    if schema.is_empty() { plain.bytes() } else { plain.meta("data.schema", schema).bytes() }
}

fn replaced(bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + n]).unwrap();
    assert!(header.contains(from), "{from} in {header}");
    forged(&header.replacen(from, to, 1), &bytes[8 + n..])
}

fn models() -> Named {
    let binary = || model(&kind("bernoulli", ""));
    let (gaussian, potts) = (|| model(&kind("gaussian", "")), || model(&kind("potts", "3")));
    let number = |x: f64| {
        move |h: &mut Value, d: &mut Vec<u8>, name: &str| {
            let at = h[name]["data_offsets"][0].as_u64().unwrap() as usize;
            d[at..at + 8].copy_from_slice(&x.to_le_bytes());
        }
    };
    let plain = binary().bytes();
    let three = r#"[{"kind":"gaussian","sites":3}]"#;
    let columns = |columns: &str| described(three, &format!(r#"{{"columns":[{columns}]}}"#));
    let (a, b) = (r#"{"name":"a","kind":"gaussian"}"#, r#"{"name":"b","kind":"gaussian"}"#);
    vec![
        ("endless-block", described(r#"[{"kind":"gaussian","sites":18446744073709551615}]"#, "")),
        ("blocks-that-do-not-fit", described(r#"[{"kind":"gaussian","sites":2}]"#, "")),
        ("nested-blocks", described(&"[".repeat(1500), "")),
        ("schema-of-two", columns(&format!("{a},{b}"))),
        ("schema-of-other-kinds", columns(&format!(r#"{a},{b},{{"name":"c","kind":"bernoulli"}}"#))),
        ("schema-name-twice", columns(&format!("{a},{b},{a}"))),
        ("schema-escape", columns(&format!(r#"{a},{b},{{"name":"\u001b[2J","kind":"gaussian"}}"#))),
        ("schema-categories", columns(&format!(r#"{a},{b},{{"name":"c","kind":"gaussian","categories":["x","y"]}}"#))),
        ("schema-endless-states", columns(&format!(r#"{a},{b},{{"name":"c","kind":"potts(states=99999999999)"}}"#))),
        ("schema-nested", described(three, &"[".repeat(1500))),
        ("schema-in-version-1", gaussian().meta("data.schema", r#"{"columns":[]}"#).bytes()),
        ("no-columns", hollow([1 << 60, 0])),
        ("no-columns-small", hollow([1 << 33, 0])),
        ("no-rows", hollow([0, 1 << 60])),
        ("nothing", hollow([0, 0])),
        ("overflowing-shape", hollow([1 << 40, 1 << 40])),
        ("no-dimensions", binary().tensor("weights", "F64", &[], &[0; 8]).bytes()),
        ("cube", binary().with(|h, _| h["weights"]["shape"] = json!([3, 2, 1])).bytes()),
        ("key-twice", replaced(plain.clone(), r#""format":"harmonium""#, r#""format":"harmonium","format":"other""#)),
        (
            "tensor-twice",
            replaced(
                plain.clone(),
                r#""visible.bias":"#,
                r#""visible.bias":{"dtype":"F64","shape":[3],"data_offsets":[0,24]},"visible.bias":"#,
            ),
        ),
        (
            "key-twice-escaped",
            replaced(plain.clone(), r#""format":"harmonium""#, r#""format":"harmonium","f\u006frmat":"harmonium""#),
        ),
        ("endless-header", [&u64::MAX.to_le_bytes()[..], b"{}"].concat()),
        ("header-beyond-the-end", [&1000u64.to_le_bytes()[..], b"{}"].concat()),
        ("nested-header", forged(&"[".repeat(3000), &[])),
        ("negative-place", replaced(plain.clone(), "\"data_offsets\":[0,", "\"data_offsets\":[-8,")),
        ("shared-bytes", binary().with(|h, _| h["weights"]["data_offsets"] = json!([0, 48])).bytes()),
        ("more-bytes", [&plain[..], &[0]].concat()),
        ("half", plain[..plain.len() / 2].to_vec()),
        ("empty", Vec::new()),
        (
            "pickle",
            b"\x80\x04\x95\x1c\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.".to_vec(),
        ),
        ("wrong-digest", binary().meta("digest", &format!("sha256:{}", "0".repeat(64))).bytes()),
        ("half-precision", binary().tensor("weights", "F16", &[3, 2], &[0; 12]).bytes()),
        ("whole-numbers", binary().with(|h, _| h["weights"]["dtype"] = json!("I64")).bytes()),
        ("not-a-number", binary().with(|h, d| number(f64::NAN)(h, d, "weights")).bytes()),
        ("infinite-bias", binary().with(|h, d| number(f64::INFINITY)(h, d, "hidden.bias")).bytes()),
        ("huge-variance", gaussian().with(|h, d| number(1e300)(h, d, "visible.log_variance")).bytes()),
        ("zero-scale", gaussian().with(|h, d| number(0.0)(h, d, "data.scale")).bytes()),
        ("endless-states", potts().meta("visible.states", "1000000000000000000").bytes()),
        ("states-that-do-not-fit", potts().meta("visible.states", "4").bytes()),
        ("escape-sequence", binary().meta("hidden.kind", "\u{1b}[2J\u{1b}[31mboson").bytes()),
        (
            "unknown-tensor",
            binary().with(|h, _| h["code"] = json!({"dtype": "U8", "shape": [0], "data_offsets": [0, 0]})).bytes(),
        ),
    ]
}

fn checkpoints() -> Named {
    let binary = checkpoint(&Folder::new(), "binary");
    let honest = || Parts::of(&binary);
    let potts = checkpoint(&Folder::new(), "potts");
    let floats = |n: usize, x: f32| x.to_le_bytes().repeat(n);
    let (codes, inner) = (|| Parts::of(&potts), honest().part("model"));
    let whole = honest().signed();
    vec![
        ("numbers-for-codes", codes().tensor("chains", "F32", &[4, 3], &floats(12, 1.5)).signed()),
        ("codes-beyond-the-states", codes().tensor("chains", "U16", &[4, 3], &[9, 0].repeat(12)).signed()),
        ("numbers-outside", honest().tensor("chains", "F32", &[4, 4], &floats(16, 1e30)).signed()),
        ("chains-without-columns", honest().tensor("chains", "U64", &[1 << 60, 0], &[]).signed()),
        ("more-chains", honest().tensor("chains", "U64", &[9, 1], &[0; 72]).signed()),
        ("bits-beyond-the-sites", honest().tensor("chains", "U64", &[4, 1], &[255; 32]).signed()),
        ("endless-update", honest().meta("update", &(1u64 << 63).to_string()).signed()),
        ("update-beyond-the-run", honest().meta("update", "1000000").signed()),
        ("rate-not-a-number", honest().meta("rate_factor", &f64::NAN.to_bits().to_string()).signed()),
        ("endless-failures", honest().meta("failures", &(1u64 << 33).to_string()).signed()),
        ("other-seed", honest().meta("seed", "7").signed()),
        ("words-for-numbers", honest().meta("update", "many").signed()),
        ("no-digest", honest().bytes()),
        ("key-twice", replaced(whole.clone(), r#""failures":"0""#, r#""failures":"0","failures":"0""#)),
        ("half", whole[..whole.len() / 2].to_vec()),
        (
            "model-without-columns",
            honest().tensor("model", "U8", &[hollow([1 << 60, 0]).len() as u64], &hollow([1 << 60, 0])).signed(),
        ),
        (
            "model-of-another-size",
            honest()
                .tensor(
                    "model",
                    "U8",
                    &[model(&kind("spin", "")).bytes().len() as u64],
                    &model(&kind("spin", "")).bytes(),
                )
                .signed(),
        ),
        ("a-model", inner),
        ("optimizer-not-a-number", honest().tensor("optimizer.mean.2", "F32", &[1, 2], &floats(2, f32::NAN)).signed()),
    ]
}

fn configs() -> Named {
    let with =
        |section: &str, line: &str| format!("[data]\nsource = \"builtin:bars:2\"\n[{section}]\n{line}\n").into_bytes();
    vec![
        ("endless-hidden-units", with("model", "n_hidden = 999999999999")),
        ("no-hidden-units", with("model", "n_hidden = 0")),
        ("negative-hidden-units", with("model", "n_hidden = -1")),
        ("endless-chains", with("train", "chains = 1000000000000")),
        ("endless-temperatures", with("train", "temperatures = 1000000000")),
        ("endless-sweeps", with("train", "gibbs_steps = 4611686018427387904")),
        ("endless-updates", with("train", "updates = 4611686018427387904")),
        ("endless-batch", with("train", "batch_size = 9223372036854775807")),
        ("number-too-large-for-toml", with("train", "batch_size = 99999999999999999999")),
        ("late-end", with("train", "stop_at = 4611686018427387904")),
        (
            "endless-rows",
            with(
                "found",
                "version = \"1\"\nkernel = \"cpu\"\nrows = 4611686018427387904\nvalid_rows = 0\ncolumns = 4\ndigest = \"\"",
            ),
        ),
        ("rate-not-a-number", with("train", "lr = nan")),
        ("infinite-rate", with("train", "lr = inf")),
        ("no-reports", with("train", "report_every = 0")),
        ("no-checkpoints", b"checkpoint_every = 0\n[data]\nsource = \"builtin:bars:2\"\n".to_vec()),
        ("tiny-fraction", b"[data]\nsource = \"builtin:bars:2\"\nvalid_fraction = 1e-300\n".to_vec()),
        ("impossible-activity", with("train.penalty", "sparsity = 2.0")),
        ("nested-lists", format!("a = {}", "[".repeat(3000)).into_bytes()),
        ("nested-tables", format!("{}a = 1", "a.".repeat(1500)).into_bytes()),
        ("key-twice", b"[train]\nlr = 0.1\nlr = 0.2\n".to_vec()),
        ("unknown-key", with("train", "command = \"rm -rf\"")),
        ("not-text", vec![0xff, 0xfe, 0, 0x80]),
    ]
}

fn events() -> Named {
    let progress = |update: &str, rows: &str| {
        format!(
            r#"{{"event":"progress","update":{update},"epoch":1.0,"learning_rate":0.1,"gradient_norm":1.0,"train":{{"rows":{rows},"reconstruction_error":0.1,"free_energy":-1.0,"log_likelihood":-2.0,"pseudo_log_likelihood":-2.0}},"valid":null}}"#
        )
    };
    let line = |text: String| (text + "\n").into_bytes();
    let (large, largest) = ("9223372036854775808", "18446744073709551615");
    vec![
        ("endless-update", line(progress(large, "4"))),
        ("largest-update", line(progress(largest, "4"))),
        ("endless-rows", line(progress("10", largest))),
        (
            "endless-start",
            line(format!(
                r#"{{"event":"started","version":"1","update":0,"updates":{largest},"rows":{largest},"valid_rows":{largest},"visible":"x","hidden":"y","n_visible":{largest},"n_hidden":{largest},"baseline":-1e308}}"#
            )),
        ),
        (
            "endless-recovery",
            line(format!(
                r#"{{"event":"recovered","update":{large},"back_to":{largest},"reason":"\u001b[2J","rate_factor":1e308}}"#
            )),
        ),
        ("endless-end", line(format!(r#"{{"event":"finished","update":{large},"reason":"done","kept":{largest}}}"#))),
        ("nested", line("[".repeat(3000))),
        ("not-text", vec![0xff; 300]),
        ("huge-numbers", line(progress("10", "4").replace("-2.0", "-1e308").replace("0.1", "1e308"))),
        ("one-line", vec![b'{'; 3000]),
    ]
}

#[test]
#[ignore = "writes the files that the other tests read"]
fn the_files_are_made() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let kinds: [(&str, &str, Named); 4] = [
        ("models", "safetensors", models()),
        ("checkpoints", "safetensors", checkpoints()),
        ("configs", "toml", configs()),
        ("events", "jsonl", events()),
    ];
    for (kind, extension, files) in kinds {
        fs::create_dir_all(folder.join(kind)).unwrap();
        for (name, bytes) in files {
            assert!(bytes.len() < 4096, "{kind}/{name} has {} bytes", bytes.len());
            fs::write(folder.join(kind).join(format!("{name}.{extension}")), bytes).unwrap();
        }
    }
}
