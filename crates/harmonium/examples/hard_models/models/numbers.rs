//! The random numbers of one model: a function of the family's name and the model's number.

use harmonium::rng::{Key, normal, shuffled};

/// A stream of random numbers.
pub struct Numbers {
    key: Key,
    used: u64,
}

impl Numbers {
    pub fn new(family: &str, number: usize) -> Numbers {
        let seed =
            family.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        Numbers { key: Key::root(seed).step(number as u64), used: 0 }
    }

    pub fn uniform(&mut self) -> f64 {
        self.used += 1;
        self.key.uniforms(self.used, 0)[0]
    }

    pub fn normal(&mut self) -> f64 {
        self.used += 1;
        normal(self.key.uniforms(self.used, 0))
    }

    /// A whole number from `low` to `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.uniform() * (high - low + 1) as f64) as usize
    }

    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    pub fn sign(&mut self) -> f64 {
        if self.chance(0.5) { 1.0 } else { -1.0 }
    }

    pub fn order(&mut self, n: usize) -> Vec<usize> {
        self.used += 1;
        shuffled(n, self.key.step(self.used))
    }
}
