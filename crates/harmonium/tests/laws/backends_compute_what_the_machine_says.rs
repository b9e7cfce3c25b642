//! Packed rows are the rows, and a backend's words are the machine's formulas, for every pair of layers.

use crate::common::{Numbers, close, machine, pairs, random_rows};
use harmonium::backend::{Backend, Cpu};
use harmonium::rng::{Key, Purpose};
use harmonium::units::Kind;
use harmonium::{Dataset, States};
use ndarray::{Array1, Array2};

/// 150 rows: more than a few shards, and a ragged end.
fn rows_of(v: &Kind, h: &Kind, seed: u64) -> (harmonium::Rbm<f64>, Array2<f64>) {
    let rbm = machine(v, h, true, seed);
    let rows = random_rows(rbm.visible(), 150, &mut Numbers::new(seed));
    (rbm, rows)
}

#[test]
fn packed_states_come_back_whole_selected_and_in_parts() {
    for kind in Kind::examples() {
        let (rbm, rows) = rows_of(&kind, &Kind::new("bernoulli", &Default::default()).unwrap(), 3);
        let lowered = rbm.lower();
        let side = lowered.visible();
        let data = Dataset::from_values(side, rows.view()).unwrap();
        let bits = side.unit().n_states() == Some(2) && side.unit().width() == 1;
        assert_eq!(matches!(data.states(), States::Bits(_)), bits, "{kind}");
        assert_eq!(matches!(data.states(), States::Real(_)), side.unit().n_states().is_none(), "{kind}");
        assert_eq!(data.states().values(side), rows, "{kind}");
        let columns = side.encode(rows.view(), 1).unwrap();
        assert_eq!(data.states().columns(side.unit(), 33, 71), columns.slice(ndarray::s![33..71, ..]), "{kind}");
        let picked = data.select(&[149, 0, 77, 77]);
        assert_eq!(picked.states().values(side), rows.select(ndarray::Axis(0), &[149, 0, 77, 77]), "{kind}");
        data.states().check(side).unwrap();
    }
}

/// Grey values are probabilities: they turn packed bits into numbers without losing a row.
#[test]
fn grey_values_move_the_rows_to_numbers() {
    let bernoulli = Kind::new("bernoulli", &Default::default()).unwrap();
    let (rbm, rows) = rows_of(&bernoulli, &bernoulli, 3);
    let lowered = rbm.lower();
    let side = lowered.visible();
    let mut data = Dataset::from_values(side, rows.view()).unwrap();
    data.push(side, ndarray::arr2(&[[0.0, 0.25, 1.0]]).view());
    assert!(matches!(data.states(), States::Real(_)));
    let all = data.states().values(side);
    assert_eq!(all.slice(ndarray::s![..150, ..]), rows);
    assert_eq!(all.row(150), ndarray::arr1(&[0.0, 0.25, 1.0]));
}

#[test]
fn statistics_and_free_energies_are_those_of_the_machine() {
    for (k, (v, h)) in pairs().into_iter().enumerate() {
        let (rbm, rows) = rows_of(&v, &h, k as u64);
        let machine = rbm.lower();
        let data = Dataset::from_values(machine.visible(), rows.view()).unwrap();
        let mut r = Numbers::new(k as u64);
        let weights: Vec<f64> = (0..150).map(|_| r.uniform()).collect();
        let cpu = Cpu::new(machine.clone());
        let x = machine.visible().encode(rows.view(), 1).unwrap();
        let (ours, want) =
            (cpu.stats(data.states(), &weights), machine.up().stats(x.view(), Array1::from(weights.clone()).view()));
        let pairs = [(&ours.visible, &want.visible), (&ours.hidden, &want.hidden), (&ours.cross, &want.cross)];
        for (a, b) in pairs.into_iter().flat_map(|(a, b)| a.iter().zip(b)) {
            close(*a, *b, 1e-12, &format!("{v} with {h}"));
        }
        close(ours.weight, want.weight, 1e-13, "weight");
        for (a, b) in cpu.free_energy(data.states()).iter().zip(&machine.up().free_energy(x.view())) {
            close(*a, *b, 1e-13, &format!("{v} with {h} free energy"));
        }
    }
}

/// Chains in shards are the same chains: v → h → v by the conditionals, with the numbers of their step and row.
#[test]
fn gibbs_sweeps_are_the_conditionals_in_turn() {
    for (k, (v, h)) in pairs().into_iter().enumerate() {
        let (rbm, rows) = rows_of(&v, &h, k as u64);
        let machine = rbm.lower();
        let data = Dataset::from_values(machine.visible(), rows.view()).unwrap();
        let mut cpu = Cpu::new(machine.clone());
        let key = Key::root(4);
        cpu.put(1, data.states().clone());
        cpu.gibbs(1, 3, key, 10);
        let mut x = machine.visible().encode(rows.view(), 1).unwrap();
        for step in 10..13 {
            let y = machine.up().sample(x.view(), key.of(Purpose::Hidden).step(step), 0);
            x = machine.down().sample(y.view(), key.of(Purpose::Visible).step(step), 0);
        }
        // A product over a shard and one over all rows may round differently; only continuous states show it.
        let found = cpu.get(1).columns(machine.visible().unit(), 0, 150);
        let differ = found.iter().zip(&x).filter(|(a, b)| (*a - *b).abs() > 1e-9).count();
        assert_eq!(differ, 0, "{v} with {h}");
    }
}
