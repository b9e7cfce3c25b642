//! Models small enough for exact answers, of all pairs of units that users can choose: random ones, and ones trained on samples
//! of a random one.

use harmonium::optimize::{OptimizerConfig, Schedule};
use harmonium::rng::{Key, normal};
use harmonium::train::initial_model;
use harmonium::units::Kind;
use harmonium::{Dataset, Error, Exact, Layer, Layout, Rbm, Result, TrainConfig, Trainer};
use ndarray::{Array1, Array2};

/// The kinds of a layer's units.
pub type Kinds = Vec<Kind>;

/// All pairs of kinds, visible and hidden.
pub fn pairs() -> Vec<(Kinds, Kinds)> {
    let kinds = kinds();
    let hidden = || kinds.iter().filter(|h| !h.visible_only());
    kinds.iter().flat_map(|v| hidden().map(move |h| (vec![v.clone()], vec![h.clone()]))).collect()
}

/// Pairs of layers of which at least one has units of two or three kinds, and at least one has a finite number of states.
pub fn mixed_pairs() -> Vec<(Kinds, Kinds)> {
    let all = ["bernoulli*1", "spin*1", "potts(states=3)*1", "gaussian*1"];
    let kinds = all.iter().filter_map(|text| Some(Layout::parse(text).ok()?.kind()?.clone()));
    let single: Vec<Kinds> = kinds.map(|kind| vec![kind]).collect();
    let apart = |(i, j): &(usize, usize)| i < j;
    let two = (0..4).flat_map(|i| (0..4).map(move |j| (i, j))).filter(apart);
    let mut mixed: Vec<Kinds> = two.map(|(i, j)| [single[i].clone(), single[j].clone()].concat()).collect();
    mixed.push([0, 2, 3].map(|k: usize| single[k].clone()).concat());
    let layers: Vec<&Kinds> = single.iter().chain(&mixed).collect();
    let both = layers.iter().flat_map(|v| layers.iter().map(move |h| (v.to_vec(), h.to_vec())));
    let is_finite = |kinds: &Kinds| layout(kinds, kinds.len()).is_finite();
    both.filter(|(v, h)| v.len() + h.len() > 2 && (is_finite(v) || is_finite(h))).collect()
}

/// A layer of so many units, as evenly of all kinds as possible.
fn layout(kinds: &Kinds, sites: usize) -> Layout {
    let n = kinds.len();
    Layout::of(kinds.iter().enumerate().map(|(k, kind)| (kind.clone(), (sites + n - 1 - k) / n)))
}

/// The kinds as text.
fn name(kinds: &Kinds) -> String {
    kinds.iter().map(Kind::to_string).collect::<Vec<_>>().join("+")
}

/// Kinds that users can choose: the studies are about these.
pub fn kinds() -> Vec<Kind> {
    let offered = |kind: &Kind| Kind::LIST.iter().any(|k| k.0 == kind.name());
    Kind::examples().into_iter().filter(offered).collect()
}

/// Model `k` of a study: the pairs take turns, and every other model is trained. Returns its units, whether it is trained, the
/// strength of its coupling, from weak to very strong, and the model.
pub fn model(k: usize, pairs: &[(Kinds, Kinds)]) -> Result<(String, bool, f64, Rbm<f64>)> {
    let (visible, hidden) = &pairs[(k / 2) % pairs.len()];
    let seed = k as u64;
    let mut r = Numbers(Key::root(seed).step(77), 0);
    let strength = 0.1 * 80f64.powf(r.uniform());
    let is_trained = k % 2 == 1;
    let rbm = if is_trained {
        trained(visible, hidden, strength, seed, &mut r)?
    } else {
        random(visible, hidden, strength, &mut r)?
    };
    Ok((format!("{} with {}", name(visible), name(hidden)), is_trained, strength, rbm))
}

/// The random numbers of one model.
pub struct Numbers(pub Key, pub u64);

impl Numbers {
    pub fn uniform(&mut self) -> f64 {
        self.1 += 1;
        self.0.uniforms(self.1, 0)[0]
    }
    fn normal(&mut self) -> f64 {
        self.1 += 1;
        normal(self.0.uniforms(self.1, 0))
    }
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.uniform() * (high - low + 1) as f64) as usize
    }
}

/// A model with fields of standard deviation about `strength` and biases of size 1.
fn random(visible: &Kinds, hidden: &Kinds, strength: f64, r: &mut Numbers) -> Result<Rbm<f64>> {
    let most = if layout(hidden, hidden.len()).is_finite() { 40 } else { 11 };
    let (n, m) = (r.between(6, most), r.between(4, 11));
    let mut layer = |kinds: &Kinds, sites: usize| {
        let layout = layout(kinds, sites);
        let mut par = Array2::zeros(Layer::<f64>::with_defaults(layout.clone()).par().dim());
        for (_, row, columns) in layout.fields() {
            let size = if row == 0 { 1.0 } else { 0.5 };
            columns.into_iter().flatten().for_each(|c| par[[row, c]] = size * r.normal());
        }
        Layer::from_layout(layout.clone(), par, Array1::zeros(layout.columns()))
    };
    let (v, h) = (layer(visible, n)?, layer(hidden, m)?);
    let size = strength / (n as f64).sqrt();
    let mut weights = Array2::from_shape_fn((v.columns(), h.columns()), |_| size * r.normal());
    // Two Gaussian layers are normalisable only if the coupling is weak: the weights are halved until they are.
    for _ in 0..60 {
        let rbm = Rbm::from_parts(v.clone(), h.clone(), weights.clone())?;
        match Exact::new(&rbm) {
            Err(Error::NotNormalisable(_)) => weights *= 0.5,
            other => return other.map(|_| rbm),
        }
    }
    Err(Error::NotNormalisable("even with small weights".into()))
}

/// A model trained on samples of a random one.
fn trained(visible: &Kinds, hidden: &Kinds, strength: f64, seed: u64, r: &mut Numbers) -> Result<Rbm<f64>> {
    let teacher = random(visible, hidden, strength, r)?;
    let exact = Exact::new(&teacher)?;
    let (rows, _) = exact.sample(300, Key::root(seed).step(1));
    let data = Dataset::from_values(teacher.lower().visible(), rows.view())?;
    let rbm = initial_model(teacher.visible().layout(), &layout(hidden, r.between(4, 11)), &data, true, seed)?;
    let config = TrainConfig {
        seed,
        method: "pcd".into(),
        updates: 2000,
        lr: 0.02,
        gibbs_steps: 1,
        chains: 100,
        batch_size: 100,
        schedule: Schedule::Cosine,
        optimizer: OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false },
        report_every: 100_000,
        likelihood: false,
        ..TrainConfig::default()
    };
    let mut trainer = Trainer::new(config, rbm, data, None)?;
    trainer.run(&mut ())?;
    Ok(trainer.rbm().clone())
}
