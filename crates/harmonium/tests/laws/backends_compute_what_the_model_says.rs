//! Packed rows are the rows, and a backend computes the model's formulas, for every pair of layers.

use crate::common::{Numbers, close, kinds, pairs, random_rbm, random_rows, seed, small_rbm};
use crate::devices::{add, ascent, devices, difference, learner, levels, phase, points};
use harmonium::backend::{Backend, Learner, Part, Phase, Side, Start, Step, Sweeps, cpu};
use harmonium::rng::{Key, Purpose};
use harmonium::units::Kind;
use harmonium::{Dataset, Gradient, LayerMeans, Rbm, States, Stats};
use ndarray::{Array1, Array2};

/// 150 rows: more than a few shards, and a ragged end.
fn rows_of(v: &Kind, h: &Kind, seed: u64) -> (harmonium::Rbm<f64>, Array2<f64>) {
    let rbm = small_rbm(v, h, true, seed);
    let rows = random_rows(rbm.visible(), 150, &mut Numbers::new(seed));
    (rbm, rows)
}

#[test]
fn packed_states_come_back_whole_selected_and_in_parts() {
    for kind in kinds() {
        let (rbm, rows) = rows_of(&kind, &Kind::new("bernoulli", &Default::default()).unwrap(), 3);
        let lowered = rbm.lower();
        let side = lowered.visible();
        let data = Dataset::from_values(side, rows.view()).unwrap();
        let bits = kind.unit::<f64>().n_states() == Some(2) && kind.unit::<f64>().width() == 1;
        assert_eq!(matches!(data.states(), States::Bits(_)), bits, "{kind}");
        assert_eq!(matches!(data.states(), States::Real(_)), !side.is_finite(), "{kind}");
        assert_eq!(data.states().values(side), rows, "{kind}");
        let columns = side.encode(rows.view(), 1).unwrap();
        assert_eq!(data.states().columns(side, 33, 71), columns.slice(ndarray::s![33..71, ..]), "{kind}");
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
    data.push_values(side, ndarray::arr2(&[[0.0, 0.25, 1.0]]).view(), None);
    assert!(matches!(data.states(), States::Real(_)));
    let all = data.states().values(side);
    assert_eq!(all.slice(ndarray::s![..150, ..]), rows);
    assert_eq!(all.row(150), ndarray::arr1(&[0.0, 0.25, 1.0]));
}

/// A table may be stored column by column.
#[test]
fn rows_do_not_depend_on_how_a_table_is_stored() {
    for kind in kinds() {
        let (rbm, rows) = rows_of(&kind, &kinds()[0], 5);
        let data = |rows: ndarray::ArrayView2<f64>| Dataset::from_values(rbm.lower().visible(), rows).unwrap();
        let turned = rows.t().as_standard_layout().into_owned();
        let (data, other) = (data(rows.view()), data(turned.t()));
        assert_eq!(data, other, "{kind}");
        let energies = |data: &Dataset<f64>| cpu().backend(rbm.lower()).unwrap().free_energy(data.states());
        assert_eq!(energies(&data), energies(&other), "{kind}");
    }
}

/// Columns that are not standardised: the sums of small ones beside large ones are those of exact arithmetic, in several shards too.
#[test]
fn shards_keep_small_columns_beside_large_ones() {
    let (gaussian, bernoulli) = (Kind::new("gaussian", &Default::default()).unwrap(), kinds().remove(0));
    let rbm = random_rbm(&gaussian, 3, &bernoulli, 4, false, 1e-9, &mut Numbers::new(3));
    let mut r = Numbers::new(4);
    let rows = Array2::from_shape_fn((2500, 3), |(_, i)| r.normal() * [1e8, 1.0, 1e-6][i]);
    let x = rbm.lower().visible().encode(rows.view(), 1).unwrap();
    let want = rbm.lower().up().stats(x.view(), Array1::ones(2500).view()).mean();
    let data = Dataset::from_values(rbm.lower().visible(), rows.view()).unwrap();
    for (name, device) in devices() {
        let mut learner = learner(&*device, &rbm);
        learner.backend_mut().put(0, data.states(), None);
        let found = add(&mut *learner, &phase(Side::Data, 0, None, 1024));
        for (a, b) in found.visible.iter().zip(&want.visible) {
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{name}: {a} {b}");
        }
    }
}

/// Models of every pair: 3 × 2 sites, sizes with ragged last panels, bit planes, code words and index lists, with more rows
/// than a chunk, and with small batches.
fn cases(law: &str) -> Vec<(u64, Rbm<f64>, usize)> {
    let mut all = Vec::new();
    for (seed, v, h) in pairs(law) {
        let mut r = Numbers::new(seed);
        all.push((seed, small_rbm(&v, &h, true, seed), 150));
        let (n, m, rows) = [(45, 37, 67), (70, 33, 1), (300, 5, 1100)][seed as usize % 3];
        all.push((seed + 1, random_rbm(&v, n, &h, m, seed.is_multiple_of(2), 0.05, &mut r), rows));
        all.push((seed + 2, random_rbm(&v, 41, &h, 70, !seed.is_multiple_of(2), 0.05, &mut r), 13));
    }
    all
}

fn what(rbm: &Rbm<f64>, device: &str) -> String {
    format!("{} with {}, {device}", rbm.visible().layout(), rbm.hidden().layout())
}

fn means_are_close(a: &LayerMeans<f64>, b: &Stats<f64>, most: f64, what: &str) {
    let (a, b) = ([&a.visible, &a.hidden], [&b.visible, &b.hidden]);
    for (a, b) in a.into_iter().zip(b).flat_map(|(a, b)| a.iter().zip(b)) {
        close(*a, *b, most, what);
    }
}

fn are_close(a: &Stats<f64>, b: &Stats<f64>, most: f64, what: &str) {
    let Stats { visible, hidden, weight, .. } = a.clone();
    means_are_close(&LayerMeans { visible, hidden, weight }, b, most, what);
    a.cross.iter().zip(&b.cross).for_each(|(a, b)| close(*a, *b, most, what));
    close(a.weight, b.weight, most, "weight");
}

#[test]
fn statistics_and_free_energies_are_those_of_the_model() {
    for (seed, rbm, n) in cases("statistics_and_free_energies_are_those_of_the_model") {
        let mut r = Numbers::new(seed);
        let lowered = rbm.lower();
        let rows = random_rows(rbm.visible(), n, &mut r);
        let data = Dataset::from_values(lowered.visible(), rows.view()).unwrap();
        let weights: Vec<f64> = (0..n).map(|_| r.uniform()).collect();
        let x = lowered.visible().encode(rows.view(), 1).unwrap();
        let once = lowered.up().stats(x.view(), Array1::ones(n).view()).mean();
        let want = lowered.up().stats(x.view(), Array1::from(weights.clone()).view()).mean();
        let mut less = want.minus(&once);
        points(&rbm).iter().for_each(|points| less.measure_from(points));
        let mut thrice = want.clone();
        thrice.add_scaled(-3.0, &once);
        for (name, device) in devices() {
            let what = what(&rbm, &name);
            let mut learner = learner(&*device, &rbm);
            learner.backend_mut().put(0, data.states(), None);
            for (shard, most) in [(n, 1e-13), (64, 1e-12)] {
                let phase = |side, weights| phase(side, 0, weights, shard);
                let data = phase(Side::Data, Some(&weights[..]));
                means_are_close(&add(&mut *learner, &data), &want, most, &what);
                are_close(&difference(&mut *learner, &data, &phase(Side::Model, None)), &less, most, &what);
            }
            means_are_close(&learner.backend_mut().layer_means(0, Some(&weights)), &want, 1e-13, &what);
            let energies = learner.backend_mut().free_energy(data.states());
            for (a, b) in energies.iter().zip(&lowered.up().free_energy(x.view())) {
                close(*a, *b, 1e-13, &what);
            }
            learner.set_origins(None);
            for shard in [n, 64] {
                let model = Phase { times: 3.0, ..phase(Side::Model, 0, None, shard) };
                let data = phase(Side::Data, 0, Some(&weights[..]), shard);
                are_close(&difference(&mut *learner, &data, &model), &thrice, 1e-12, &what);
            }
        }
    }
}

/// The batch may be deferred while chains run: a small one for a small or a large one, and a large one for a small one.
#[test]
fn means_that_come_first_are_those_that_others_are_subtracted_from() {
    for (seed, rbm, n) in cases("means_that_come_first_are_those_that_others_are_subtracted_from") {
        // Of several shards where a case has few rows.
        let shard = n.max(5);
        let mut r = Numbers::new(seed);
        let lowered = rbm.lower();
        let encode = |rows: &Array2<f64>| lowered.visible().encode(rows.view(), 1).unwrap();
        let pack = |rows: &Array2<f64>| Dataset::from_values(lowered.visible(), rows.view()).unwrap();
        let rows = random_rows(rbm.visible(), n, &mut r);
        let weights: Vec<f64> = (0..n).map(|_| r.uniform()).collect();
        let first = lowered.up().stats(encode(&rows).view(), Array1::from(weights.clone()).view());
        for others in [3, 9, 30] {
            let rest = random_rows(rbm.visible(), others, &mut r);
            let mut want = first.minus(&lowered.up().stats(encode(&rest).view(), Array1::ones(others).view()));
            points(&rbm).iter().for_each(|points| want.measure_from(points));
            for (name, device) in devices() {
                let mut learner = learner(&*device, &rbm);
                let backend = learner.backend_mut();
                backend.put(0, pack(&rows).states(), None);
                backend.put(1, pack(&rest).states(), None);
                backend.put(2, pack(&rest).states(), None);
                // The first means are asked for twice: the deferred batch is dropped.
                add(&mut *learner, &phase(Side::Data, 1, None, shard));
                add(&mut *learner, &phase(Side::Data, 0, Some(&weights), shard));
                learner.backend_mut().gibbs(2, Sweeps { steps: 1, key: Key::root(1), first: 0, beta: None });
                learner.backend_mut().layer_means(2, None);
                let LayerMeans { visible, hidden, weight } = add(&mut *learner, &phase(Side::Model, 1, None, shard));
                let ours = Stats { visible, hidden, cross: learner.read(Part::Difference), weight };
                are_close(&ours, &want, 1e-12, &what(&rbm, &name));
            }
        }
    }
}

/// Differences that are measured from a point panel by panel are to the bit those that are measured from it at the end, for small
/// batches, large ones and several chunks.
#[test]
fn differences_may_be_measured_from_a_point_panel_by_panel() {
    for (seed, rbm, n) in cases("differences_may_be_measured_from_a_point_panel_by_panel") {
        let mut r = Numbers::new(seed);
        let origins =
            [rbm.visible(), rbm.hidden()].map(|l| (0..l.columns()).map(|_| r.normal()).collect::<Array1<_>>());
        for (others, (name, device)) in [n, 9, 30].into_iter().flat_map(|o| levels().into_iter().map(move |l| (o, l))) {
            let mut learner = learner(&*device, &rbm);
            for (slot, rows) in [n, others].into_iter().enumerate() {
                let rows = random_rows(rbm.visible(), rows, &mut r);
                let data = Dataset::from_values(learner.backend().layers()[0], rows.view()).unwrap();
                learner.backend_mut().put(slot, data.states(), None);
            }
            let weights: Vec<f64> = (0..others).map(|_| r.uniform()).collect();
            let mut from = |origins: Option<_>| {
                learner.set_origins(origins);
                let model = phase(Side::Model, 1, Some(&weights[..]), 2000);
                difference(&mut *learner, &phase(Side::Data, 0, None, 2000), &model)
            };
            let mut want = from(None);
            want.measure_from(&origins.each_ref().map(|o| o.to_vec()));
            let ours = from(Some(origins.clone()));
            assert!(ours == want, "{}, {n} rows and {others}", what(&rbm, &name));
        }
    }
}

/// After a step of the weights a learner computes to the bit what one made of the new model computes.
#[test]
fn a_learner_that_took_a_step_is_the_new_model() {
    for (seed, rbm, n) in cases("a_learner_that_took_a_step_is_the_new_model") {
        let mut r = Numbers::new(seed);
        let mut gradient = Gradient::zeros(&rbm);
        gradient.weights.mapv_inplace(|_| r.normal());
        let mut new = rbm.clone();
        new.step(0.01, &gradient);
        let data = Dataset::from_values(rbm.lower().visible(), random_rows(rbm.visible(), n, &mut r).view()).unwrap();
        for (name, device) in levels() {
            let mut follower = learner(&*device, &rbm);
            follower.write(Part::Difference, gradient.weights.clone());
            let chart = Start::new(&rbm, ascent()).chart;
            let step = Step { rate: 0.01, count: 1, clip: None, max_norm: None };
            follower.step(Some(step), chart);
            let want = new.lower();
            follower.set_layers(want.layers().map(|layer| layer.eta()), want.constant());
            let fresh = learner(&*device, &new);
            let found = [follower, fresh].map(|mut learner| {
                learner.backend_mut().put(0, data.states(), None);
                learner.backend_mut().put(1, data.states(), Some(&[0]));
                learner.backend_mut().gibbs(0, Sweeps { steps: 2, key: Key::root(1), first: 0, beta: None });
                let sums = difference(&mut *learner, &phase(Side::Data, 0, None, n), &phase(Side::Model, 1, None, n));
                (learner.backend().model(), sums, learner.backend_mut().free_energy(data.states()))
            });
            assert!(found[0] == found[1], "{}", what(&rbm, &name));
        }
    }
}

/// Chains are v → h → v by the conditionals, with the numbers of their step and row, at any temperature.
#[test]
fn gibbs_sweeps_are_the_conditionals_in_turn() {
    for (seed, rbm, n) in cases("gibbs_sweeps_are_the_conditionals_in_turn") {
        let lowered = rbm.lower();
        let rows = random_rows(rbm.visible(), n, &mut Numbers::new(seed));
        let data = Dataset::from_values(lowered.visible(), rows.view()).unwrap();
        let key = Key::root(4);
        let beta: Vec<f64> = (0..n).map(|r| if r % 2 == 0 { 0.3 } else { 1.0 }).collect();
        for (beta, (name, device)) in
            [None, Some(&beta[..])].into_iter().flat_map(|b| devices().into_iter().map(move |d| (b, d)))
        {
            let mut cpu = device.backend(lowered.clone()).unwrap();
            cpu.put(1, data.states(), None);
            cpu.gibbs(1, Sweeps { steps: 3, key, first: 10, beta });
            let found = cpu.get(1).columns(lowered.visible(), 0, n);
            for (parity, b) in [0.3, 1.0].into_iter().enumerate() {
                let lowered = lowered.tempered(&lowered.flat(), if beta.is_some() { b } else { 1.0 });
                let mut x = lowered.visible().encode(rows.view(), 1).unwrap();
                for step in 10..13 {
                    let y = lowered.up().sample(x.view(), key.of(Purpose::Hidden).step(step), 0);
                    x = lowered.down().sample(y.view(), key.of(Purpose::Visible).step(step), 0);
                }
                // Sums in another order round differently; only continuous states show it.
                for r in (parity..n).step_by(2) {
                    let differ = found.row(r).iter().zip(x.row(r)).filter(|(a, b)| (*a - *b).abs() > 1e-9).count();
                    assert_eq!(differ, 0, "{}, row {r}", what(&rbm, &name));
                }
            }
        }
    }
}

/// log Σ_h exp(−E_β) from a given model or the default one at β = 0, and sweeps there, are those of the model in
/// between; hidden rows drawn beside them are those of the sweep.
#[test]
fn marginals_and_sweeps_at_any_temperature_are_those_of_the_model_in_between() {
    for (seed, rbm, n) in cases("marginals_and_sweeps_at_any_temperature_are_those_of_the_model_in_between") {
        let mut r = Numbers::new(seed);
        let (lowered, key) = (rbm.lower(), Key::root(6));
        let rows = random_rows(rbm.visible(), n, &mut r);
        let x = lowered.visible().encode(rows.view(), 1).unwrap();
        let data = Dataset::from_values(lowered.visible(), rows.view()).unwrap();
        // At 0 and 1 rows and columns of one model, in between of another of the same kinds.
        let other = lowered
            .flat()
            .map(|eta| &eta * 1.5 + Array2::from_shape_fn(eta.dim(), |(s, _)| if s == 0 { 0.3 } else { 0.0 }));
        for (base, (name, device)) in
            [None, Some(other)].iter().flat_map(|b| devices().into_iter().map(move |d| (b, d)))
        {
            let mut cpu = device.backend(lowered.clone()).unwrap();
            if let Some(base) = base {
                cpu.set_base(base.clone());
            }
            let base = base.clone().unwrap_or_else(|| lowered.flat());
            let betas: Vec<f64> = (0..n).map(|r| [0.0, 0.4, 1.0][r % 3]).collect();
            let (cold, step) = (vec![0.7; n], 3);
            cpu.put(2, data.states(), None);
            let found = cpu.log_marginals(2, &[None, Some(&betas), Some(&cold)], Some((key, step)));
            cpu.gibbs(2, Sweeps { steps: 1, key, first: step, beta: Some(&cold) });
            let moved = cpu.get(2).columns(lowered.visible(), 0, n);
            for (column, beta) in [(0, 1.0), (1, 0.0), (1, 0.4), (1, 1.0), (2, 0.7)] {
                let want = lowered.tempered(&base, beta).up().free_energy(x.view());
                for r in (0..n).filter(|r| column != 1 || betas[*r] == beta) {
                    close(found[[r, column]], -want[r], 1e-12, &format!("{} at {beta}", what(&rbm, &name)));
                }
            }
            let lowered = lowered.tempered(&base, 0.7);
            let y = lowered.up().sample(x.view(), key.of(Purpose::Hidden).step(step), 0);
            let want = lowered.down().sample(y.view(), key.of(Purpose::Visible).step(step), 0);
            assert!(moved.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-9), "{}", what(&rbm, &name));
        }
    }
}

