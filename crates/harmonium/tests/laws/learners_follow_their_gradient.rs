//! A learner turns phases into a gradient and this into a step: every backend as the reference does, and to the bit the same
//! wherever its rows are.

use crate::common::{Numbers, Units, close, pairs, random_rbm, random_rows};
use crate::devices::{add, ascent, difference, levels, phase};
use harmonium::backend::{Comm, CpuDevice, Device, Part, Phase, Reference, Side, SlopeOptions, Start, Step, Sweeps};
use harmonium::optimize::OptimizerConfig;
use harmonium::rng::Key;
use harmonium::{Bits, Dataset, LayerMeans, Rbm, States};
use ndarray::{Array1, Array2};
use std::sync::{Arc, Barrier, Mutex};

/// What a learner did, in numbers.
fn numbers(
    device: &dyn Device,
    rbm: &Rbm<f64>,
    optimizer: &OptimizerConfig,
    r: &mut Numbers,
) -> Vec<(&'static str, Vec<f64>)> {
    let start = Start { average: true, ..Start::new(rbm, optimizer.clone()) };
    let chart = start.chart.clone();
    let mut learner = device.learner(start).unwrap();
    let rows = random_rows(rbm.visible(), 20, r);
    let data = Dataset::from_values(rbm.lower().visible(), rows.view()).unwrap();
    learner.backend_mut().put(0, data.states(), None);
    learner.backend_mut().put(1, data.states(), Some(&[3, 1, 4]));
    let layers = rbm.lower();
    let (mut all, quadratic) = (Vec::new(), layers.layers().iter().any(|layer| layer.eta().nrows() > 1));
    for count in 1..4 {
        difference(&mut *learner, &phase(Side::Data, 0, None, 100), &phase(Side::Model, 1, None, 100));
        all.push(("difference", learner.read(Part::Difference).into_iter().collect()));
        let options = SlopeOptions { l1: 0.01, l2: 0.02, virials: true, energy: true, norm: true };
        let slope = learner.slope(options);
        all.push(("energy and square", vec![slope.energy, slope.square]));
        all.push(("virials", slope.virials.concat().into_iter().filter(|_| quadratic).collect()));
        let step = Step { rate: 0.1, count, clip: Some(0.5), max_norm: (count == 3).then_some(0.1) };
        let products = learner.step(Some(step), chart.clone());
        learner.set_layers(layers.layers().map(|layer| layer.eta()), layers.constant());
        all.push(("products", products.into_iter().flat_map(|(x, y)| x.into_iter().chain(y)).collect()));
        learner.average(0.25);
    }
    for part in [Part::Weights, Part::Average, Part::Moment(0)] {
        all.push(("matrices", learner.read(part).into_iter().collect()));
    }
    let ones = |len| Array1::from_shape_fn(len, |i| 1.0 + i as f64);
    let (x, y) = learner.products(&ones(rbm.weights().ncols()), &ones(rbm.weights().nrows()));
    all.push(("products", x.into_iter().chain(y).collect()));
    all.push(("lowered", learner.backend().model().weights().iter().copied().collect()));
    all
}

#[test]
fn every_learner_does_what_the_reference_does() {
    let adam = OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false };
    let momentum = OptimizerConfig { momentum: 0.9, nesterov: true, ..ascent() };
    for (seed, v, h) in pairs("every_learner_does_what_the_reference_does") {
        let rbm = random_rbm(&v, 45, &h, 37, seed.is_multiple_of(2), 0.05, &mut Numbers::new(seed));
        let optimizer = if seed.is_multiple_of(3) { &adam } else { &momentum };
        let of = |device: &dyn Device| numbers(device, &rbm, optimizer, &mut Numbers::new(seed));
        let want = of(&Reference::default());
        for (level, device) in levels() {
            for ((what, a), (_, b)) in of(&*device).iter().zip(&want) {
                assert_eq!(a.len(), b.len(), "{what}");
                a.iter().zip(b).for_each(|(a, b)| close(*a, *b, 1e-8, &format!("{what}: {v} with {h}, {level}")));
            }
        }
    }
}

