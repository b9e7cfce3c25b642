//! Models small enough for exact answers, of all pairs of units that users can choose: random ones, and ones trained on samples
//! of a random one.

use harmonium::optimize::{OptimizerConfig, Schedule};
use harmonium::rng::{Key, normal};
use harmonium::train::initial_model;
use harmonium::units::Kind;
use harmonium::{Dataset, Error, Exact, Layer, Layout, Rbm, Result, TrainConfig, Trainer};
use ndarray::{Array1, Array2};

/// All pairs of kinds, visible and hidden.
pub fn pairs() -> Vec<(Kind, Kind)> {
    let kinds = kinds();
    let hidden = || kinds.iter().filter(|h| !h.visible_only());
    kinds.iter().flat_map(|v| hidden().map(move |h| (v.clone(), h.clone()))).collect()
}

/// Kinds that users can choose: the studies are about these.
pub fn kinds() -> Vec<Kind> {
    let offered = |kind: &Kind| Kind::LIST.iter().any(|k| k.0 == kind.name());
    Kind::examples().into_iter().filter(offered).collect()
}

/// Model `k` of a study: the pairs take turns, and every other model is trained. Returns its units, whether it is trained, the
/// strength of its coupling, from weak to very strong, and the model.
pub fn model(k: usize, pairs: &[(Kind, Kind)]) -> Result<(String, bool, f64, Rbm<f64>)> {
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
    Ok((format!("{visible} with {hidden}"), is_trained, strength, rbm))
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
fn random(visible: &Kind, hidden: &Kind, strength: f64, r: &mut Numbers) -> Result<Rbm<f64>> {
    let most = if hidden.unit::<f64>().n_states().is_some() { 40 } else { 11 };
    let (n, m) = (r.between(6, most), r.between(4, 11));
    let mut layer = |kind: &Kind, sites: usize| {
        let plain = Layer::<f64>::new(kind.clone(), sites);
        let par = Array2::from_shape_fn(plain.par().dim(), |(f, _)| if f == 0 { r.normal() } else { 0.5 * r.normal() });
        Layer::from_parts(kind.clone(), par, Array1::zeros(plain.columns()))
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
fn trained(visible: &Kind, hidden: &Kind, strength: f64, seed: u64, r: &mut Numbers) -> Result<Rbm<f64>> {
    let teacher = random(visible, hidden, strength, r)?;
    let exact = Exact::new(&teacher)?;
    let (rows, _) = exact.sample(300, Key::root(seed).step(1));
    let data = Dataset::from_values(teacher.lower().visible(), rows.view())?;
    let rbm =
        initial_model(teacher.visible().layout(), &Layout::new(hidden.clone(), r.between(4, 11)), &data, true, seed)?;
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