/// A sweep after log marginals starts from their inputs, unless something has changed in between: it is the sweep of a backend
/// that was never asked for them.
#[test]
fn sweeps_after_marginals_are_those_without() {
    type Between = fn(&mut dyn Backend<f64>, &Dataset<f64>, &Dataset<f64>);
    let between: [(&str, Between); 7] = [
        ("nothing", |_, _, _| ()),
        ("other rows", |cpu, _, other| cpu.put(0, other.states(), None)),
        ("a sweep elsewhere", |cpu, _, _| {
            cpu.gibbs(1, Sweeps { steps: 1, key: Key::root(3), first: 0, beta: None });
        }),
        ("statistics", |cpu, _, _| drop(cpu.layer_means(1, None))),
        ("free energies", |cpu, _, other| drop(cpu.free_energy(other.states()))),
        ("another model", |cpu, _, _| {
            let model = cpu.model();
            cpu.load(&model.tempered(&model.flat(), 0.5));
        }),
        ("marginals elsewhere", |cpu, _, _| drop(cpu.log_marginals(1, &[None], None))),
    ];
    for (seed, rbm, n) in cases("sweeps_after_marginals_are_those_without") {
        let (lowered, mut r) = (rbm.lower(), Numbers::new(seed));
        let mut data =
            || Dataset::from_values(lowered.visible(), random_rows(rbm.visible(), n, &mut r).view()).unwrap();
        let (rows, other) = (data(), data());
        let beta: Vec<f64> = (0..n).map(|r| [0.3, 1.0][r % 2]).collect();
        for (name, between) in between {
            let run = |asked: bool| {
                let mut cpu = cpu().backend(lowered.clone()).unwrap();
                cpu.put(0, rows.states(), None);
                cpu.put(1, other.states(), None);
                if asked {
                    cpu.log_marginals(0, &[None, Some(&beta)], None);
                }
                between(&mut *cpu, &rows, &other);
                cpu.gibbs(0, Sweeps { steps: 2, key: Key::root(5), first: 7, beta: Some(&beta) });
                cpu.get(0)
            };
            assert!(run(true) == run(false), "{name}: {} with {}", rbm.visible().layout(), rbm.hidden().layout());
        }
    }
}

