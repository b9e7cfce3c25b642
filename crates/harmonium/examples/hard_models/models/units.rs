//! Kinds of units by name, their states, and log(eᵃ + eᵇ).

use harmonium::units::gaussian::{Coupling, Gaussian};
use harmonium::units::{Kind, bernoulli::Bernoulli, potts::Potts, spin::Spin};

pub const BERNOULLI: Kind = Kind::Bernoulli(Bernoulli);
pub const SPIN: Kind = Kind::Spin(Spin);
pub const GAUSSIAN: Kind = Kind::Gaussian(Gaussian { coupling: Coupling::Cho });

pub fn potts(states: usize) -> Kind {
    Kind::Potts(Potts { states })
}

/// The columns of every state of a finite unit.
pub fn states(kind: &Kind) -> Vec<Vec<f64>> {
    let unit = kind.unit::<f64>();
    let state = |k| {
        let mut x = vec![0.0; unit.width()];
        unit.state(k, &mut x);
        x
    };
    (0..unit.n_states().unwrap_or(0)).map(state).collect()
}

pub fn log_add(a: f64, b: f64) -> f64 {
    let top = a.max(b);
    if top == f64::NEG_INFINITY { top } else { top + (-(a - b).abs()).exp().ln_1p() }
}
