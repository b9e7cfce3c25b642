//! The portable backend: dense products and one function call per row.
//!
//! Rows are cut into shards of fixed size and threads take shards, so no sum depends on the number of threads: a chain's
//! sweep sees only its own row, and ⟨vhᵀ⟩ is summed over all rows by whoever owns a block of its rows.

use super::{Backend, Slot};
use crate::natural::Natural;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::states::States;
use crate::stats::Stats;
use ndarray::{Array1, Array2, Axis, concatenate, linalg::general_mat_mul};
use rayon::prelude::*;
use std::ops::Range;

/// Rows per shard: enough for a product to be efficient, few enough for a batch of 100 to occupy several threads.
const SHARD: usize = 32;
/// Rows whose statistics are taken at once; bounds the memory of the unpacked columns.
const CHUNK: usize = 4096;
/// Visible columns per block of ⟨vhᵀ⟩.
const BLOCK: usize = 64;

/// The processor, through dense matrix products.
pub struct Cpu<T> {
    machine: Natural<T>,
    slots: Vec<States<T>>,
}

impl<T: Real> Cpu<T> {
    /// A backend with a machine loaded.
    pub fn new(machine: Natural<T>) -> Cpu<T> {
        Cpu { machine, slots: Vec::new() }
    }

    /// Statistics of rows `range`.
    fn chunk_stats(&self, rows: &States<T>, weights: &[T], range: Range<usize>) -> Stats<T> {
        let up = self.machine.up();
        let shards = shards(range);
        let parts: Vec<_> = shards
            .par_iter()
            .map(|r| {
                let x = rows.columns(up.from.unit(), r.start, r.end);
                let (t_v, t_h, weighted) = up.row_stats(x.view(), &weights[r.clone()]);
                (x, t_v, t_h, weighted)
            })
            .collect();
        let mut stats = Stats::zeros(&self.machine);
        for ((_, t_v, t_h, _), r) in parts.iter().zip(&shards) {
            stats.visible += t_v;
            stats.hidden += t_h;
            stats.weight += weights[r.clone()].iter().map(|w| w.f64()).sum::<f64>();
        }
        let x: Vec<_> = parts.iter().map(|p| p.0.view()).collect();
        let y: Vec<_> = parts.iter().map(|p| p.3.view()).collect();
        // Shards have equal numbers of columns, so joining them cannot fail; no rows give zero statistics.
        if let (Ok(x), Ok(y)) = (concatenate(Axis(0), &x), concatenate(Axis(0), &y)) {
            let blocks = stats.cross.axis_chunks_iter_mut(Axis(0), BLOCK).zip(x.axis_chunks_iter(Axis(1), BLOCK));
            blocks.collect::<Vec<_>>().into_par_iter().for_each(|(mut cross, x)| {
                general_mat_mul(T::one(), &x.t(), &y, T::zero(), &mut cross);
            });
        }
        stats
    }
}

/// Shards of a range of rows.
fn shards(range: Range<usize>) -> Vec<Range<usize>> {
    range.clone().step_by(SHARD).map(|a| a..(a + SHARD).min(range.end)).collect()
}

impl<T: Real> Backend<T> for Cpu<T> {
    fn name(&self) -> &'static str {
        "cpu-dense"
    }

    fn load(&mut self, machine: Natural<T>) {
        self.machine = machine;
        self.slots.clear();
    }

    fn update(&mut self, machine: Natural<T>) {
        self.machine = machine;
    }

    fn machine(&self) -> &Natural<T> {
        &self.machine
    }

    fn put(&mut self, slot: Slot, rows: States<T>) {
        while self.slots.len() <= slot {
            let side = self.machine.visible();
            self.slots.push(States::new(side.unit(), side.sites()));
        }
        self.slots[slot] = rows;
    }

    fn get(&self, slot: Slot) -> &States<T> {
        &self.slots[slot]
    }

    fn gibbs(&mut self, slot: Slot, steps: u64, key: Key, first: u64) {
        let (up, down) = (self.machine.up(), self.machine.down());
        let rows = &self.slots[slot];
        let sweep = |shard: &Range<usize>| -> Array2<T> {
            let mut v = rows.columns(up.from.unit(), shard.start, shard.end);
            for step in first..first + steps {
                let h = up.sample(v.view(), key.of(Purpose::Hidden).step(step), shard.start as u64);
                v = down.sample(h.view(), key.of(Purpose::Visible).step(step), shard.start as u64);
            }
            v
        };
        let moved: Vec<Array2<T>> = shards(0..rows.rows()).par_iter().map(sweep).collect();
        let mut states = States::new(up.from.unit(), up.from.sites());
        for v in &moved {
            states.push(up.from, v.view());
        }
        self.slots[slot] = states;
    }

    fn stats(&self, rows: &States<T>, weights: &[T]) -> Stats<T> {
        let mut total = Stats::zeros(&self.machine);
        for start in (0..rows.rows()).step_by(CHUNK) {
            total.add(&self.chunk_stats(rows, weights, start..(start + CHUNK).min(rows.rows())));
        }
        total
    }

    fn free_energy(&self, rows: &States<T>) -> Array1<f64> {
        let up = self.machine.up();
        let shard = |r: &Range<usize>| up.free_energy(rows.columns(up.from.unit(), r.start, r.end).view()).to_vec();
        shards(0..rows.rows()).par_iter().flat_map_iter(shard).collect::<Vec<f64>>().into()
    }
}
