//! Work is cut into pieces whose size does not depend on the number of threads; if it is large, threads take pieces.

use rayon::prelude::*;

/// Numbers from which on a pass over them is much work: some 100 µs.
pub(crate) const MANY: usize = 1 << 18;

/// Calls `f` with every piece: here and in order, or if there is `much` to do on all threads and in any order. Waking a
/// thread takes 5 to 10 µs, so small work must not ask.
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
