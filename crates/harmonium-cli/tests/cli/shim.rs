#![allow(dead_code)]
use harmonium::rng::{Key, normal};
use harmonium::units::Kind;
use harmonium::{Layer, Rbm};
use ndarray::Array2;
pub fn wanted(_: &[&str]) -> bool { true }
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