/// Hidden rows drawn beside the statistics are those the next sweep would have drawn, and survive a round trip.
#[test]
fn hidden_rows_drawn_ahead_are_those_the_sweep_would_draw() {
    for (seed, rbm, n) in cases("hidden_rows_drawn_ahead_are_those_the_sweep_would_draw") {
        let rows = random_rows(rbm.visible(), n, &mut Numbers::new(seed));
        let data = Dataset::from_values(rbm.lower().visible(), rows.view()).unwrap();
        let key = Key::root(5);
        let sweeps = Sweeps { steps: 1, key, first: 7, beta: None };
        for (name, device) in devices() {
            let mut learner = learner(&*device, &rbm);
            let ahead = |learner: &mut dyn Learner<f64>, draw| {
                learner.backend_mut().put(0, data.states(), None);
                add(learner, &Phase { draw, ..phase(Side::Data, 0, None, n) });
                let drawn = learner.backend().hidden(0);
                learner.backend_mut().gibbs(0, sweeps);
                assert!(learner.backend().hidden(0).is_none());
                (learner.backend().get(0), drawn)
            };
            let (plain, _) = ahead(&mut *learner, None);
            let (found, drawn) = ahead(&mut *learner, Some((key, 7)));
            assert!(found == plain, "{}", what(&rbm, &name));
            if let Some(hidden) = drawn {
                let mut other = device.backend(rbm.lower()).unwrap();
                other.put(0, data.states(), None);
                other.put_hidden(0, &hidden);
                assert!(other.hidden(0) == Some(hidden));
                other.gibbs(0, sweeps);
                assert!(other.get(0) == plain);
            }
        }
    }
}

