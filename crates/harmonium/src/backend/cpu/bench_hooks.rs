//! Single kernels and the processor's own limit, for the benchmark `kernels`. Not part of the interface.

use super::epilogue::{self, Draw, Odds};
use super::factor::Operand;
use super::layer_states::LayerStates;
use super::panels::{self, Panels, Strip, WIDTH, panels_of};
use crate::rng::Key;
use crate::simd::{Isa, Level};
use crate::units::Kind;
use crate::{Rbm, Result, States};

/// A product of rows with a matrix, ready to run.
pub struct Product {
    level: Level,
    factor: Operand<f32>,
    panels: Panels<f32>,
    columns: usize,
    out: Vec<Strip<f32>>,
    rows: usize,
}

impl Product {
    /// Rows of states times `rows.sites()` × `columns` numbers, or integers of 16 bits.
    pub fn new(level: Level, kind: Kind, states: &States<f32>, columns: usize, short: bool) -> Result<Product> {
        let (rows, sites) = (states.rows(), states.sites());
        let lowered = Rbm::<f32>::new(kind.clone(), sites, Kind::new("bernoulli", &Default::default())?, 1)?.lower();
        let (mut loaded, mut factor, mut panels) = (LayerStates::default(), Operand::default(), Panels::default());
        loaded.load(lowered.visible(), states, None);
        factor.short = short;
        factor.load(level, false, &loaded, &(0..rows));
        let matrix: Vec<f32> = (0..sites * columns).map(|i| (i as f32 * 0.37).sin()).collect();
        let blocks = matrix.chunks(WIDTH * columns);
        panels::set(level, (sites, columns), blocks, |w| w, (&mut panels, 1.0), (&mut Panels::default(), 1.0));
        if short {
            // Numbers are at most 1, and 200 of them sum to 16 bits.
            panels.shorten(1.0 / 160.0);
        }
        Ok(Product { level, factor, panels, columns, out: vec![Strip::zero(); rows], rows })
    }

    /// Runs it once, on this thread.
    pub fn run(&mut self) -> f32 {
        for p in 0..panels_of(self.columns) {
            self.factor.product(self.level, false, self.panels.panel(p), &mut self.out);
        }
        self.out[self.rows - 1].0[0]
    }
}

/// σ, draw and bit of `rows` × 32 numbers.
pub fn draw(level: Level, rows: usize) -> impl FnMut() -> u32 {
    let x: Vec<Strip<f32>> = (0..rows).map(|r| Strip([(r as f32).sin(); WIDTH])).collect();
    let (field, mut words) = (Strip::zero(), vec![0; rows]);
    move || {
        let odds = Odds { field: &field, heat: None };
        epilogue::draw(level, &x, odds, Draw { key: Key::root(1), panel: 0, first: 0 }, &mut words);
        words[0]
    }
}

/// Twelve registers of N numbers, each multiplied and added to `times` times: enough of them that none depends on the one before. They
/// have names, because the compiler does not keep arrays of arrays in registers.
macro_rules! multiply_add {
    ($name:ident, $n:literal, $fused:expr $(, $features:literal)?) => {
        multiply_add!($name, $n, $fused $(, $features)?; a b c d e f g h i j k l);
    };
    ($name:ident, $n:literal, $fused:expr $(, $features:literal)?; $($sum:ident)*) => {
        $(#[target_feature(enable = $features)])?
        fn $name(times: usize) -> f64 {
            $(let mut $sum = std::hint::black_box([1f32; $n]);)*
            for _ in 0..times {
                $(for x in &mut $sum {
                    *x = if $fused { x.mul_add(0.999, 1e-3) } else { *x * 0.999 + 1e-3 };
                })*
            }
            std::hint::black_box([$($sum),*]);
            (times * 12 * $n * 2) as f64
        }
    };
}

multiply_add!(plain, 4, false);
#[cfg(target_arch = "x86_64")]
multiply_add!(avx2, 8, true, "avx2,fma");
#[cfg(target_arch = "x86_64")]
multiply_add!(avx512, 16, true, "avx512f,fma");

/// Floating-point operations per second of one thread that does nothing else: multiplications and additions of f32.
pub fn peak(level: Level) -> f64 {
    let mut best = 0f64;
    for _ in 0..20 {
        let begin = std::time::Instant::now();
        let operations = match level.isa() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Level::available` makes this level only where the processor has AVX2 and FMA.
            Isa::Avx2 => unsafe { avx2(100_000) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above, with AVX-512.
            Isa::Avx512 => unsafe { avx512(100_000) },
            _ => plain(100_000),
        };
        best = best.max(operations / begin.elapsed().as_secs_f64());
    }
    best
}
