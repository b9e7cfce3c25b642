//! scratch
use harmonium::logz::{self, LogZOptions};
use harmonium::rng::{Key, normal};
use harmonium::units::Kind;
use harmonium::{Layer, Rbm};
use ndarray::{Array1, Array2};

fn lse(x: &[f64]) -> f64 {
    let m = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    m + x.iter().map(|v| (v - m).exp()).sum::<f64>().ln()
}
fn ln_choose(n: usize, k: usize) -> f64 {
    (1..=n).map(|i| (i as f64).ln()).sum::<f64>()
        - (1..=k).map(|i| (i as f64).ln()).sum::<f64>()
        - (1..=n - k).map(|i| (i as f64).ln()).sum::<f64>()
}
fn kind(name: &str, q: usize) -> Kind {
    let mut o = std::collections::BTreeMap::new();
    if q > 0 {
        o.insert("states".to_string(), q.to_string());
    }
    Kind::new(name, &o).unwrap()
}
fn layer(k: Kind, bias: Vec<f64>) -> Layer<f64> {
    let n = bias.len();
    let mut p = Layer::<f64>::new(k.clone(), if k.name() == "potts" { n / 4 } else { n }).par().to_owned();
    p.row_mut(0).assign(&Array1::from(bias));
    Layer::from_parts(k, p, Array1::zeros(n)).unwrap()
}

fn two(n: usize, m: usize, d: f64) -> (Rbm<f64>, f64) {
    let a = -(m as f64) / 2.0 + d / n as f64;
    let b = -(n as f64) / 2.0;
    let rbm = Rbm::from_parts(
        layer(kind("bernoulli", 0), vec![a; n]),
        layer(kind("bernoulli", 0), vec![b; m]),
        Array2::ones((n, m)),
    )
    .unwrap();
    let t: Vec<f64> =
        (0..=n).map(|k| ln_choose(n, k) + a * k as f64 + m as f64 * (1.0 + (b + k as f64).exp()).ln()).collect();
    (rbm, lse(&t))
}
fn patterns(n: usize, copies: usize, p: usize, w: f64, field: f64, seed: u64) -> (Rbm<f64>, f64) {
    let key = Key::root(seed).step(99);
    let xi: Vec<Vec<f64>> = (0..p)
        .map(|k| (0..n).map(|i| if key.uniforms::<f64>(k as u64, i as u32)[0] < 0.5 { -1.0 } else { 1.0 }).collect())
        .collect();
    let a: Vec<f64> = (0..n).map(|i| field * normal::<f64>(key.uniforms(77, i as u32))).collect();
    let m = p * copies;
    let weights = Array2::from_shape_fn((n, m), |(i, j)| w * xi[j / copies][i]);
    let rbm =
        Rbm::from_parts(layer(kind("spin", 0), a.clone()), layer(kind("spin", 0), vec![0.0; m]), weights).unwrap();
    // sum over counts of + in each copy group
    let mut terms = Vec::new();
    let total = (copies + 1).pow(p as u32);
    for s in 0..total {
        let mut s2 = s;
        let mut l = 0.0;
        let mut field = a.clone();
        for x in &xi {
            let k = s2 % (copies + 1);
            s2 /= copies + 1;
            l += ln_choose(copies, k);
            let mag = 2.0 * k as f64 - copies as f64;
            for i in 0..n {
                field[i] += w * x[i] * mag;
            }
        }
        l += field.iter().map(|f| f.abs() + (1.0 + (-2.0 * f.abs()).exp()).ln()).sum::<f64>();
        terms.push(l);
    }
    (rbm, lse(&terms))
}
fn golf(n: usize, m: usize, w: f64, more: f64) -> (Rbm<f64>, f64) {
    let both = n as f64 * (0.5 * (1.0 + w.exp())).ln();
    let b = (more - both) / m as f64;
    let rbm = Rbm::from_parts(
        Layer::new(kind("bernoulli", 0), n),
        layer(kind("bernoulli", 0), vec![b; m]),
        Array2::from_elem((n, m), w / m as f64),
    )
    .unwrap();
    let t: Vec<f64> = (0..=m)
        .map(|k| ln_choose(m, k) + b * k as f64 + n as f64 * (1.0 + (w / m as f64 * k as f64).exp()).ln())
        .collect();
    (rbm, lse(&t))
}
fn potts_blocks(blocks: usize, w: f64) -> (Rbm<f64>, f64) {
    let (q, sites, m) = (4, 6, 8);
    let n = blocks * sites * q;
    let mut weights = Array2::zeros((n, blocks * m));
    for b in 0..blocks {
        for s in 0..sites {
            for j in 0..m {
                weights[[(b * sites + s) * q, b * m + j]] = w;
            }
        }
    }
    let bias = -w * sites as f64 / 2.0 - 0.0;
    let rbm = Rbm::from_parts(
        layer(kind("potts", q), vec![0.0; n]),
        layer(kind("bernoulli", 0), vec![bias; blocks * m]),
        weights,
    )
    .unwrap();
    let t: Vec<f64> =
        (0..=m).map(|k| ln_choose(m, k) + bias * k as f64 + sites as f64 * (3.0 + (w * k as f64).exp()).ln()).collect();
    (rbm, blocks as f64 * lse(&t))
}
fn main() {
    if std::env::args().nth(1).as_deref() == Some("file") {
        return file();
    }
    let only = std::env::args().nth(1).unwrap_or_default();
    let seed: u64 = std::env::args().nth(2).map_or(0, |s| s.parse().unwrap());
    let method = std::env::args().nth(3).unwrap_or("modes".into());
    let cases: Vec<(&str, (Rbm<f64>, f64))> = vec![
        ("two", two(48, 46, 3.0)),
        ("two60", two(60, 50, 0.5)),
        ("pat5", patterns(60, 15, 3, 0.5, 0.0, 1)),
        ("pat12", patterns(60, 15, 3, 0.12, 0.1, 1)),
        ("pat6x", patterns(100, 6, 6, 0.3, 0.05, 2)),
        ("golf", golf(100, 60, 4.0, 1.0)),
        ("golf5", golf(100, 60, 4.0, 5.0)),
        ("potts", potts_blocks(7, 0.6)),
        ("potts2", potts_blocks(7, 1.2)),
    ];
    for (name, (rbm, truth)) in cases {
        if !only.is_empty() && only != "all" && only != name {
            continue;
        }
        let clock = std::time::Instant::now();
        let z = logz::log_z(&rbm, &method, LogZOptions { seed, collapse: false, ..Default::default() }, &|_, _| ())
            .unwrap();
        println!(
            "{name}: truth {truth:.3} found {:.3} ± {:.3} {} ({:+.3}, {:+.1} errors) {:.1} s",
            z.value,
            z.std_err,
            z.verdict,
            z.value - truth,
            (z.value - truth) / z.std_err,
            clock.elapsed().as_secs_f64()
        );
    }
}