/// Where processes meet, and what they have added up: integers, and floating-point numbers.
type Shared = (Barrier, Mutex<Vec<i64>>, Mutex<Vec<f64>>);

/// Processes that are threads here.
struct Threads {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
}

impl Threads {
    fn all(size: usize) -> Vec<Threads> {
        let shared = Arc::new((Barrier::new(size), Mutex::default(), Mutex::default()));
        (0..size).map(|rank| Threads { rank, size, shared: shared.clone() }).collect()
    }

    fn reduce<N: Copy>(&self, numbers: &mut [N], all: &Mutex<Vec<N>>, add: impl Fn(N, N) -> N) {
        let barrier = &self.shared.0;
        {
            let mut all = all.lock().unwrap();
            if all.is_empty() {
                *all = numbers.to_vec();
            } else {
                all.iter_mut().zip(numbers.iter()).for_each(|(a, b)| *a = add(*a, *b));
            }
        }
        barrier.wait();
        numbers.copy_from_slice(&all.lock().unwrap());
        barrier.wait();
        all.lock().unwrap().clear();
        barrier.wait();
    }
}

impl Comm for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_sum(&self, numbers: &mut [i64]) {
        self.reduce(numbers, &self.shared.1, i64::wrapping_add);
    }

    fn all_max(&self, numbers: &mut [f64]) {
        self.reduce(numbers, &self.shared.2, f64::max);
    }
}

/// Rows of a shard, as in a run.
const SHARD: usize = 1024;

/// What all processes have: rows, which of their cells are known, weights, chains and their temperatures.
struct Whole {
    rbm: Rbm<f64>,
    rows: States<f64>,
    known: Bits,
    weights: Vec<f64>,
    chains: States<f64>,
    betas: Vec<f64>,
}

impl Whole {
    fn new(v: &Units, h: &Units, seed: u64, rows: usize, chains: usize) -> Whole {
        let mut r = Numbers::new(seed);
        let rbm = random_rbm(v, 9, h, 5, seed.is_multiple_of(2), 0.1, &mut r);
        let lowered = rbm.lower();
        let mut states = |n| {
            let rows = random_rows(rbm.visible(), n, &mut r);
            Dataset::from_values(lowered.visible(), rows.view()).unwrap().states().clone()
        };
        let (rows, chains) = (states(rows), states(chains));
        let mut known = Bits::new(9);
        (0..rows.rows()).for_each(|row| known.push((0..9).map(|i| (row * 7 + i * 3) % 4 > 0)));
        let weights = (0..rows.rows()).map(|_| r.uniform()).collect();
        let betas = (0..chains.rows()).map(|k| 0.5 + 0.5 * (k % 2) as f64).collect();
        Whole { rbm, rows, known, weights, chains, betas }
    }

    /// The shards of one process, of rows or chains.
    fn part(comm: &Threads, rows: usize) -> Vec<usize> {
        let shards = rows.div_ceil(SHARD);
        let ends = [comm.rank, comm.rank + 1].map(|k| (shards * k / comm.size * SHARD).min(rows));
        (ends[0]..ends[1]).collect()
    }

