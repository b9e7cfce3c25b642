#!/usr/bin/env python3
"""Ways to draw the model's side of the gradient, as short NumPy prototypes: does a method deserve to be built?

    python3 studies/learning/prototypes.py --data DIR

Every method makes the same number of updates with the same number of chain sweeps per update, so that they cost the same. Models
have 16 hidden units, so that the log likelihood is exact. One line per set and method: test rows, in nats, one number per seed.
DIR is that of `run.py`.

pcd    1,000 chains, one sweep per update
pcd10  100 chains, ten sweeps
fast   1,000 chains of a model whose weights have a fast part with a rate of its own that decays by 1/20 per update
       (Tieleman and Hinton, Using Fast Weights to Improve Persistent Contrastive Divergence, 2009)
pt     100 ladders of ten temperatures; at the lowest, columns are independent
path   100 ladders of ten models: the first with independent columns, the last the model as it is, the others earlier models of the
       run (after Béreux and others, Fast Training and Sampling of Restricted Boltzmann Machines, 2025)
"""

import argparse
import pathlib
from math import cos, pi

import numpy as np

HIDDEN, BATCH, RATE, DECAY = 16, 100, 0.005, 4.0
SETS = ["mushrooms", "pumsb_star", "accidents"]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Model:
    """W, a, b as one vector."""

    def __init__(self, theta, visible):
        self.theta, cut = theta, visible * HIDDEN
        self.W, self.a, self.b = theta[:cut].reshape(visible, HIDDEN), theta[cut : cut + visible], theta[cut + visible :]

    def copy(self):
        return Model(self.theta.copy(), len(self.a))

    def log_p(self, v):
        """log p(v) + log Z."""
        return v @ self.a + np.logaddexp(0, v @ self.W + self.b).sum(1)

    def log_z(self):
        states = (np.arange(1 << HIDDEN)[:, None] >> np.arange(HIDDEN)) & 1
        terms = np.concatenate([h @ self.b + np.logaddexp(0, h @ self.W.T + self.a).sum(1) for h in np.array_split(states.astype(np.float32), 16)])
        return terms.max() + np.log(np.exp(terms - terms.max()).sum())

    def sweep(self, v, rng):
        h = rng.random((len(v), HIDDEN), dtype=np.float32) < sigmoid(v @ self.W + self.b)
        p = sigmoid(h.astype(np.float32) @ self.W.T + self.a)
        return (rng.random(p.shape, dtype=np.float32) < p).astype(np.float32)


class Chains:
    """`count` chains and `sweeps` sweeps per update; with `fast`, of weights with a fast part."""

    def __init__(self, count, sweeps, fast=False):
        self.count, self.sweeps, self.fast = count, sweeps, fast

    def begin(self, model, rows, rng):
        self.v = rows[rng.integers(len(rows), size=self.count)]
        self.part = np.zeros_like(model.theta)

    def draw(self, model, rng):
        model = Model(model.theta + self.part, len(model.a)) if self.fast else model
        for _ in range(self.sweeps):
            self.v = model.sweep(self.v, rng)
        return self.v

    def follow(self, gradient, model, rate):
        self.part = 0.95 * self.part + rate * gradient


class Ladder:
    """100 ladders of ten models, which exchange neighbouring states."""

    def begin(self, model, rows, rng):
        self.v = [rows[rng.integers(len(rows), size=100)] for _ in range(10)]
        self.base = np.zeros_like(model.theta)
        Model(self.base, len(model.a)).a[:] = model.a
        self.update = 0

    def draw(self, model, rng):
        models, self.update = self.models(model), self.update + 1
        self.v = [m.sweep(v, rng) for m, v in zip(models, self.v)]
        for k in range(self.update % 2, 9, 2):
            low, high, (x, y) = models[k], models[k + 1], self.v[k : k + 2]
            gain = low.log_p(y) + high.log_p(x) - low.log_p(x) - high.log_p(y)
            swap = (np.log(rng.random(100)) < gain)[:, None]
            self.v[k], self.v[k + 1] = np.where(swap, y, x), np.where(swap, x, y)
        return self.v[-1]


class Temperatures(Ladder):
    def models(self, model):
        return [Model((1 - t) * self.base + t * model.theta, len(model.a)) for t in np.linspace(0, 1, 10, dtype=np.float32)]

    def follow(self, gradient, model, rate):
        pass


class Path(Ladder):
    """Ten models of the run: snapshots are taken often, and every update those are used that lie at equal distances of log p."""

    EVERY = 25

    def begin(self, model, rows, rng):
        super().begin(model, rows, rng)
        self.saved = [Model(self.base, len(model.a))]
        self.probe, self.steps = rows[:200], [0.0]
        self.chosen = [0] * 9

    def models(self, model):
        return [self.saved[k] for k in self.chosen] + [model]

    def follow(self, gradient, model, rate):
        if self.update % self.EVERY == 0:
            before = self.saved[-1]
            change = model.log_p(self.probe) - before.log_p(self.probe)
            self.saved.append(model.copy())
            self.steps.append(self.steps[-1] + float(change.std()))
            aims = np.linspace(0, self.steps[-1], 10)[:9]
            self.chosen = list(np.searchsorted(self.steps, aims))


METHODS = {
    "pcd": lambda: Chains(1000, 1),
    "pcd10": lambda: Chains(100, 10),
    "fast": lambda: Chains(1000, 1, fast=True),
    "pt": Temperatures,
    "path": Path,
}


def train(rows, method, updates, seed):
    """Adam with a cosine; the result is the mean of the parameters over the last tenth."""
    rng, visible = np.random.default_rng(seed), rows.shape[1]
    model = Model(np.zeros(visible * HIDDEN + visible + HIDDEN, np.float32), visible)
    model.W[:] = rng.normal(0, 0.01, model.W.shape)
    mean = rows.mean(0).clip(0.5 / len(rows), 1 - 0.5 / len(rows))
    model.a[:] = np.log(mean / (1 - mean))
    first, second, average = np.zeros_like(model.theta), np.zeros_like(model.theta), np.zeros(len(model.theta))
    method.begin(model, rows, rng)
    for update in range(updates):
        x, v = rows[rng.integers(len(rows), size=BATCH)], method.draw(model, rng)
        hx, hv = sigmoid(x @ model.W + model.b), sigmoid(v @ model.W + model.b)
        parts = x.T @ hx / len(x) - v.T @ hv / len(v), x.mean(0) - v.mean(0), hx.mean(0) - hv.mean(0)
        gradient = np.concatenate([p.ravel() for p in parts])
        gradient[: model.W.size] -= DECAY / len(rows) * HIDDEN / 256 * model.W.ravel()
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient**2 - second)
        rate = RATE * (1 + cos(pi * update / updates)) / 2
        model.theta += rate * first / (1 - 0.9 ** (update + 1)) / (np.sqrt(second / (1 - 0.999 ** (update + 1))) + 1e-8)
        method.follow(gradient, model, rate)
        if update >= 0.9 * updates:
            average += model.theta / (updates - int(0.9 * updates))
    return Model(average, visible)


def read(data, name, part):
    return np.loadtxt(next(data.rglob(f"{name}.{part}.data.gz")), delimiter=",", dtype=np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--updates", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    for name in SETS:
        rows, test = (read(args.data, name, part) for part in ("train", "test"))
        for method, make in METHODS.items():
            models = [train(rows, make(), args.updates, seed) for seed in range(args.seeds)]
            found = [m.log_p(test).mean() - m.log_z() for m in models]
            print(f"{name:12} {method:6}", *(f"{value:.2f}" for value in found), flush=True)


if __name__ == "__main__":
    main()
