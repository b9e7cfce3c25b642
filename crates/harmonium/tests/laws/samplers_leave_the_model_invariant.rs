//! Every sampler on every pair of units: chains that start exactly at p(v) stay there. Tempering crosses between far modes where
//! plain Gibbs sampling never does. The same seed gives the same rows on any number of threads.

use crate::common::{Numbers, only, pairs, random_rbm, seed, small_rbm, wanted};
use harmonium::rng::Key;
use harmonium::sample::{SAMPLERS, SampleOptions, Start, draw};
use harmonium::units::Kind;
use harmonium::{Advice, Dataset, Exact, Layer, Rbm, TrainConfig, Trainer};
use ndarray::{Array1, Array2, ArrayView2};

fn kind(name: &str) -> Kind {
    Kind::new(name, &Default::default()).unwrap()
}

/// All first and pair moments of the columns of every row: x_i and x_i x_j.
fn moments(x: ArrayView2<f64>) -> Array2<f64> {
    let n = x.ncols();
    let pairs: Vec<(usize, usize)> = (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).collect();
    Array2::from_shape_fn((x.nrows(), n + pairs.len()), |(r, c)| {
        if c < n { x[[r, c]] } else { x[[r, pairs[c - n].0]] * x[[r, pairs[c - n].1]] }
    })
}

/// Largest |mean/standard error| of the columns.
fn largest_deviation(d: &Array2<f64>) -> f64 {
    let n = d.nrows() as f64;
    let z = |column: ndarray::ArrayView1<f64>| {
        let mean = column.sum() / n;
        let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        if mean == 0.0 { 0.0 } else { mean.abs() / (variance / n).sqrt() }
    };
    d.columns().into_iter().map(z).fold(0.0, f64::max)
}

/// 3,000 chains from exact samples, 12 sweeps on: differences of all first and pair moments of the same chain before and after
/// have mean zero. Some 40 pairs of kinds with some 10 to 50 moments each for three samplers are about 4,000 comparisons;
/// with a limit of 7 standard errors a false alarm comes once in 10⁸ seeds. A moment that is off by 0.18 of its
/// standard deviation is seen (7·√2/√3000).
#[test]
fn chains_that_begin_at_the_model_stay_there() {
    let mut seen = 0;
    for (seed, v, h) in pairs("chains_that_begin_at_the_model_stay_there") {
        let rbm = small_rbm(&v, &h, true, 40 + seed);
        let (before, _) = Exact::new(&rbm).unwrap().sample(3000, Key::root(3));
        let lowered = rbm.lower();
        let before = lowered.visible().encode(before.view(), 1).unwrap();
        for sampler in SAMPLERS {
            let start = Start::Rows(&before);
            let settings = SampleOptions {
                sampler: sampler.name,
                n: 3000,
                chains: Some(3000),
                burn_in: 8,
                thin: 4,
                start,
                ..SampleOptions::default()
            };
            let (after, drawn) = draw(&rbm, settings, &|_, _| ()).unwrap();
            assert_eq!((after.nrows(), drawn.rows, drawn.sampler), (3000, 3000, sampler.name));
            let after = lowered.visible().encode(after.view(), 1).unwrap();
            let z = largest_deviation(&(moments(after.view()) - moments(before.view())));
            assert!(z < 7.0, "{v} with {h}, {}: a moment is off by {z} standard errors", sampler.name);
            seen += 1;
        }
    }
    assert!(seen >= 3 * 20 || only().is_some());
}

/// The tempered chains of training, at a learning rate of next to nothing, are samples of the model: after 100 updates the
/// moments of 4,000 of them are those of 4,000 exact samples. 27 moments, limit 7 standard errors: a moment that is off by 0.16
/// of its standard deviation is seen.
#[test]
fn tempered_chains_of_training_are_samples_of_the_model() {
    for name in ["bernoulli", "spin", "gaussian", "ternary"].into_iter().filter(|name| wanted(&[name])) {
        let mut r = Numbers::new(seed("tempered chains", &[&(&kind(name)).into()]));
        let rbm = random_rbm(&kind(name), 6, &kind("bernoulli"), 4, false, 1.0, &mut r);
        let lowered = rbm.lower();
        let rows = Array2::from_shape_fn((50, 6), |(r, c)| if (r + c) % 3 == 0 || name == "spin" { 1.0 } else { 0.0 });
        let data = Dataset::from_values(lowered.visible(), rows.view()).unwrap();
        let config = TrainConfig {
            method: "pt".into(),
            lr: 1e-12,
            updates: 100,
            chains: 4000,
            centering: false,
            ..Default::default()
        };
        let mut trainer = Trainer::new(config, rbm.clone(), data, None).unwrap();
        trainer.run(&mut ()).unwrap();
        // Training keeps variances within limits, so that this may not be the model it started with.
        let exact = Exact::new(&trainer.rbm()).unwrap();
        let chains = trainer.chains().unwrap();
        assert_eq!(chains.rows(), 4000);
        let chains = chains.columns(lowered.visible(), 0, 4000);
        let samples = lowered.visible().encode(exact.sample(4000, Key::root(1)).0.view(), 1).unwrap();
        let z = largest_deviation(&(moments(chains.view()) - moments(samples.view())));
        assert!(z < 7.0, "{name}: a moment is off by {z} standard errors");
    }
}

