"""Annealed importance sampling in numpy, written like `torch_annealing.py`: with e = exp(βx) a weight grows by
Σ log((1 + e_next)/(1 + e_now)), and e_next/(1 + e_next) is the chance of a 1. Good up to βx = 88.
"""

from protocol import args, first_parameters, inverse_temperatures, save_numbers, serve

import numpy as np
from numpy_draws import Draws, sigmoid


class Annealing:
    def __init__(self, seed):
        self.W, self.a, self.b = first_parameters()
        n, (visible, hidden) = args.chains, self.W.shape
        self.draw = Draws(seed, n, visible, hidden)
        self.v = np.empty((n, visible), np.float32)
        self.x, self.now, self.next, self.h = (np.empty((n, hidden), np.float32) for _ in range(4))
        self.betas = inverse_temperatures().astype(np.float32)
        self.log_z0 = np.logaddexp(0, self.a.astype(np.float64)).sum() + hidden * np.log(2)
        self.log_z = []

    def found(self):
        return np.concatenate(self.log_z)

    def epoch(self):
        weights = np.zeros(args.chains)
        base = self.a.copy()
        sigmoid(base)
        self.draw(base, self.v)
        for beta, next in zip(self.betas, self.betas[1:]):
            np.dot(self.v, self.W, out=self.x)
            self.x += self.b
            for out, factor in ((self.now, beta), (self.next, next)):
                np.multiply(self.x, factor, out=out)
                np.exp(out, out=out)
                out += 1
            np.divide(self.next, self.now, out=self.now)
            weights += np.log(self.now, out=self.now).sum(1)
            if next < 1:
                np.reciprocal(self.next, out=self.next)
                self.draw(np.subtract(1, self.next, out=self.next), self.h)
                self.h *= next
                np.dot(self.h, self.W.T, out=self.v)
                self.v += self.a
                sigmoid(self.v)
                self.draw(self.v, self.v)
        self.log_z.append(weights + self.log_z0)


serve(Annealing, save_numbers)
