//! What several laws share: the kinds they run over, reading the oracle's models, random models, and finite differences.

use harmonium::events::{Event, Flow, Observer};
use harmonium::rng::{Key, normal};
use harmonium::units::{Kind, Options};
use harmonium::{Dataset, Exact, Gradient, Layer, Layout, Rbm, Result, initial_model};
use ndarray::{Array1, Array2, ArrayView2};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
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

/// The kinds of the units of a layer: one, or several that stand in it as blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Units(Vec<Kind>);

impl Units {
    /// A layer of so many units, as evenly of all kinds as possible.
    pub fn layout(&self, sites: usize) -> Layout {
        let kinds = self.0.len();
        Layout::of(self.0.iter().enumerate().map(|(k, kind)| (kind.clone(), (sites + kinds - 1 - k) / kinds)))
    }

    /// The kind, if there is only one.
    pub fn kind(&self) -> Option<&Kind> {
        self.0.first().filter(|_| self.0.len() == 1)
    }

    pub fn is_finite(&self) -> bool {
        self.layout(self.0.len()).is_finite()
    }

    fn is_quadratic(&self) -> bool {
        self.layout(self.0.len()).is_quadratic()
    }
}

impl From<&Kind> for Units {
    fn from(kind: &Kind) -> Units {
        Units(vec![kind.clone()])
    }
}

impl From<&Units> for Units {
    fn from(units: &Units) -> Units {
        units.clone()
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0.iter().map(Kind::to_string).collect::<Vec<_>>().join("+"))
    }
}

/// A layer with random parameters and, if centred, random offsets.
pub fn random_layer(units: impl Into<Units>, sites: usize, centred: bool, r: &mut Numbers) -> Layer<f64> {
    let plain = Layer::<f64>::with_defaults(units.into().layout(sites));
    let mut par = plain.par().to_owned();
    // Only numbers that a unit has.
    for (_, row, columns) in plain.layout().fields() {
        columns.into_iter().flatten().for_each(|c| par[[row, c]] += 0.6 * r.normal());
    }
    let offset = plain.offset().mapv(|_| if centred { 1.6 * r.uniform() - 0.8 } else { 0.0 });
    Layer::from_layout(plain.layout().clone(), par, offset).unwrap()
}

/// A model with weights of size `scale`.
pub fn random_rbm(
    v: impl Into<Units>,
    n: usize,
    h: impl Into<Units>,
    m: usize,
    centred: bool,
    scale: f64,
    r: &mut Numbers,
) -> Rbm<f64> {
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

/// These units, by name with or without options, several as `a+b`, for a law too slow for all; or the only kind.
pub fn some_units(names: &[&str]) -> Vec<Units> {
    if only().is_some() {
        return kinds().iter().map(Units::from).collect();
    }
    let called = |kind: &Kind, name: &str| kind.name() == name || kind.to_string() == name;
    let kind = |name: &str| Kind::examples().into_iter().find(|kind| called(kind, name)).unwrap();
    names.iter().map(|names| Units(names.split('+').map(kind).collect())).collect()
}

/// Layers of two kinds, one of them in `kinds`.
fn mixed(kinds: &[Kind], others: &[Kind]) -> Vec<Units> {
    let apart = |a: &Kind, b: &Kind| a.to_string() < b.to_string() || !others.contains(a);
    let pairs = kinds.iter().flat_map(|a| others.iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a.name() != b.name() && apart(a, b)).map(|(a, b)| Units(vec![a.clone(), b.clone()])).collect()
}

/// Every pair of kinds whose models can be solved: one finite layer, or two Gaussian ones; and layers of two kinds, in either
/// layer and in both. Each has a seed of its own. If there is an only kind, it is in one of the layers.
pub fn pairs(law: &str) -> Vec<(u64, Units, Units)> {
    let base = ["bernoulli", "gaussian (coupling cho)", "potts (states 3)", "spin"];
    let base: Vec<Kind> = Kind::examples().into_iter().filter(|k| base.contains(&k.to_string().as_str())).collect();
    assert_eq!(base.len(), 4);
    let blocks = mixed(&base, &base);
    with_blocks(law, &blocks, &blocks[..3])
}

/// The same with layers of every two kinds.
pub fn all_pairs(law: &str) -> Vec<(u64, Units, Units)> {
    let all = Kind::examples();
    let blocks = mixed(&all, &all);
    with_blocks(law, &blocks, &blocks)
}

/// Every pair of kinds; `blocks` with Bernoulli units in either layer; and `blocks` with `opposite`.
fn with_blocks(law: &str, blocks: &[Units], opposite: &[Units]) -> Vec<(u64, Units, Units)> {
    let (all, only) = (Kind::examples(), only());
    let single: Vec<Units> = all.iter().map(Units::from).collect();
    let solvable = |v: &Units, h: &Units| v.is_finite() || h.is_finite() || (v.is_quadratic() && h.is_quadratic());
    let wanted = |units: &Units| only.as_ref().is_none_or(|only| units.0.iter().any(|kind| kind.name() == only));
    let kinds = single.iter().flat_map(|v| single.iter().map(move |h| (v, h)));
    let bernoulli = &single[..1];
    let one = blocks.iter().flat_map(|b| [(b, &bernoulli[0]), (&bernoulli[0], b)]);
    // Each with one partner: all with all would be thousands.
    let both = blocks.iter().enumerate().map(|(k, b)| (b, &opposite[(2 * k + 1) % opposite.len()]));
    let cases = kinds.chain(one).chain(both);
    let cases = cases.filter(|(v, h)| !h.layout(2).visible_only() && solvable(v, h) && (wanted(v) || wanted(h)));
    cases.map(|(v, h)| (seed(law, &[v, h]), v.clone(), h.clone())).collect()
}

/// The seed of a law's case, from names alone: a new kind changes no other's cases. (FNV-1a; its high bits are the random ones.)
pub fn seed(law: &str, units: &[&Units]) -> u64 {
    let mut text = law.to_string();
    units.iter().for_each(|units| text += &format!("/{units}"));
    let hash = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, hash) >> 32
}

