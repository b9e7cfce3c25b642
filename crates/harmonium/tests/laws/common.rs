//! What several laws share: the kinds they run over, reading the oracle's models, random models, and finite differences.

use harmonium::events::{Event, Flow, Observer};
use harmonium::rng::{Key, normal};
use harmonium::units::{Kind, Options};
use harmonium::{Exact, Gradient, Layer, Rbm};
use ndarray::{Array1, Array2, ArrayView2};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A layer as the oracle writes it.
#[derive(Deserialize)]
pub struct LayerJson {
    pub kind: String,
    pub coupling: Option<String>,
    pub states: Option<usize>,
    pub bias: Vec<f64>,
    pub log_variance: Option<Vec<f64>>,
    pub offset: Option<Vec<f64>>,
}

impl LayerJson {
    pub fn layer(&self) -> Layer<f64> {
        let mut options = Options::new();
        options.extend(self.coupling.clone().map(|c| ("coupling".into(), c)));
        options.extend(self.states.map(|q| ("states".into(), q.to_string())));
        let kind = Kind::new(&self.kind, &options).unwrap();
        let n = self.bias.len();
        let mut par = self.bias.clone();
        par.extend(self.log_variance.iter().flatten());
        let par = Array2::from_shape_vec((par.len() / n, n), par).unwrap();
        let offset = self.offset.clone().unwrap_or(vec![0.0; n]);
        Layer::from_parts(kind, par, offset.into()).unwrap()
    }
}

pub fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

/// Every `.json` file of a folder beside the tests.
pub fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == extension));
    files.sort();
    files
}

/// |a − b| ≤ tolerance·max(1, |b|), or a panic that reports where.
#[track_caller]
pub fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: {a} against {b}, off by {:e}", a - b);
}

#[track_caller]
pub fn all_close<'a>(
    a: impl IntoIterator<Item = &'a f64>,
    b: impl IntoIterator<Item = &'a f64>,
    tolerance: f64,
    what: &str,
) {
    let (a, b): (Vec<_>, Vec<_>) = (a.into_iter().collect(), b.into_iter().collect());
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        close(**a, **b, tolerance, &format!("{what}[{i}]"));
    }
}

/// A stream of test numbers: the library's own generator, under a key of the tests.
pub struct Numbers(Key, u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(Key::root(seed ^ 0x7e57_0000_0000), 0)
    }
    pub fn uniform(&mut self) -> f64 {
        self.1 += 1;
        self.0.uniforms(self.1, 0)[0]
    }
    pub fn normal(&mut self) -> f64 {
        self.1 += 1;
        normal(self.0.uniforms(self.1, 0))
    }
    pub fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n - 1)
    }
}

/// A layer with random parameters and, if centred, random offsets.
pub fn random_layer(kind: &Kind, sites: usize, centred: bool, r: &mut Numbers) -> Layer<f64> {
    let plain = Layer::<f64>::new(kind.clone(), sites);
    let par = plain.par().mapv(|x| x + 0.6 * r.normal());
    let offset = plain.offset().mapv(|_| if centred { 1.6 * r.uniform() - 0.8 } else { 0.0 });
    Layer::from_parts(kind.clone(), par, offset).unwrap()
}

/// A model with weights of size `scale`.
pub fn random_rbm(v: &Kind, n: usize, h: &Kind, m: usize, centred: bool, scale: f64, r: &mut Numbers) -> Rbm<f64> {
    let (v, h) = (random_layer(v, n, centred, r), random_layer(h, m, centred, r));
    let weights = Array2::from_shape_fn((v.columns(), h.columns()), |_| scale * r.normal());
    Rbm::from_parts(v, h, weights).unwrap()
}

/// The environment variable that names the only kind of unit to run the laws for.
const ONLY: &str = "HARMONIUM_LAWS";

/// The name of the only kind to run the laws for, if the environment has one; refuses names of no kind.
pub fn only() -> Option<String> {
    let name = std::env::var(ONLY).ok()?;
    let known = || Kind::examples().iter().map(Kind::name).collect::<BTreeSet<_>>();
    assert!(known().contains(name.as_str()), "{ONLY} is '{name}', but the kinds are {:?}", known());
    Some(name)
}

/// The kinds a law runs over: the examples of every kind, or of the only one.
pub fn kinds() -> Vec<Kind> {
    let only = only();
    Kind::examples().into_iter().filter(|k| only.as_ref().is_none_or(|only| k.name() == only)).collect()
}

/// Whether a law about these kinds is to run: always, unless there is an only kind and it is none of them.
pub fn wanted(names: &[&str]) -> bool {
    only().is_none_or(|only| names.contains(&only.as_str()))
}

/// These kinds, by name with or without options, for a law too slow for all; or the only one.
pub fn some_kinds(names: &[&str]) -> Vec<Kind> {
    if only().is_some() {
        return kinds();
    }
    let called = |kind: &Kind, name: &str| kind.name() == name || kind.to_string() == name;
    names.iter().map(|name| Kind::examples().into_iter().find(|kind| called(kind, name)).unwrap()).collect()
}

