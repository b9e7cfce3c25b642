"""Sigmoids and bits by numpy, in place: uniforms of SFC64."""

import numpy as np


def sigmoid(x):
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


class Draws:
    """Draws rows of `n` × one of `widths` numbers; `numbers` has the buffers."""

    def __init__(self, seed, n, *widths):
        self.rng = np.random.Generator(np.random.SFC64(seed))
        self.numbers = {k: np.empty((n, k), np.float32) for k in widths}

    def __call__(self, p, out):
        """Makes `out`, which may be `p`, bits that are 1 with probability `p`."""
        u = self.numbers[out.shape[1]]
        self.rng.random(out=u, dtype=np.float32)
        np.less(u, p, out=out, casting="unsafe")
