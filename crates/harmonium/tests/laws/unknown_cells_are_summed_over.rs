//! Training on rows of which some cells are not known: what stands in those cells never matters, runs go on to the same bits, and
//! what is learned comes from the known cells.

use crate::common::{Numbers, StopAfter, Units, first_model, kinds, some_units, wanted};
use harmonium::events::{Event, Flow, Observer, Progress, Reason};
use harmonium::file::ModelFile;
use harmonium::optimize::{OptimizerConfig, Schedule};
use harmonium::rng::Key;
use harmonium::units::{Kind, Options};
use harmonium::{Bits, Dataset, Exact, Rbm, TrainConfig, Trainer};
use ndarray::Array2;

fn kind(name: &str) -> Kind {
    let options: Options = if name == "potts" { [("states".into(), "3".into())].into() } else { Options::new() };
    Kind::new(name, &options).unwrap()
}

/// Rows of a random model; about a fifth of the cells is unknown and holds other states, by `lie`.
fn rows(visible: impl Into<Units>, n: usize, lie: u64) -> Dataset<f32> {
    let teacher = crate::common::random_rbm(visible, 6, &kind("bernoulli"), 3, false, 1.5, &mut Numbers::new(5));
    let draw = |seed: u64| Exact::new(&teacher).unwrap().sample(n, Key::root(seed)).0;
    partly(&teacher, &draw(2), &draw(100 + lie))
}

/// Four patterns of six cells, one cell of twenty flipped.
fn patterns(n: usize, seed: u64) -> Array2<f64> {
    let mut r = Numbers::new(seed);
    let mut row = 0;
    Array2::from_shape_fn((n, 6), |(_, i)| {
        row = if i == 0 { r.below(4) } else { row };
        let bit = [0b000111, 0b111000, 0b101010, 0b010101][row] >> i & 1;
        f64::from(if r.uniform() < 0.05 { 1 - bit } else { bit })
    })
}

/// Rows of which about a fifth of the cells is unknown and holds `lies`.
fn partly(lowered: &Rbm<f64>, values: &Array2<f64>, lies: &Array2<f64>) -> Dataset<f32> {
    let n = values.nrows();
    let (mut known, mut r) = (Bits::new(6), Numbers::new(1));
    (0..n).for_each(|_| known.push((0..6).map(|_| r.uniform() < 0.8).collect::<Vec<_>>().into_iter()));
    let given =
        Array2::from_shape_fn((n, 6), |(r, i)| if known.get(r, i) { values[[r, i]] } else { lies[[r, i]] } as f32);
    let lowered = lowered.cast::<f32>().lower();
    let side = lowered.visible();
    let mut data = Dataset::new(side);
    data.push_values(side, given.view(), Some(&known));
    data
}

fn config(method: &str, updates: u64) -> TrainConfig {
    let optimizer = OptimizerConfig { name: "adam".into(), momentum: 0.9, nesterov: false };
    let small = TrainConfig { chains: 100, batch_size: 50, report_every: 100, ..TrainConfig::default() };
    TrainConfig { method: method.into(), updates, lr: 0.01, schedule: Schedule::Cosine, optimizer, ..small }
}

fn trainer(config: &TrainConfig, visible: impl Into<Units>, lie: u64) -> Trainer<f32> {
    let visible = visible.into();
    let data = rows(&visible, 400, lie);
    let rbm = first_model(&visible, &kind("bernoulli"), 4, &data, true, config.seed).unwrap();
    Trainer::new(config.clone(), rbm, data, None).unwrap()
}

fn bytes(rbm: &Rbm<f32>) -> Vec<u8> {
    ModelFile::new(rbm).to_bytes()
}

/// With cells summed over, what stands in the unknown ones changes no bit. (Chains start at rows, so that other methods depend on it
/// for a while.)
#[test]
fn what_stands_in_unknown_cells_does_not_matter() {
    for kind in kinds() {
        let run = |lie: u64| {
            let mut t = trainer(&config("exact", 30), &kind, lie);
            t.run(&mut ()).unwrap();
            bytes(&t.rbm())
        };
        assert_eq!(run(0), run(1), "{kind}");
    }
}

