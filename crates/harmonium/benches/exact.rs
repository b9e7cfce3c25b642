//! How long exact enumeration takes: `cargo bench -p harmonium --bench exact`.
//!
//! Prints seconds, nanoseconds per state and column, and the process's peak memory (Linux).

use harmonium::rng::{Key, normal};
use harmonium::units::Kind;
use harmonium::{Exact, Rbm, Result};
use ndarray::Array2;
use std::time::Instant;

fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb / 1024.0)
}

fn main() -> Result<()> {
    let key = Key::root(1);
    for (name, n, m) in [("bernoulli", 784, 16), ("bernoulli", 784, 20), ("spin", 784, 20), ("bernoulli", 784, 25)] {
        let kind = Kind::new(name, &Default::default())?;
        let plain: Rbm<f64> = Rbm::new(kind.clone(), n, kind, m)?;
        let weights = Array2::from_shape_fn((n, m), |(i, j)| 0.1 * normal(key.uniforms::<f64>(i as u64, j as u32)));
        let rbm = Rbm::from_parts(plain.visible().clone(), plain.hidden().clone(), weights)?;
        let start = Instant::now();
        let exact = Exact::new(&rbm)?;
        let seconds = start.elapsed().as_secs_f64();
        let per = seconds * 1e9 / (2f64.powi(m as i32) * n as f64);
        println!("{name} {n} x {m}: log Z = {:.6} in {seconds:.2} s, {per:.2} ns per state and column", exact.log_z());
        if m <= 20 {
            let start = Instant::now();
            exact.stats();
            println!("  model statistics in {:.2} s", start.elapsed().as_secs_f64());
        }
    }
    if let Some(mb) = peak_megabytes() {
        println!("peak memory {mb:.0} MB");
    }
    Ok(())
}