/// f32 kernels agree with f64 to rounding, with the same bits on every level, at sizes where tables, index lists and threads
/// are all in use.
#[test]
fn single_precision_is_double_precision_rounded_and_the_same_bits_on_every_level() {
    let kind = |name: &str| Kind::new(name, &Default::default()).unwrap();
    for (v, h) in [
        ("bernoulli", "bernoulli"),
        ("spin", "spin"),
        ("gaussian", "bernoulli"),
        ("ternary", "spin"),
        ("spin", "uneven"),
    ] {
        let mut r = Numbers::new(seed("single precision", &[&(&kind(v)).into(), &(&kind(h)).into()]));
        let wide = random_rbm(&kind(v), 300, &kind(h), 200, false, 0.1, &mut r);
        let narrow = wide.cast::<f32>();
        for density in [0.05, 0.5] {
            let value = |r: &mut Numbers| match v {
                "gaussian" => r.normal(),
                _ if r.uniform() < density => 1.0,
                "spin" => -1.0,
                _ => 0.0,
            };
            let rows = Array2::from_shape_fn((130, 300), |_| value(&mut r));
            let data = Dataset::from_values(wide.lower().visible(), rows.view()).unwrap();
            let data32 = Dataset::from_values(narrow.lower().visible(), rows.mapv(|x| x as f32).view()).unwrap();
            let mut reference = learner(cpu(), &wide);
            reference.backend_mut().put(0, data.states(), None);
            // A model that does not count leaves the data.
            let none = Phase { times: 0.0, ..phase(Side::Model, 0, None, 130) };
            let (want, mut first) = (difference(&mut *reference, &phase(Side::Data, 0, None, 130), &none), None);
            for (name, device) in levels() {
                let mut learner = learner(&*device, &narrow);
                learner.backend_mut().put(0, data32.states(), None);
                let draw = Some((Key::root(1), 0));
                let data = Phase { draw, ..phase(Side::Data, 0, None, 130) };
                let none = Phase { times: 0.0, ..phase(Side::Model, 0, None, 130) };
                let stats = difference(&mut *learner, &data, &none);
                learner.backend_mut().gibbs(0, Sweeps { steps: 2, key: Key::root(1), first: 0, beta: None });
                for (a, b) in stats.cross.iter().zip(&want.cross) {
                    close(f64::from(*a), *b, 1e-6, &format!("{v} {h} {density} {name}"));
                }
                let result = (stats, learner.backend().get(0));
                assert!(first.get_or_insert(result.clone()) == &result, "{v} {h} {name}");
            }
        }
    }
}