/// Interrupted, resumed, and on other numbers of threads: the same bits, what was filled in included.
#[test]
fn a_run_with_unknown_cells_goes_on_to_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    for kind in
        some_units(&["bernoulli", "potts (states 3)", "gaussian", "ternary", "bernoulli+potts (states 3)+gaussian"])
    {
        let (name, method) = (kind.to_string(), if kind.to_string().starts_with("potts") { "cd" } else { "pcd" });
        let config = config(method, 260);
        let mut whole = trainer(&config, &kind, 0);
        assert_eq!(whole.run(&mut ()).unwrap(), Reason::Done);
        let path = dir.path().join(&name);
        let mut pieces = trainer(&config, &kind, 0);
        for stop in [90, 80, u64::MAX] {
            pieces = trainer(&config, &kind, 0);
            pieces.checkpoint_to(path.clone(), 50);
            if path.exists() {
                pieces.resume(&std::fs::read(&path).unwrap()).unwrap();
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1 + stop as usize % 3).build().unwrap();
            pool.install(|| pieces.run(&mut StopAfter(stop)).unwrap());
        }
        assert_eq!(bytes(&pieces.rbm()), bytes(&whole.rbm()), "{method} {name}");
        assert_eq!(pieces.data(), whole.data(), "{method} {name}");
        // A checkpoint of other rows is refused.
        let mut other = Trainer::new(config.clone(), whole.rbm().clone(), rows(&kind, 300, 0), None).unwrap();
        let refused = other.resume(&std::fs::read(&path).unwrap()).unwrap_err().to_string();
        assert!(refused.contains("not those of the data"), "{refused}");
    }
}

struct Last(Option<Progress>);

impl Observer for Last {
    fn on(&mut self, event: &Event) -> Flow {
        if let Event::Progress(p) = event {
            self.0 = Some(p.clone());
        }
        Flow::Continue
    }
}

/// With a fifth of the cells unknown the truth is learned nearly as well as from all: complete rows lose less than 0.1 nats. Column
/// means in the unknown cells would lose more (measured beside it), so a model that took filled cells for data is found out. And
/// the likelihood that the run reports is that of the known cells.
#[test]
fn the_truth_is_learned_from_what_is_known() {
    if !wanted(&["bernoulli"]) {
        return;
    }
    let visible = kind("bernoulli");
    let values = patterns(2000, 1);
    let plain: Rbm<f64> = Rbm::new(visible.clone(), 6, kind("bernoulli"), 4).unwrap();
    let data = partly(&plain, &values, &patterns(2000, 2));
    let log_p = |rbm: &Rbm<f32>| Exact::new(rbm).unwrap().log_likelihood(values.view()).unwrap().mean().unwrap();
    let learn = |method: &str, data: &Dataset<f32>| {
        let rbm = first_model(&visible, &kind("bernoulli"), 4, data, true, 1).unwrap();
        let mut t = Trainer::new(config(method, 3000), rbm, data.clone(), None).unwrap();
        let mut last = Last(None);
        t.run(&mut last).unwrap();
        (t.rbm().clone(), last.0.unwrap())
    };
    let lowered = first_model(&visible, &kind("bernoulli"), 4, &data, true, 1).unwrap().lower();
    let whole = Dataset::from_values(lowered.visible(), values.mapv(|x| x as f32).view()).unwrap();
    let best = log_p(&learn("pcd", &whole).0);
    let known = data.known().unwrap();
    let majority = Array2::from_shape_fn(values.dim(), |(r, i)| {
        if known.get(r, i) {
            values[[r, i]] as f32
        } else {
            f32::from(u8::from(values.column(i).mean().unwrap() > 0.5))
        }
    });
    let by_columns = log_p(&learn("pcd", &Dataset::from_values(lowered.visible(), majority.view()).unwrap()).0);
    for method in ["pcd", "cd", "exact"] {
        let (rbm, reported) = learn(method, &data);
        let ours = log_p(&rbm);
        println!("{method}: complete {best:.4}, a fifth unknown {ours:.4}, columns' majority {by_columns:.4}");
        assert!(best - ours < 0.1 && ours > by_columns + 0.1, "{method}: {ours} {best} {by_columns}");
        // 1,000 of the rows are measured; their mean is within 0.3 of that of all.
        let wide = rbm.cast::<f64>();
        let mut ask = harmonium::conditional::Conditional::new(&wide, Default::default()).unwrap();
        let x = wide.lower().visible().encode(values.view(), 1).unwrap();
        let scores = ask.scores(x.view(), known, 0).unwrap();
        assert_eq!(scores.exact, 2000);
        let mean = scores.rows.iter().map(|s| s.value).sum::<f64>() / 2000.0 - Exact::new(&rbm).unwrap().log_z();
        assert!((reported.train.log_likelihood.unwrap() - mean).abs() < 0.3, "{:?} {mean}", reported.train);
        assert!(mean > ours, "fewer cells are more likely than all");
    }
}

/// A column of which nothing is known cannot be learned; the error has its number.
#[test]
fn a_column_without_any_known_cell_is_refused() {
    let visible = kind("bernoulli");
    let plain: Rbm<f32> = Rbm::new(visible.clone(), 3, kind("bernoulli"), 2).unwrap();
    let lowered = plain.lower();
    let mut known = Bits::new(3);
    (0..4).for_each(|_| known.push([true, false, true].into_iter()));
    let mut data = Dataset::<f32>::new(lowered.visible());
    data.push_values(lowered.visible(), Array2::zeros((4, 3)).view(), Some(&known));
    let refused = first_model(&visible, &kind("bernoulli"), 2, &data, true, 1).unwrap_err().to_string();
    assert!(refused.contains("has no known cell in column 2"), "{refused}");
}