/// A random model of 3 × 2 sites that can be solved.
pub fn small_rbm(v: impl Into<Units>, h: impl Into<Units>, centred: bool, seed: u64) -> Rbm<f64> {
    solvable_rbm((v, 3), (h, 2), centred, 0.7, seed)
}

/// A random model with weights of size `scale`. Weights between two Gaussian layers are smaller: half as large again, they still
/// leave a density, and formulas are not near their poles.
pub fn solvable_rbm(
    v: (impl Into<Units>, usize),
    h: (impl Into<Units>, usize),
    centred: bool,
    scale: f64,
    seed: u64,
) -> Rbm<f64> {
    let (v, h) = ((v.0.into(), v.1), (h.0.into(), h.1));
    let make = |scale: f64| random_rbm(&v.0, v.1, &h.0, h.1, centred, scale, &mut Numbers::new(seed));
    if v.0.is_finite() || h.0.is_finite() {
        return make(scale);
    }
    let mut scale = 0.2 * scale;
    while Exact::new(&make(1.5 * scale)).is_err() {
        scale *= 0.5;
    }
    make(scale)
}

/// The model that learning starts with.
pub fn first_model(
    visible: impl Into<Units>,
    hidden: impl Into<Units>,
    n_hidden: usize,
    data: &Dataset<f32>,
    centred: bool,
    seed: u64,
) -> Result<Rbm<f32>> {
    let (visible, hidden) = (visible.into().layout(data.states().sites()), hidden.into().layout(n_hidden));
    initial_model(&visible, &hidden, data, centred, seed)
}

/// Random rows of data values for a layer.
pub fn random_rows(layer: &Layer<f64>, rows: usize, r: &mut Numbers) -> Array2<f64> {
    let sites: Vec<_> = layer.layout().each_site().collect();
    Array2::from_shape_fn((rows, layer.sites()), |(_, i)| {
        let unit = sites[i].kind.unit::<f64>();
        match unit.n_states() {
            None => 1.5 * r.normal(),
            Some(q) => unit.value(r.below(q)),
        }
    })
}

/// Every state of a layer of finite units, as rows of columns.
pub fn all_states(units: impl Into<Units>, sites: usize) -> Array2<f64> {
    states_of(&units.into().layout(sites))
}

/// Every state of a finite layer, as rows of columns; the first site changes fastest.
pub fn states_of(layout: &Layout) -> Array2<f64> {
    let states: Vec<Vec<Vec<f64>>> = layout.each_site().map(|site| site.states()).collect();
    let mut x = Array2::zeros((states.iter().map(Vec::len).product(), layout.columns()));
    for (k, mut row) in x.rows_mut().into_iter().enumerate() {
        let (mut k, mut columns) = (k, Vec::new());
        for states in &states {
            columns.extend(&states[k % states.len()]);
            k /= states.len();
        }
        row.assign(&Array1::from(columns));
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