/// Means ⟨v | h⟩ have the mean of the model, and no value between states is left in samples.
#[test]
fn means_have_the_mean_of_the_samples() {
    let rbm = random_rbm(&kind("bernoulli"), 6, &kind("bernoulli"), 4, true, 0.8, &mut Numbers::new(4));
    let expected = Exact::new(&rbm).unwrap().stats().visible.row(0).to_owned();
    let settings = SampleOptions { n: 40_000, means: true, ..SampleOptions::default() };
    let (means, _) = draw(&rbm, settings, &|_, _| ()).unwrap();
    assert!(means.iter().all(|x| (0.0..=1.0).contains(x)) && means.iter().any(|x| x.fract() != 0.0));
    // 40,000 independent rows: 0.02 is eight standard errors of a fair coin.
    for (c, e) in means.columns().into_iter().zip(&expected) {
        let mean = c.sum() / c.len() as f64;
        assert!((mean - e).abs() < 0.02, "{mean} against {e}");
    }
    let (samples, _) = draw(&rbm, SampleOptions { means: false, ..settings }, &|_, _| ()).unwrap();
    assert!(samples.iter().all(|x| *x == 0.0 || *x == 1.0));
}

/// n × n spins, every pair coupled by `w`: two modes, all up and all down.
fn ferromagnet(n: usize, w: f64) -> Rbm<f64> {
    Rbm::from_parts(Layer::new(kind("spin"), n), Layer::new(kind("spin"), n), Array2::from_elem((n, n), w)).unwrap()
}

/// All chains start in one of two modes of equal mass that are far apart: a field of ±5 holds every one of 40 spins. Of 200
/// Gibbs chains none ever crosses; of 200 tempered ones half are in the other mode in the end (within 6 standard deviations of a
/// fair coin, 42), and the chains as a whole change sides hundreds of times.
#[test]
fn tempering_crosses_between_far_modes_where_gibbs_does_not() {
    let rbm = ferromagnet(20, 0.25);
    let up = Array2::from_elem((1, 20), 1.0);
    let run = |sampler| {
        let start = Start::Rows(&up);
        let settings =
            SampleOptions { sampler, n: 2000, chains: Some(200), burn_in: 600, start, ..SampleOptions::default() };
        let (rows, drawn) = draw(&rbm, settings, &|_, _| ()).unwrap();
        let side = rows.rows().into_iter().map(|r| r.sum() > 0.0).collect::<Vec<_>>();
        let crossings = (200..2000).filter(|r| side[*r] != side[r - 200]).count();
        let down = side[1800..].iter().filter(|up| !**up).count();
        (crossings, down, drawn)
    };
    let (crossings, down, _) = run("gibbs");
    assert_eq!((crossings, down), (0, 0));
    let (crossings, down, drawn) = run("tempering");
    assert!(crossings > 200 && down.abs_diff(100) <= 42, "{crossings} crossings, {down} of 200 down");
    assert!(drawn.r_hat.unwrap() < 1.1 && drawn.quantities.len() == 2, "{:?}", drawn.warnings);
    let tempered = drawn.tempered.unwrap();
    assert!(tempered.round_trips > 200 && tempered.swap_rates.iter().all(|r| r.unwrap() > 0.2), "{tempered:?}");
}

/// Chains stuck in two modes are reported: they started in both, and R̂ is large.
#[test]
fn chains_that_have_not_mixed_are_warned_about() {
    let rbm = ferromagnet(20, 0.25);
    let both = Array2::from_shape_fn((2, 20), |(r, _)| if r == 0 { 1.0 } else { -1.0 });
    let settings = SampleOptions { sampler: "gibbs", n: 400, start: Start::Rows(&both), ..SampleOptions::default() };
    let (_, drawn) = draw(&rbm, settings, &|_, _| ()).unwrap();
    let [warning] = &drawn.warnings[..] else { panic!("{:?}", drawn.warnings) };
    assert!(warning.problem.contains("have not mixed"), "{warning:?}");
    assert!(warning.advice.contains(&Advice::TemperedSampler), "{warning:?}");
    assert!(drawn.r_hat.unwrap() > 2.0 && drawn.ess.is_none(), "no size of a sample that says nothing");
    // A ladder of two rungs is too steep for this model, and that is reported.
    let settings = SampleOptions { sampler: "tempering", temperatures: Some(2), ..settings };
    let (_, drawn) = draw(&rbm, settings, &|_, _| ()).unwrap();
    assert!(drawn.warnings.iter().any(|w| w.advice.contains(&Advice::MoreTemperatures)), "{:?}", drawn.warnings);
}

