"""What partial_fit costs beside the update it makes: both sides in one process, in turns, the best of several.

    python bench/partial_fit.py

The update is measured inside `fit` (same batch size, nothing else measured); `partial_fit` is called with arrays of the same size.
"""

import time

import numpy as np

from harmonium import RBM

CASES = [(784, 500, 128, 300), (64, 100, 128, 2000)]
TURNS = 7


def updates(X, n_hidden, batch, n):
    """Seconds per update inside one call of fit; a call without updates is taken off."""

    def fit(n):
        rbm = RBM(n_hidden, batch_size=batch, updates=n, learning_rate=0.01, likelihood=False, report_every=10**9, random_state=0, method="pcd")
        start = time.perf_counter()
        rbm.fit(X)
        return time.perf_counter() - start

    return (fit(n + 1) - fit(1)) / n


def steps(X, n_hidden, batch, n):
    """Seconds per call of partial_fit."""
    rbm = RBM(n_hidden, learning_rate=0.01, random_state=0, method="pcd").partial_fit(X[:batch])
    blocks = [X[k % (len(X) - batch) :][:batch] for k in range(0, n * batch, batch)]
    start = time.perf_counter()
    for block in blocks:
        rbm.partial_fit(block)
    return (time.perf_counter() - start) / n


def main():
    rng = np.random.default_rng(0)
    for n_visible, n_hidden, batch, n in CASES:
        X = (rng.random((10_000, n_visible)) < 0.3).astype(np.uint8)
        turns = [(updates(X, n_hidden, batch, n), steps(X, n_hidden, batch, n)) for _ in range(TURNS)]
        update, step = (1e3 * min(side) for side in zip(*turns))
        ratios = sorted(s / u for u, s in turns)
        print(
            f"{n_visible} x {n_hidden}, batch {batch}: update {update:.3f} ms, partial_fit {step:.3f} ms, "
            f"{step - update:+.3f} ms, ratio {step / update:.2f} (of turns: {ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
