"""numpy with its OpenBLAS: f32, in place, uniforms of SFC64; written like `torch_rbm.py`."""

from protocol import args, first_parameters, rows, serve

import numpy as np
from numpy_draws import Draws, sigmoid


class Numpy:
    def __init__(self, seed):
        self.data = rows(seed)
        self.W, self.a, self.b = first_parameters()
        n, (visible, hidden) = args.batch, self.W.shape
        self.draw = Draws(seed, n, visible, hidden)
        self.S, self.P = (np.empty((2 * n, k), np.float32) for k in (visible, hidden))
        self.x, self.v = self.S[:n], self.S[n:]
        self.p0, self.p1 = self.P[:n], self.P[n:]
        self.h = np.empty((n, hidden), np.float32)
        self.G = np.empty_like(self.W)
        self.up(self.data[self.draw.rng.integers(len(self.data), size=n), np.arange(n)], self.p0)
        self.draw(self.p0, self.h)  # chains begin at rows of the data

    def parameters(self):
        return self.W, self.a, self.b

    def up(self, v, out):
        np.dot(v, self.W, out=out)
        out += self.b
        sigmoid(out)

    def down(self):
        np.dot(self.h, self.W.T, out=self.v)
        self.v += self.a
        if args.visible == "gaussian":
            noise = self.draw.numbers[len(self.a)]
            self.draw.rng.standard_normal(out=noise, dtype=np.float32)
            self.v += noise
        else:
            sigmoid(self.v)
            self.draw(self.v, self.v)

    def epoch(self):
        persistent, rate = args.method == "pcd", np.float32(args.lr / args.batch)
        for x in self.data:
            self.x[:] = x
            if not persistent:
                self.up(self.x, self.p0)
                self.draw(self.p0, self.h)
            for step in range(args.steps):
                last = step + 1 == args.steps
                self.down()
                if persistent and last:
                    self.up(self.S, self.P)
                else:
                    self.up(self.v, self.p1)
                if persistent or not last:
                    self.draw(self.p1, self.h)
            np.negative(self.p1, out=self.p1)
            np.dot(self.S.T, self.P, out=self.G)
            self.G *= rate
            self.W += self.G
            self.b += rate * self.P.sum(0)
            self.a += rate * (self.x.sum(0) - self.v.sum(0))


serve(Numpy)