    /// Three updates by one process: means, matrices, and the chains that it has.
    fn run(&self, device: &dyn Device, comm: Threads) -> (Vec<LayerMeans<f64>>, Vec<Array2<f64>>, Array2<f64>) {
        let [rows, chains] = [&self.rows, &self.chains].map(|states| Self::part(&comm, states.rows()));
        let pick = |numbers: &[f64], which: &[usize]| which.iter().map(|r| numbers[*r]).collect::<Vec<_>>();
        let (weights, betas) = (pick(&self.weights, &rows), pick(&self.betas, &chains));
        let start = Start { comm: Arc::new(comm), average: true, ..Start::new(&self.rbm, ascent()) };
        let (chart, eta) = (start.chart.clone(), self.rbm.lower());
        let mut learner = device.learner(start).unwrap();
        let (mut means, key) = (Vec::new(), Key::root(3));
        let backend = learner.backend_mut();
        backend.put(1, &self.chains, Some(&chains));
        backend.number(1, chains.first().map_or(0, |r| *r as u64));
        for update in 0..3 {
            let backend = learner.backend_mut();
            backend.put(0, &self.rows, Some(&rows));
            backend.number(0, rows.first().map_or(0, |r| *r as u64));
            backend.clamp(0, Some(&self.known.select(&rows)));
            backend.gibbs(0, Sweeps { steps: 2, key: Key::root(4), first: 2 * update, beta: None });
            backend.clamp(0, None);
            means.push(add(&mut *learner, &phase(Side::Data, 0, Some(&weights), SHARD)));
            let sweeps = Sweeps { steps: 1, key, first: 2 * update, beta: Some(&betas) };
            learner.backend_mut().gibbs(1, sweeps);
            let draw = Some((key, 2 * update + 1));
            means.push(add(&mut *learner, &Phase { draw, ..phase(Side::Model, 1, None, SHARD) }));
            learner.backend_mut().gibbs(1, Sweeps { first: 2 * update + 1, beta: None, ..sweeps });
            learner.slope(SlopeOptions::default());
            learner.step(Some(Step { rate: 0.01, count: update + 1, clip: None, max_norm: None }), chart.clone());
            learner.set_layers(eta.layers().map(|layer| layer.eta()), eta.constant());
            learner.average(0.5);
        }
        let matrices = [Part::Weights, Part::Average, Part::Difference].map(|part| learner.read(part));
        (means, matrices.into(), learner.backend().get(1).values(self.rbm.lower().visible()))
    }

    /// The same by several processes; all chains.
    fn among(&self, device: &dyn Device, processes: usize) -> (Vec<LayerMeans<f64>>, Vec<Array2<f64>>, Array2<f64>) {
        let each = std::thread::scope(|scope| {
            let run = |comm| scope.spawn(move || self.run(device, comm));
            let threads: Vec<_> = Threads::all(processes).into_iter().map(run).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let (means, matrices) = (each[0].0.clone(), each[0].1.clone());
        for (rank, (a, b, _)) in each.iter().enumerate() {
            assert!(*a == means, "process {rank} has the means of the first");
            assert!(*b == matrices, "process {rank} has the matrices of the first");
        }
        let chains: Vec<_> = each.iter().map(|(_, _, chains)| chains.view()).collect();
        (means, matrices, ndarray::concatenate(ndarray::Axis(0), &chains).unwrap())
    }
}

/// Rows with unknown cells and weights, chains at two temperatures: whole shards may be anywhere, and the bits stay. Where there is
/// one shard some processes have none.
#[test]
fn rows_and_chains_may_be_split_over_several_backends() {
    for (seed, v, h) in pairs("rows_and_chains_may_be_split_over_several_backends") {
        let devices: [Box<dyn Device>; 2] = [Box::new(CpuDevice::default()), Box::new(Reference::default())];
        for (rows, chains) in [(2600, 1030), (9, 8), (7, 2060), (3080, 10)] {
            let whole = Whole::new(&v, &h, seed, rows, chains);
            for device in &devices {
                let one = whole.among(&**device, 1);
                for processes in [2, 3] {
                    let found = whole.among(&**device, processes);
                    let what = format!("{v} with {h}, {rows} rows, {}, {processes}", device.name());
                    assert!(found.0 == one.0, "means: {what}");
                    assert!(found.1 == one.1, "matrices: {what}");
                    assert!(found.2 == one.2, "chains: {what}");
                }
            }
        }
    }
}
