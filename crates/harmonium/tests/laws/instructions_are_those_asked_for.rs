//! The environment variable that forces instructions holds for kernels, mathematics and random numbers alike.

use crate::common::{Numbers, pairs, random_rbm, random_rows};
use harmonium::backend::cpu::Level;
use harmonium::{Dataset, Exact, TrainConfig, Trainer};
use std::process::Command;

const CHILD: &str = "HARMONIUM_TEST_OF_INSTRUCTIONS";

/// Starts itself once for every level. Assertions are on in tests, and with them the record of what has run.
#[test]
fn a_forced_level_runs_everywhere() {
    if std::env::var_os(CHILD).is_some() {
        return work();
    }
    for level in Level::available() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "instructions_are_those_asked_for::a_forced_level_runs_everywhere"]);
        let done = child.env(CHILD, "1").env("HARMONIUM_SIMD", level.name()).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && text.contains("1 passed"), "{}: {text}", level.name());
    }
}

/// Trains, samples and sums for every pair of layers; only the forced level may have run.
fn work() {
    for (seed, v, h) in pairs("a_forced_level_runs_everywhere") {
        let mut r = Numbers::new(seed);
        let rbm = random_rbm(&v, 4, &h, 3, true, 0.1, &mut r).cast::<f32>();
        let rows = random_rows(rbm.cast::<f64>().visible(), 30, &mut r).mapv(|x| x as f32);
        let data = Dataset::from_values(rbm.lower().visible(), rows.view()).unwrap();
        let config = TrainConfig { updates: 3, chains: 10, batch_size: 10, ..TrainConfig::default() };
        let mut trainer = Trainer::new(config, rbm, data, None).unwrap();
        trainer.run(&mut ()).unwrap();
        if let Ok(exact) = Exact::new(&trainer.rbm().cast::<f64>()) {
            exact.sample(5, harmonium::rng::Key::root(1));
        }
    }
    assert_eq!(Level::all_used(), [Level::choose().unwrap()]);
}
