//! Parallel loops over pieces of work whose size does not depend on the number of threads.

use rayon::prelude::*;

/// Numbers from which on a pass over them is run in parallel: about 100 µs.
pub(crate) const MANY: usize = 1 << 18;

/// Calls `f` with every piece, in order on this thread, or if `parallel` on all threads in any order. Waking a thread takes 5 to
/// 10 µs, so small work should not be parallel.
pub(crate) fn each<P: Send>(parallel: bool, pieces: impl Iterator<Item = P>, f: impl Fn(P) + Sync + Send) {
    if parallel && rayon::current_num_threads() > 1 {
        pieces.collect::<Vec<_>>().into_par_iter().for_each(f)
    } else {
        pieces.for_each(f)
    }
}

/// The results of `f` for every piece, in the order of the pieces.
pub(crate) fn map<P: Send, R: Send>(
    parallel: bool,
    pieces: impl Iterator<Item = P>,
    f: impl Fn(P) -> R + Sync + Send,
) -> Vec<R> {
    if parallel && rayon::current_num_threads() > 1 {
        pieces.collect::<Vec<_>>().into_par_iter().map(f).collect()
    } else {
        pieces.map(f).collect()
    }
}
