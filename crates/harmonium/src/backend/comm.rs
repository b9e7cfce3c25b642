//! How the processes of a run add up their sums. Only integers and maxima cross, so that the result does not depend on the order.

/// The processes of a run, each with a part of the rows and chains.
pub trait Comm: Send + Sync {
    /// The number of this process.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// Replaces every number by its sum over all processes, added with wrap-around.
    fn all_sum(&self, numbers: &mut [i64]);

    /// Replaces every number by its maximum over all processes.
    fn all_max(&self, numbers: &mut [f64]);
}

/// A single process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Comm for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn all_sum(&self, _: &mut [i64]) {}

    fn all_max(&self, _: &mut [f64]) {}
}
