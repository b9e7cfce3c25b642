//! Cells that no sweep changes.

use super::bit_planes::BitPlanes;
use super::layer_states::{Form, LayerStates};
use crate::bits::Bits;
use crate::layout::{Block, Layout};
use crate::real::Real;

/// The cells: of every block which, one bit per site, and the rows that have their states.
#[derive(Clone, Debug, Default)]
pub struct Clamped<T> {
    parts: Vec<(BitPlanes, LayerStates<T>)>,
}

impl<T: Real> Clamped<T> {
    /// The cells of these rows whose bits are set.
    pub fn new(layout: &Layout, known: &Bits, rows: &LayerStates<T>) -> Clamped<T> {
        let part = |(block, rows): (&Block, &LayerStates<T>)| {
            let mut own = Bits::new(block.sites().len());
            (0..known.rows()).for_each(|r| own.push(block.sites().map(|i| known.get(r, i))));
            let mut bit_planes = BitPlanes::default();
            bit_planes.load(own.sites(), (0..own.rows()).map(|r| own.row(r)));
            (bit_planes, rows.clone())
        };
        Clamped { parts: layout.blocks().iter().zip(rows.parts()).map(part).collect() }
    }
}

impl<T: Real> LayerStates<T> {
    /// Gives the clamped cells back their states.
    pub fn restore(&mut self, clamped: &Clamped<T>) {
        let parts = if self.form == Form::Blocks { &mut self.parts[..] } else { std::slice::from_mut(self) };
        for (part, (known, rows)) in parts.iter_mut().zip(&clamped.parts) {
            part.restore_part(known, rows);
        }
    }

    fn restore_part(&mut self, known: &BitPlanes, rows: &LayerStates<T>) {
        if (self.form, rows.form) == (Form::Bits, Form::Numbers) {
            // Grey values stay grey; draws are 0 or 1.
            let columns = self.bit_planes.columns();
            let bit = |k: usize| if self.bit_planes.get(k / columns, k % columns) { T::one() } else { T::zero() };
            self.numbers = (0..self.len * columns).map(bit).collect();
        }
        if rows.form == Form::Numbers {
            self.form = Form::Numbers;
        }
        match self.form {
            Form::Bits => self.bit_planes.merge(&rows.bit_planes, known),
            Form::Codes => take(known, &rows.codes, &mut self.codes),
            Form::Values | Form::Numbers => take(known, &rows.numbers, &mut self.numbers),
            Form::Blocks => {}
        }
    }
}

/// Copies the cells that are known, row after row of as many cells for every site.
fn take<A: Copy>(known: &BitPlanes, from: &[A], to: &mut [A]) {
    let (sites, cells) = (known.columns().max(1), (known.rows() * known.columns()).max(1));
    let width = (from.len() / cells).max(1);
    for (k, (from, to)) in from.chunks_exact(width).zip(to.chunks_exact_mut(width)).enumerate() {
        if known.get(k / sites, k % sites) {
            to.copy_from_slice(from);
        }
    }
}
