//! A half-step of many chains: the rows of one layer times the weights, then a draw of the other layer.

use super::epilogue::{self, Draw};
use super::layer_states::{Form, LayerStates};
use super::normals::{self, Spread};
use super::packed::Direction;
use super::panels::{Panel, Strip, WIDTH};
use super::{Cpu, ROWS, Scratch, gather, row_chunks, worth_threads};
use crate::backend::{Slot, Sweeps};
use crate::lowered::LoweredLayer;
use crate::real::Real;
use crate::rng::{Key, Purpose};
use crate::simd::Level;
use crate::threads;
use ndarray::{Array2, ArrayViewMut2, Axis, s};
use std::ops::Range;

/// Runs the chains of a slot.
pub fn run<T: Real>(cpu: &mut Cpu<T>, slot: Slot, sweeps: Sweeps<T>) {
    cpu.make(slot);
    let mut ready = cpu.ready.take() == Some(slot);
    let (visible, hidden) = (cpu.lowered.visible(), cpu.lowered.hidden());
    let chains = &mut cpu.slots[slot];
    let (first, beta) = (chains.first, sweeps.beta);
    for step in sweeps.first..sweeps.first + sweeps.steps {
        if !chains.hidden_drawn {
            let key = sweeps.key.of(Purpose::Hidden).step(step);
            let up = Half { level: cpu.level, direction: &cpu.packed.up, from: visible, to: hidden, key, first, beta };
            up.run(&chains.visible, &mut chains.hidden, &mut cpu.scratch, ready);
        }
        ready = false;
        let key = sweeps.key.of(Purpose::Visible).step(step);
        let down = Half { level: cpu.level, direction: &cpu.packed.down, from: hidden, to: visible, key, first, beta };
        down.run(&chains.hidden, &mut chains.visible, &mut cpu.scratch, false);
        if let Some(clamped) = &chains.clamped {
            chains.visible.restore(clamped);
        }
        chains.hidden_drawn = false;
    }
}

/// One half-step.
struct Half<'a, T> {
    level: Level,
    direction: &'a Direction<T>,
    from: &'a LoweredLayer<T>,
    to: &'a LoweredLayer<T>,
    key: Key,
    /// Number of the first chain.
    first: u64,
    beta: Option<&'a [T]>,
}

