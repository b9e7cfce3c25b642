//! The library agrees with the independent oracle (`oracle/`, NumPy, enumeration and quadrature from the energy alone).

use crate::common::{LayerJson, all_close, close, files, matrix};
use harmonium::{Exact, LoweredModel, Rbm};
use ndarray::{Array1, Array2, aview1};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Fixture {
    name: String,
    visible: LayerJson,
    hidden: LayerJson,
    weights: Vec<Vec<f64>>,
    data: Vec<Vec<f64>>,
    row_weights: Vec<f64>,
    log_z: f64,
    energies: Vec<Energy>,
    free_energy: Vec<f64>,
    log_likelihood: Vec<f64>,
    hidden_means: Vec<Vec<f64>>,
    visible_given: Vec<Given>,
    model: Model,
    gradient: BTreeMap<String, serde_json::Value>,
    kl: Option<f64>,
    moved: Option<Moved>,
}

#[derive(Deserialize)]
struct Energy {
    v: Vec<f64>,
    h: Vec<f64>,
    energy: f64,
}

#[derive(Deserialize)]
struct Given {
    h: Vec<f64>,
    mean: Vec<f64>,
    log_p_star: f64,
}

#[derive(Deserialize)]
struct Model {
    visible: Vec<f64>,
    hidden: Vec<f64>,
    cross: Vec<Vec<f64>>,
    visible_square: Option<Vec<f64>>,
    hidden_square: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Moved {
    visible: LayerJson,
    hidden: LayerJson,
    visible_offset: Vec<f64>,
    hidden_offset: Vec<f64>,
}

const TOLERANCE: f64 = 1e-11;

fn fixtures() -> Vec<(Fixture, Rbm<f64>)> {
    let read = |path| {
        let f: Fixture = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let rbm = Rbm::from_parts(f.visible.layer(), f.hidden.layer(), matrix(&f.weights)).unwrap();
        (f, rbm)
    };
    let all: Vec<_> = files("fixtures", "json").into_iter().map(read).collect();
    assert!(all.len() >= 40, "the fixtures are missing");
    all
}

/// One row of data values as columns.
fn encode(side: &harmonium::LoweredLayer<f64>, values: &[f64]) -> Array2<f64> {
    side.encode(aview1(values).insert_axis(ndarray::Axis(0)), 1).unwrap()
}

#[test]
fn energies_conditionals_and_free_energies_of_both_sides() {
    for (f, rbm) in fixtures() {
        let lowered: LoweredModel<f64> = rbm.lower();
        for e in &f.energies {
            let (v, h) = (encode(lowered.visible(), &e.v), encode(lowered.hidden(), &e.h));
            close(lowered.energy(v.row(0), h.row(0)), e.energy, TOLERANCE, &format!("{} energy", f.name));
        }
        let x = lowered.visible().encode(matrix(&f.data).view(), 1).unwrap();
        all_close(&lowered.up().free_energy(x.view()), &f.free_energy, TOLERANCE, &format!("{} F", f.name));
        let means = lowered.up().means(x.view());
        all_close(&means, &matrix(&f.hidden_means), TOLERANCE, &format!("{} hidden means", f.name));
        for g in &f.visible_given {
            let h = encode(lowered.hidden(), &g.h);
            all_close(&lowered.down().means(h.view()), &g.mean, TOLERANCE, &format!("{} visible means", f.name));
            let free = lowered.down().free_energy(h.view())[0];
            close(-free, g.log_p_star, TOLERANCE, &format!("{} log p*(h)", f.name));
        }
    }
}

#[test]
fn log_z_likelihood_moments_and_divergence() {
    for (f, rbm) in fixtures() {
        let exact = Exact::new(&rbm).unwrap();
        close(exact.log_z(), f.log_z, TOLERANCE, &format!("{} log Z", f.name));
        let rows = matrix(&f.data);
        let log_p = exact.log_likelihood(rows.view()).unwrap();
        all_close(&log_p, &f.log_likelihood, TOLERANCE, &format!("{} log p", f.name));

        let stats = exact.stats();
        all_close(stats.visible.row(0), &f.model.visible, TOLERANCE, &format!("{} <v>", f.name));
        all_close(stats.hidden.row(0), &f.model.hidden, TOLERANCE, &format!("{} <h>", f.name));
        all_close(&stats.cross, &matrix(&f.model.cross), TOLERANCE, &format!("{} <vh>", f.name));
        for (t, square) in [(&stats.visible, &f.model.visible_square), (&stats.hidden, &f.model.hidden_square)] {
            assert_eq!(t.nrows() == 2, square.is_some());
            if let Some(square) = square {
                all_close(t.row(1), square, TOLERANCE, &format!("{} squares", f.name));
            }
        }
        let weights = Array1::from(f.row_weights.clone());
        match f.kl {
            Some(kl) => close(exact.kl(rows.view(), weights.view()).unwrap().kl, kl, TOLERANCE, &f.name),
            None => assert!(exact.kl(rows.view(), weights.view()).is_err()),
        }
    }
}

#[test]
fn gradients_of_the_mean_log_likelihood() {
    for (f, rbm) in fixtures() {
        let weights = Array1::from(f.row_weights.clone());
        let g = Exact::new(&rbm).unwrap().gradient(matrix(&f.data).view(), weights.view()).unwrap();
        for (name, want) in f.gradient {
            let what = format!("{} gradient of {name}", f.name);
            if name == "weights" {
                all_close(
                    &g.weights,
                    &matrix(&serde_json::from_value::<Vec<Vec<f64>>>(want).unwrap()),
                    TOLERANCE,
                    &what,
                );
                continue;
            }
            let (side, field) = name.split_once('.').unwrap();
            let (layer, rows) = if side == "visible" { (rbm.visible(), &g.visible) } else { (rbm.hidden(), &g.hidden) };
            let row = layer.layout().fields().iter().position(|(f, ..)| f.name == field).unwrap();
            all_close(rows.row(row), &serde_json::from_value::<Vec<f64>>(want).unwrap(), TOLERANCE, &what);
        }
    }
}

/// The oracle solved for the biases; a Potts site's are fixed only up to a constant, so its mean is taken out.
#[test]
fn moved_offsets_move_the_biases_as_the_oracle_solved() {
    let gauge = |layer: &harmonium::Layer<f64>| {
        let width = layer.columns() / layer.sites();
        let mut bias = layer.par().row(0).to_vec();
        if width > 1 {
            for site in bias.chunks_exact_mut(width) {
                let mean = site.iter().sum::<f64>() / width as f64;
                site.iter_mut().for_each(|x| *x -= mean);
            }
        }
        bias
    };
    let mut moved = 0;
    for (f, mut rbm) in fixtures() {
        let Some(m) = &f.moved else { continue };
        moved += 1;
        let before = rbm.clone();
        rbm.recenter(aview1(&m.visible_offset), aview1(&m.hidden_offset)).unwrap();
        assert_eq!(rbm.weights(), before.weights());
        assert_eq!(rbm.visible().field("log_variance"), before.visible().field("log_variance"));
        all_close(&gauge(rbm.visible()), &gauge(&m.visible.layer()), TOLERANCE, &format!("{} a", f.name));
        all_close(&gauge(rbm.hidden()), &gauge(&m.hidden.layer()), TOLERANCE, &format!("{} b", f.name));
    }
    assert!(moved >= 20);
}
