//! A complete Restricted Boltzmann Machine in 150 lines: binary units, CD-1, and the exact likelihood to watch it learn.
//!
//! The data are the 14 pictures of 3 × 3 pixels that consist of whole rows or whole columns. A perfect model gives each of them
//! the probability 1/14, so the mean log likelihood is at most −ln 14 = −2.639.
#![allow(missing_docs)]

use std::array::from_fn;

pub const N: usize = 9; // visible units: the pixels, 0 or 1
pub const M: usize = 10; // hidden units, 0 or 1
pub const RATES: [f64; 5] = [0.04, 0.02, 0.01, 0.005, 0.002]; // large steps first, then small ones to average
pub const EPOCHS: usize = 4000; // passes through the data at each rate
pub const DECAY: f64 = 0.0005; // fraction of a weight that a step of rate 1 removes
pub type Visible = [f64; N];
pub type Hidden = [f64; M];

/// The parameters: weights W, visible biases a, hidden biases b.
pub struct Rbm {
    pub w: [Hidden; N],
    pub a: Visible,
    pub b: Hidden,
}

impl Rbm {
    /// Biases zero; small random weights, because equal hidden units would learn equal things.
    pub fn new(random: &mut Random) -> Rbm {
        Rbm { w: from_fn(|_| from_fn(|_| 0.2 * random.uniform() - 0.1)), a: [0.0; N], b: [0.0; M] }
    }

    /// E(v,h) = −Σᵢ aᵢvᵢ − Σⱼ bⱼhⱼ − Σᵢⱼ vᵢWᵢⱼhⱼ; a state has probability p(v,h) = exp(−E(v,h))/Z.
    pub fn energy(&self, v: &Visible, h: &Hidden) -> f64 {
        -dot(&self.a, v) - dot(&self.hidden_inputs(v), h)
    }

    /// xⱼ = bⱼ + Σᵢ vᵢWᵢⱼ.
    fn hidden_inputs(&self, v: &Visible) -> Hidden {
        from_fn(|j| self.b[j] + (0..N).map(|i| v[i] * self.w[i][j]).sum::<f64>())
    }

    /// p(hⱼ=1 | v) = σ(xⱼ): given v, the hidden units are independent.
    pub fn hidden_probabilities(&self, v: &Visible) -> Hidden {
        self.hidden_inputs(v).map(sigmoid)
    }

    /// p(vᵢ=1 | h) = σ(aᵢ + Σⱼ Wᵢⱼhⱼ): given h, the visible units are independent.
    pub fn visible_probabilities(&self, h: &Hidden) -> Visible {
        from_fn(|i| sigmoid(self.a[i] + dot(&self.w[i], h)))
    }

    /// F(v) = −log Σₕ exp(−E(v,h)) = −aᵀv − Σⱼ log(1 + exp(xⱼ)), so p(v) = exp(−F(v))/Z.
    pub fn free_energy(&self, v: &Visible) -> f64 {
        -dot(&self.a, v) - self.hidden_inputs(v).map(softplus).iter().sum::<f64>()
    }

    /// log Z = log Σᵥ exp(−F(v)) over all 2⁹ pictures, which is possible only for a tiny model.
    pub fn log_z(&self) -> f64 {
        let pictures = (0..1 << N).map(|k| from_fn(|i| f64::from(k >> i & 1)));
        pictures.map(|v| (-self.free_energy(&v)).exp()).sum::<f64>().ln()
    }

    /// The mean of log p(v) = −F(v) − log Z over the data.
    pub fn mean_log_likelihood(&self, data: &[Visible]) -> f64 {
        -data.iter().map(|v| self.free_energy(v)).sum::<f64>() / data.len() as f64 - self.log_z()
    }

    /// One step of Gibbs sampling: h ∼ p(h | v), then a new v ∼ p(v | h).
    pub fn gibbs_step(&self, v: &Visible, random: &mut Random) -> Visible {
        let h = random.bits(self.hidden_probabilities(v));
        random.bits(self.visible_probabilities(&h))
    }

