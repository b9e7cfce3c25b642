//! Exact changes of how a model is written: blocks side by side, other units, flipped and permuted units, moved offsets.
//!
//! After these, equal hidden units do not look alike, and the change of log Z by each is known.

use super::lattice::Block;
use super::numbers::Numbers;
use super::units::{BERNOULLI, GAUSSIAN, SPIN};
use harmonium::units::Kind;
use harmonium::{Layer, Rbm, Result};
use ndarray::{Array1, Array2, Axis, s};

/// A model in natural parameters, and its log Z.
#[derive(Clone)]
pub struct Plain {
    pub visible: Kind,
    pub hidden: Kind,
    eta_v: Array2<f64>,
    eta_h: Array2<f64>,
    weights: Array2<f64>,
    log_z: f64,
}

/// Blocks that do not interact: log Z adds.
impl From<Vec<Block>> for Plain {
    fn from(blocks: Vec<Block>) -> Plain {
        let columns = |f: &dyn Fn(&Block) -> usize| blocks.iter().map(f).sum::<usize>();
        let (n, m) = (columns(&|b| b.eta.ncols()), columns(&|b| b.bias.len()));
        let mut plain = Plain {
            visible: blocks[0].visible.clone(),
            hidden: blocks[0].hidden.clone(),
            eta_v: Array2::zeros((blocks[0].eta.nrows(), n)),
            eta_h: Array2::zeros((1, m)),
            weights: Array2::zeros((n, m)),
            log_z: 0.0,
        };
        let (mut i, mut j) = (0, 0);
        for block in &blocks {
            let (n, m) = (block.eta.ncols(), block.bias.len());
            plain.eta_v.slice_mut(s![.., i..i + n]).assign(&block.eta);
            plain.eta_h.slice_mut(s![0, j..j + m]).assign(&block.bias);
            plain.weights.slice_mut(s![i..i + n, j..j + m]).assign(&block.weights());
            plain.log_z += block.log_z();
            (i, j) = (i + n, j + m);
        }
        plain
    }
}

impl From<Block> for Plain {
    fn from(block: Block) -> Plain {
        vec![block].into()
    }
}

impl Plain {
    /// The layers exchanged.
    pub fn swapped(self) -> Plain {
        let weights = self.weights.t().as_standard_layout().into_owned();
        Plain {
            visible: self.hidden,
            hidden: self.visible,
            eta_v: self.eta_h,
            eta_h: self.eta_v,
            weights,
            log_z: self.log_z,
        }
    }

    /// The visible column c as `sign`·x + `shift` of a new x: −E gains ηx-terms, fields of the hidden layer and a constant.
    fn substitute(&mut self, c: usize, sign: f64, shift: f64) {
        let field = self.eta_v[[0, c]];
        self.log_z -= field * shift;
        self.eta_h.row_mut(0).scaled_add(shift, &self.weights.row(c));
        self.eta_v[[0, c]] = sign * field;
        self.weights.row_mut(c).mapv_inplace(|w| sign * w);
    }

    /// Spins of the visible layer as Bernoulli units: s = 2x − 1.
    pub fn spins_to_bernoulli(mut self) -> Plain {
        if self.visible == SPIN {
            (0..self.eta_v.ncols()).for_each(|c| self.substitute(c, 2.0, -1.0));
            self.visible = BERNOULLI;
        }
        self
    }

    /// Bernoulli units of both layers in place of spins.
    pub fn all_bernoulli(self) -> Plain {
        self.spins_to_bernoulli().swapped().spins_to_bernoulli().swapped()
    }

    /// Flips units of the visible layer at random: x → 1 − x, or x → −x.
    fn flip(&mut self, r: &mut Numbers) {
        let shift = if self.visible == BERNOULLI { 1.0 } else { 0.0 };
        if [BERNOULLI, SPIN, GAUSSIAN].contains(&self.visible) {
            (0..self.eta_v.ncols()).for_each(|c| {
                if r.chance(0.5) {
                    self.substitute(c, -1.0, shift);
                }
            });
        }
    }

    /// Adds a constant to all states of a Potts site, in its biases and weights; exactly one state is 1.
    fn lift(&mut self, r: &mut Numbers) {
        let width = self.visible.unit::<f64>().width();
        for site in (0..if width > 1 { self.eta_v.ncols() / width } else { 0 }).map(|s| s * width) {
            let (lift, w) = (r.normal(), Array1::from_shape_fn(self.weights.ncols(), |_| 0.2 * r.normal()));
            self.eta_v.slice_mut(s![0, site..site + width]).mapv_inplace(|x| x + lift);
            self.log_z += lift;
            for mut row in self.weights.slice_mut(s![site..site + width, ..]).rows_mut() {
                row += &w;
            }
            self.eta_h.row_mut(0).scaled_add(-1.0, &w);
        }
    }

    /// Permutes sites, and the states of every Potts site.
    fn permute(&mut self, r: &mut Numbers) {
        let width = self.visible.unit::<f64>().width();
        let sites = r.order(self.eta_v.ncols() / width);
        let mut columns = Vec::new();
        for site in sites {
            columns.extend(r.order(width).into_iter().map(|k| site * width + k));
        }
        self.eta_v = self.eta_v.select(Axis(1), &columns);
        self.weights = self.weights.select(Axis(0), &columns);
    }

    /// Flips, lifts and permutes both layers.
    pub fn disguised(mut self, r: &mut Numbers) -> Plain {
        for _ in 0..2 {
            self.flip(r);
            self.lift(r);
            self.permute(r);
            self = self.swapped();
        }
        self
    }

    /// The model and its log Z, with random offsets if `moved`.
    pub fn build(self, moved: bool, r: &mut Numbers) -> Result<(Rbm<f64>, f64)> {
        let Plain { visible, hidden, eta_v, eta_h, mut weights, log_z } = self;
        if visible == GAUSSIAN {
            // This coupling divides by the variance.
            weights.rows_mut().into_iter().zip(eta_v.row(1)).for_each(|(mut w, e)| w *= -0.5 / e);
        }
        let mut rbm = Rbm::from_parts(layer(visible, eta_v)?, layer(hidden, eta_h)?, weights)?;
        if moved {
            let [alpha, beta] =
                [rbm.visible().columns(), rbm.hidden().columns()].map(|n| Array1::from_shape_fn(n, |_| r.uniform()));
            rbm.recenter(alpha.view(), beta.view())?;
        }
        let log_z = log_z - rbm.lower().constant();
        Ok((rbm, log_z))
    }
}

/// A layer with these natural parameters and offset zero.
fn layer(kind: Kind, eta: Array2<f64>) -> Result<Layer<f64>> {
    let n = eta.ncols();
    let par = if kind == GAUSSIAN {
        Array2::from_shape_fn((2, n), |(f, i)| {
            let variance = -0.5 / eta[[1, i]];
            if f == 0 { eta[[0, i]] * variance } else { variance.ln() }
        })
    } else {
        eta
    };
    Layer::from_parts(kind, par, Array1::zeros(n))
}
