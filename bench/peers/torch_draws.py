"""Bits by torch, three ways, of which the fastest counts (`--variant`): `bernoulli` (torch.bernoulli), `uniform` (uniform_ and
lt), `numpy` (uniforms of numpy's SFC64, then lt; torch's own generator is slower).
"""

from protocol import args

import numpy as np
import torch

torch.set_num_threads(args.threads)
torch.set_grad_enabled(False)


class Draws:
    """Draws rows of `n` × one of `widths` numbers; `numbers` has the buffers."""

    def __init__(self, seed, n, *widths):
        torch.manual_seed(seed)
        self.rng = np.random.Generator(np.random.SFC64(seed))
        self.numbers = {k: torch.empty(n, k) for k in widths}

    def __call__(self, p, out):
        """Makes `out`, which may be `p`, bits that are 1 with probability `p`."""
        if args.variant == "bernoulli":
            torch.bernoulli(p, out=out)
            return
        u = self.numbers[p.shape[1]]
        if args.variant == "numpy":
            self.rng.random(out=u.numpy(), dtype=np.float32)
        else:
            u.uniform_()
        torch.lt(u, p, out=out)