fn file() {
    let args: Vec<String> = std::env::args().collect();
    let rbm = harmonium::file::ModelFile::read(&args[2]).unwrap().rbm;
    let collapse = args[3] == "yes";
    let seed: u64 = args[4].parse().unwrap();
    let method = args.get(5).cloned().unwrap_or("modes".into());
    let rows: Option<Array2<f64>> = args.get(6).map(|p| {
        let t = std::fs::read_to_string(p).unwrap();
        let v: Vec<f64> = t.lines().flat_map(|l| l.split(',').map(|x| x.trim().parse::<f64>().unwrap())).collect();
        let n = t.lines().count();
        let v = Array2::from_shape_vec((n, v.len() / n), v).unwrap();
        rbm.lower().visible().encode(v.view(), 1).unwrap()
    });
    let truth =
        if rbm.lower().hidden().sites() <= 23 { harmonium::Exact::new(&rbm).unwrap().log_z() } else { f64::NAN };
    let clock = std::time::Instant::now();
    let z = logz::log_z(
        &rbm,
        &method,
        LogZOptions { seed, collapse, data: rows.as_ref(), ..Default::default() },
        &|_, _| (),
    )
    .unwrap();
    println!(
        "{} truth {truth:.3} found {:.3} ± {:.3} {} ({:+.3}, {:+.1} errors) {:.1} s",
        args[2],
        z.value,
        z.std_err,
        z.verdict,
        z.value - truth,
        (z.value - truth) / z.std_err,
        clock.elapsed().as_secs_f64()
    );
}