/// Every way to start, sampled plainly, on models with all kinds of layers: the first sweep already gives rows of the layer.
#[test]
fn chains_can_begin_anywhere() {
    for (seed, v, h) in pairs("chains_can_begin_anywhere") {
        let rbm = small_rbm(&v, &h, false, seed);
        for start in [Start::Random, Start::Hidden] {
            let settings =
                SampleOptions { sampler: "gibbs", n: 50, burn_in: 0, thin: 1, start, ..SampleOptions::default() };
            let (rows, _) = draw(&rbm, settings, &|_, _| ()).unwrap();
            assert!(rbm.lower().visible().encode(rows.view(), 1).is_ok() && rows.nrows() == 50, "{v} with {h}");
        }
    }
}

/// h ∼ Bernoulli(½): with a hidden bias that holds h at 1 and weights that matter, a quarter of the first visible states is that of
/// h = 0 before the first sweep up. 20,000 chains, limit 7 standard errors: 0.025.
#[test]
fn the_hidden_start_is_uniform() {
    let weights = Array2::from_elem((1, 1), 40.0);
    let layer =
        |bias: f64| Layer::from_parts(kind("bernoulli"), Array2::from_elem((1, 1), bias), Array1::zeros(1)).unwrap();
    // v = h by force; h = 1 almost surely in the model itself.
    let rbm = Rbm::from_parts(layer(-20.0), layer(-15.0), weights).unwrap();
    let settings = SampleOptions {
        sampler: "gibbs",
        n: 20_000,
        chains: Some(20_000),
        burn_in: 0,
        thin: 1,
        start: Start::Hidden,
        ..SampleOptions::default()
    };
    let (rows, _) = draw(&rbm, settings, &|_, _| ()).unwrap();
    let mean = rows.sum() / 20_000.0;
    assert!((mean - 0.5).abs() < 0.025, "{mean}");
}

#[test]
fn the_same_rows_on_any_number_of_threads() {
    if !wanted(&["bernoulli", "gaussian", "spin"]) {
        return;
    }
    let wide = random_rbm(&kind("bernoulli"), 500, &kind("bernoulli"), 300, true, 0.05, &mut Numbers::new(1));
    let small = random_rbm(&kind("gaussian"), 7, &kind("spin"), 5, true, 0.3, &mut Numbers::new(2));
    for (rbm, sampler) in
        [(&wide, "gibbs"), (&wide, "tempering"), (&small, "gibbs"), (&small, "tempering"), (&small, "exact")]
    {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = SampleOptions { sampler, n: 230, burn_in: 12, thin: 3, seed: 5, ..SampleOptions::default() };
            pool.install(|| draw(rbm, settings, &|_, _| ()).unwrap())
        };
        let (rows, drawn) = run(1);
        for threads in [2, 3] {
            let (again, other) = run(threads);
            assert!(rows == again, "{sampler} on {threads} threads");
            assert_eq!((drawn.r_hat, drawn.ess, &drawn.tempered), (other.r_hat, other.ess, &other.tempered));
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let rbm = ferromagnet(3, 0.1);
    let none = Array2::zeros((0, 3));
    let wide = Array2::zeros((2, 4));
    let plain = SampleOptions { sampler: "gibbs", n: 10, ..SampleOptions::default() };
    for (settings, word) in [
        (SampleOptions { n: 0, ..plain }, "n is 0"),
        (SampleOptions { thin: 0, ..plain }, "thin is 0"),
        (SampleOptions { chains: Some(0), ..plain }, "chains is 0"),
        (SampleOptions { chains: Some(1 << 30), ..plain }, "chains is 1073741824"),
        (SampleOptions { temperatures: Some(1), ..plain }, "temperatures is 1"),
        (SampleOptions { thin: u64::MAX, ..plain }, "more sweeps than can be counted"),
        (SampleOptions { sampler: "guess", ..plain }, "not one of auto, gibbs, tempering, exact"),
        (SampleOptions { start: Start::Rows(&none), ..plain }, "at least one row to start from"),
        (SampleOptions { start: Start::Rows(&wide), ..plain }, "4 columns"),
    ] {
        let error = draw(&rbm, settings, &|_, _| ()).err().unwrap().to_string();
        assert!(error.contains(word), "{error}, expected {word}");
    }
    let gaussian = Rbm::from_parts(
        Layer::new(kind("gaussian"), 2),
        Layer::new(kind("gaussian"), 2),
        Array2::from_elem((2, 2), 2.0),
    );
    let error = draw(&gaussian.unwrap(), plain, &|_, _| ()).err().unwrap().to_string();
    assert!(error.contains("cannot be normalised"), "{error}");
}