    /// G(data) − G(model), where G is v for a, h̄ for b, v h̄ᵀ for W, and h̄ⱼ = p(hⱼ=1 | v).
    /// Its mean is the gradient of log p(data) if `model` is a sample of p(v). Sampled h instead of the probabilities h̄
    /// would give the same mean with more noise (Rao–Blackwell).
    pub fn gradient(&self, data: &Visible, model: &Visible) -> Rbm {
        let (hd, hm) = (self.hidden_probabilities(data), self.hidden_probabilities(model));
        let w = from_fn(|i| from_fn(|j| data[i] * hd[j] - model[i] * hm[j]));
        Rbm { w, a: from_fn(|i| data[i] - model[i]), b: from_fn(|j| hd[j] - hm[j]) }
    }

    /// θ += rate · gradient, and every weight decays a little: with small weights the Gibbs chain mixes, and the better
    /// it mixes the better is CD-1 (without the decay this run ends at −3.25 instead of −2.75).
    pub fn step(&mut self, g: &Rbm, rate: f64) {
        self.w = from_fn(|i| from_fn(|j| self.w[i][j] + rate * (g.w[i][j] - DECAY * self.w[i][j])));
        self.a = from_fn(|i| self.a[i] + rate * g.a[i]);
        self.b = from_fn(|j| self.b[j] + rate * g.b[j]);
    }

    /// CD-1: the negative sample is one Gibbs step away from the data, not a true sample of p(v).
    pub fn train(&mut self, data: &[Visible], rate: f64, epochs: usize, random: &mut Random) {
        for v in data.iter().cycle().take(epochs * data.len()) {
            let model = self.gibbs_step(v, random);
            self.step(&self.gradient(v, &model), rate);
        }
    }
}

fn dot<const K: usize>(x: &[f64; K], y: &[f64; K]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// σ(x) = 1/(1 + exp(−x)).
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// log(1 + exp(x)) without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// A small random generator, SplitMix64: the state counts, the output is the state well mixed.
pub struct Random(pub u64);
impl Random {
    /// Uniform in [0, 1): the upper 53 bits, as many as an f64 holds.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ x >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Independent bits, each 1 with its own probability.
    pub fn bits<const K: usize>(&mut self, p: [f64; K]) -> [f64; K] {
        p.map(|p| if self.uniform() < p { 1.0 } else { 0.0 })
    }
}

/// The 2³ pictures of whole rows, and the 2³ of whole columns without the empty and the full one, which are both.
pub fn bars_and_stripes() -> Vec<Visible> {
    let rows = (0..8).map(|k| from_fn(|i| f64::from(k >> (i / 3) & 1)));
    rows.chain((1..7).map(|k| from_fn(|i| f64::from(k >> (i % 3) & 1)))).collect()
}

fn main() {
    let (data, mut random) = (bars_and_stripes(), Random(1));
    println!("mean log likelihood of {} patterns; the best possible is {:.3}", data.len(), -(data.len() as f64).ln());
    let mut rbm = Rbm::new(&mut random);
    println!("before training            {:.3}", rbm.mean_log_likelihood(&data));
    for rate in RATES {
        rbm.train(&data, rate, EPOCHS, &mut random);
        println!("{EPOCHS} epochs at rate {rate:.3}  {:.3}", rbm.mean_log_likelihood(&data));
    }
    println!("12 samples, each 5000 Gibbs steps away from an empty picture:");
    let samples = [[0.0; N]; 12].map(|v| (0..5000).fold(v, |v, _| rbm.gibbs_step(&v, &mut random)));
    for row in 0..3 {
        let pixels = |v: Visible| String::from_iter((0..3).map(|x| if v[3 * row + x] > 0.5 { '#' } else { '.' }));
        println!("{}", samples.map(pixels).join("  "));
    }
}