/// Every pair of kinds whose models can be solved: one finite layer, or two Gaussian ones; with a seed of its own. If there is
/// an only kind, it is in one of the layers.
pub fn pairs(law: &str) -> Vec<(u64, Kind, Kind)> {
    let (all, only) = (Kind::examples(), only());
    let finite = |k: &Kind| k.unit::<f64>().n_states().is_some();
    let solvable =
        |v: &Kind, h: &Kind| finite(v) || finite(h) || (v.unit::<f64>().quadratic() && h.unit::<f64>().quadratic());
    let wanted = |v: &Kind, h: &Kind| only.as_ref().is_none_or(|only| [v.name(), h.name()].contains(&only.as_str()));
    let both = all.iter().flat_map(|v| all.iter().map(move |h| (v, h)));
    let both = both.filter(|(v, h)| !h.visible_only() && solvable(v, h) && wanted(v, h));
    both.map(|(v, h)| (seed(law, &[v, h]), v.clone(), h.clone())).collect()
}

/// The seed of a law's case, from names alone: a new kind changes no other's cases. (FNV-1a; its high bits are the random ones.)
pub fn seed(law: &str, kinds: &[&Kind]) -> u64 {
    let mut text = law.to_string();
    kinds.iter().for_each(|kind| text += &format!("/{kind}"));
    let hash = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, hash) >> 32
}

/// A random model of 3 × 2 sites that can be solved.
pub fn small_rbm(v: &Kind, h: &Kind, centred: bool, seed: u64) -> Rbm<f64> {
    solvable_rbm((v, 3), (h, 2), centred, 0.7, seed)
}

/// A random model with weights of size `scale`. Weights between two Gaussian layers are smaller: half as large again, they still
/// leave a density, and formulas are not near their poles.
pub fn solvable_rbm(v: (&Kind, usize), h: (&Kind, usize), centred: bool, scale: f64, seed: u64) -> Rbm<f64> {
    let make = |scale: f64| random_rbm(v.0, v.1, h.0, h.1, centred, scale, &mut Numbers::new(seed));
    if v.0.unit::<f64>().n_states().is_some() || h.0.unit::<f64>().n_states().is_some() {
        return make(scale);
    }
    let mut scale = 0.2 * scale;
    while Exact::new(&make(1.5 * scale)).is_err() {
        scale *= 0.5;
    }
    make(scale)
}

/// Random rows of data values for a layer.
pub fn random_rows(layer: &Layer<f64>, rows: usize, r: &mut Numbers) -> Array2<f64> {
    let unit = layer.kind().unit::<f64>();
    let mut columns = vec![0.0; unit.width()];
    Array2::from_shape_fn((rows, layer.sites()), |_| match unit.n_states() {
        None => 1.5 * r.normal(),
        Some(q) => {
            unit.state(r.below(q), &mut columns);
            unit.decode(&columns)
        }
    })
}

/// Every state of a finite layer, as rows of columns.
pub fn all_states(kind: &Kind, sites: usize) -> Array2<f64> {
    let unit = kind.unit::<f64>();
    let (q, w) = (unit.n_states().unwrap(), unit.width());
    let mut x = Array2::zeros((q.pow(sites as u32), sites * w));
    for (k, mut row) in x.rows_mut().into_iter().enumerate() {
        for (site, columns) in row.as_slice_mut().unwrap().chunks_exact_mut(w).enumerate() {
            unit.state(k / q.pow(site as u32) % q, columns);
        }
    }
    x
}

/// All numbers of a gradient in a fixed order, and the gradient with one number set.
pub fn flat(g: &Gradient<f64>) -> Vec<f64> {
    g.visible.iter().chain(&g.hidden).chain(&g.weights).copied().collect()
}

pub fn direction(like: &Gradient<f64>, index: usize) -> Gradient<f64> {
    let mut d = Gradient {
        visible: Array2::zeros(like.visible.dim()),
        hidden: Array2::zeros(like.hidden.dim()),
        weights: Array2::zeros(like.weights.dim()),
    };
    *d.visible.iter_mut().chain(&mut d.hidden).chain(&mut d.weights).nth(index).unwrap() = 1.0;
    d
}

/// Weighted mean of exact log likelihoods.
pub fn mean_log_likelihood(rbm: &Rbm<f64>, rows: ArrayView2<f64>, weights: &Array1<f64>) -> f64 {
    let l = Exact::new(rbm).unwrap().log_likelihood(rows).unwrap();
    (&l * weights).sum() / weights.sum()
}

/// f′(0) by Richardson extrapolation of central differences with steps h, h/2, h/4: error O(h⁶).
pub fn derivative(f: impl Fn(f64) -> f64, h: f64) -> f64 {
    let d = |h: f64| (f(h) - f(-h)) / (2.0 * h);
    let (a, b, c) = (d(h), d(h / 2.0), d(h / 4.0));
    let (ab, bc) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
    (16.0 * bc - ab) / 15.0
}

/// Stops after so many polls.
pub struct StopAfter(pub u64);

impl Observer for StopAfter {
    fn on(&mut self, _: &Event) -> Flow {
        Flow::Continue
    }
    fn poll(&mut self) -> Flow {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { Flow::Stop } else { Flow::Continue }
    }
}
