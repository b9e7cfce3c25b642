//! Single kernels on one thread, as a percentage of the processor's own limit.
//!
//! `cargo bench -p harmonium --bench kernels`. The limit is measured first: multiplications and additions of numbers that
//! never leave the registers. A kernel is credited with the operations that a dense product would need, so a product of
//! bits may pass 100 %: it needs fewer.

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkId, Criterion, Throughput};
use harmonium::backend::cpu::{Level, bench_hooks};
use harmonium::rng::Key;
use harmonium::units::Kind;
use harmonium::{Dataset, Rbm, Result};
use ndarray::Array2;

/// Wall time whose throughput is a percentage of a limit.
struct OfPeak {
    peak: f64,
}

impl Measurement for OfPeak {
    type Intermediate = <WallTime as Measurement>::Intermediate;
    type Value = <WallTime as Measurement>::Value;
    fn start(&self) -> Self::Intermediate {
        WallTime.start()
    }
    fn end(&self, i: Self::Intermediate) -> Self::Value {
        WallTime.end(i)
    }
    fn add(&self, a: &Self::Value, b: &Self::Value) -> Self::Value {
        WallTime.add(a, b)
    }
    fn zero(&self) -> Self::Value {
        WallTime.zero()
    }
    fn to_f64(&self, value: &Self::Value) -> f64 {
        WallTime.to_f64(value)
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        self
    }
}

impl ValueFormatter for OfPeak {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_values(typical, values)
    }
    fn scale_throughputs(&self, _: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let Throughput::Elements(operations) = throughput else { return "" };
        // Values are nanoseconds.
        values.iter_mut().for_each(|ns| *ns = 100.0 * (*operations as f64 / *ns) / (self.peak * 1e-9));
        "% of peak"
    }
    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str {
        WallTime.formatter().scale_for_machines(values)
    }
}

/// Random rows: bits of a density, or normal numbers.
fn rows(kind: &Kind, n: usize, sites: usize, density: f64) -> Result<Dataset<f32>> {
    let hidden = Kind::new("bernoulli", &Default::default())?;
    let lowered = Rbm::<f32>::new(kind.clone(), sites, hidden, 1)?.lower();
    let number = |(r, i): (usize, usize)| {
        let u: [f64; 2] = Key::root(1).uniforms(r as u64, i as u32);
        let bit = if u[0] < density { 1.0 } else { 0.0 };
        if kind.unit::<f32>().n_states().is_some() { bit } else { u[0] as f32 - 0.5 }
    };
    Dataset::from_values(lowered.visible(), Array2::from_shape_fn((n, sites), number).view())
}

fn main() -> Result<()> {
    let level = Level::choose()?;
    let peak = bench_hooks::peak(level);
    println!("{}: {:.1} GFLOP/s on one thread\n", level.name(), peak * 1e-9);
    let mut criterion = Criterion::default().with_measurement(OfPeak { peak }).configure_from_args();
    let kind = |name: &str| Kind::new(name, &Default::default());
    let mut group = criterion.benchmark_group("product");
    for batch in [10, 128, 1000] {
        for (name, unit, density, short) in [
            ("row lists, 13 % bits", "bernoulli", 0.13, false),
            ("four lookup tables, 50 % bits", "bernoulli", 0.5, false),
            ("four lookup tables, 50 % bits, 16-bit integers", "bernoulli", 0.5, true),
            ("numbers", "gaussian", 0.0, false),
        ] {
            let data = rows(&kind(unit)?, batch, 784, density)?;
            let mut product = bench_hooks::Product::new(level, kind(unit)?, data.states(), 512, short)?;
            group.throughput(Throughput::Elements((2 * batch * 784 * 512) as u64));
            group.bench_function(BenchmarkId::new(name, batch), |b| b.iter(|| product.run()));
        }
    }
    group.finish();
    // σ and the draw are credited with one operation each: the figure to look at is the time, for 32,000 units.
    let mut group = criterion.benchmark_group("epilogue");
    let mut draw = bench_hooks::draw(level, 1000);
    group.bench_function("sigmoid, draw and bit of 32,000 units", |b| b.iter(&mut draw));
    group.finish();
    criterion.final_summary();
    Ok(())
}