impl<T: Real> Half<'_, T> {
    /// Draws `to`. If its inputs are `ready`, they are in `scratch.inputs`.
    fn run(&self, from: &LayerStates<T>, to: &mut LayerStates<T>, scratch: &mut Scratch<T>, ready: bool) {
        let len = from.len();
        let form = Form::of(self.to);
        to.resize(self.to, len);
        for range in row_chunks(&(0..len)) {
            let parallel = worth_threads(range.len(), self.from.columns(), self.to.columns());
            if !ready {
                scratch.load(self.level, parallel, from, &range, &self.direction.panels);
            }
            if form == Form::Bits {
                self.draw_bits(parallel, &range, to, scratch, ready);
            } else if self.to.is_quadratic() && self.beta.is_none() {
                self.draw_numbers(parallel, &range, to, scratch, ready);
            } else {
                if !ready {
                    inputs(self.level, parallel, |p| self.direction.panels.panel(p), range.len(), scratch);
                }
                self.draw_rows(parallel, &range, to, &scratch.inputs);
            }
        }
        if form == Form::Bits {
            to.bits_mut(len, self.to.columns()).trim();
        }
    }

    /// Products, if the inputs are not ready, and draws, panel by panel.
    fn draw_bits(
        &self,
        parallel: bool,
        range: &Range<usize>,
        to: &mut LayerStates<T>,
        scratch: &mut Scratch<T>,
        ready: bool,
    ) {
        let (forward, direction) = (&scratch.forward, self.direction);
        let len = to.len();
        let beta = self.beta.map(|b| &b[range.clone()]);
        let words = to.bits_mut(len, self.to.columns()).words_mut();
        let task = |(panel, (x, words)): (usize, (&mut [Strip<T>], &mut [u32]))| {
            if !ready {
                forward.product(self.level, false, direction.panels.panel(panel), x);
            }
            let draw = Draw { key: self.key, panel, first: self.first + range.start as u64 };
            epilogue::draw(self.level, x, direction.odds(panel, beta), draw, &mut words[range.clone()]);
        };
        let panels = scratch.inputs.chunks_mut(range.len()).zip(words.chunks_mut(len));
        threads::each(parallel, panels.enumerate(), task);
    }

    /// The same for Gaussian units.
    fn draw_numbers(
        &self,
        parallel: bool,
        range: &Range<usize>,
        to: &mut LayerStates<T>,
        scratch: &mut Scratch<T>,
        ready: bool,
    ) {
        let (forward, direction, columns) = (&scratch.forward, self.direction, self.to.columns());
        let len = to.len();
        let task = |(panel, (x, out)): (usize, (&mut [Strip<T>], ArrayViewMut2<T>))| {
            if !ready {
                forward.product(self.level, false, direction.panels.panel(panel), x);
            }
            let spread = Spread::new(direction.eta.slice(s![.., panel * WIDTH..panel * WIDTH + out.ncols()]));
            let draw = Draw { key: self.key, panel, first: self.first + range.start as u64 };
            normals::draw(self.level, x, &spread, draw, out);
        };
        let numbers = &mut to.numbers_mut(Form::Numbers, len, columns)[range.start * columns..range.end * columns];
        // The buffer has the shape by construction.
        let Ok(mut numbers) = ArrayViewMut2::from_shape((range.len(), columns), numbers) else { return };
        let panels = scratch.inputs.chunks_mut(range.len()).zip(numbers.axis_chunks_iter_mut(Axis(1), WIDTH));
        threads::each(parallel, panels.enumerate(), task);
    }

    /// Draws row by row, for units with several columns or more than two values, and for numbers at other temperatures.
    fn draw_rows(&self, parallel: bool, range: &Range<usize>, to: &mut LayerStates<T>, inputs: &[Strip<T>]) {
        let (layer, columns, sites, len) = (self.to, self.to.columns(), self.to.sites(), to.len());
        let draw = |r: usize, buffer: &mut Buffer<T>, x: &mut [T]| {
            gather(inputs, range.len(), r, &mut buffer.input);
            self.key.fill(self.first + (range.start + r) as u64, &mut buffer.uniforms);
            match self.beta.map(|b| b[range.start + r]) {
                None => layer.sample(self.direction.eta.view(), &buffer.input, &buffer.uniforms, x),
                Some(beta) => {
                    buffer.input.iter_mut().for_each(|x| *x *= beta);
                    self.direction.tempered(beta, &mut buffer.eta);
                    layer.sample(buffer.eta.view(), &buffer.input, &buffer.uniforms, x);
                }
            }
        };
        let buffer = || Buffer {
            input: vec![T::zero(); columns],
            uniforms: vec![T::zero(); layer.n_uniforms()],
            eta: Array2::zeros(self.direction.eta.dim()),
        };
        let draw_all = |numbers: &mut [T]| {
            threads::each(parallel, numbers.chunks_mut(ROWS * columns).enumerate(), |(block, rows)| {
                let mut buffer = buffer();
                for (r, x) in rows.chunks_mut(columns).enumerate() {
                    draw(block * ROWS + r, &mut buffer, x);
                }
            });
        };
        let form = Form::of(self.to);
        if form == Form::Blocks {
            let mut rows = Array2::zeros((range.len(), columns));
            draw_all(rows.as_slice_mut().unwrap_or(&mut []));
            return to.set_rows(self.to, range.start, rows.view());
        }
        if form != Form::Codes {
            return draw_all(&mut to.numbers_mut(form, len, columns)[range.start * columns..range.end * columns]);
        }
        let state_of = |site: &[T]| self.to.single().map_or(0, |block| block.unit::<T>().state_of(site));
        let codes = &mut to.codes_mut(len, sites)[range.start * sites..range.end * sites];
        threads::each(parallel, codes.chunks_mut(ROWS * sites).enumerate(), |(block, rows)| {
            let (mut buffer, mut x) = (buffer(), vec![T::zero(); columns]);
            for (r, codes) in rows.chunks_mut(sites).enumerate() {
                draw(block * ROWS + r, &mut buffer, &mut x);
                for (code, site) in codes.iter_mut().zip(x.chunks_exact(columns / sites)) {
                    *code = state_of(site) as u16;
                }
            }
        });
    }
}

/// Buffers for drawing one row.
struct Buffer<T> {
    input: Vec<T>,
    uniforms: Vec<T>,
    eta: Array2<T>,
}

/// All inputs of the `rows` rows loaded in `scratch.forward`, from the panels of a direction.
pub fn inputs<'a, T: Real>(
    level: Level,
    parallel: bool,
    panel: impl Fn(usize) -> Panel<'a, T> + Sync + Send,
    rows: usize,
    scratch: &mut Scratch<T>,
) {
    let forward = &scratch.forward;
    threads::each(parallel, scratch.inputs.chunks_mut(rows).enumerate(), |(p, x)| {
        forward.product(level, false, panel(p), x);
    });
}
