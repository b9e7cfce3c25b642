"""Small models and a reference that is not the library: sums over all states, written with NumPy."""

import itertools

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")


class Reference:
    """A Bernoulli model by brute force: E(v, h) = −aᵀv − bᵀh − vᵀWh."""

    def __init__(self, weights, a, b):
        self.weights, self.a, self.b = (np.asarray(x, dtype=float) for x in (weights, a, b))
        self.v = np.array(list(itertools.product([0, 1], repeat=len(self.a))), dtype=float)
        self.h = np.array(list(itertools.product([0, 1], repeat=len(self.b))), dtype=float)
        energy = -(self.v @ self.a)[:, None] - (self.h @ self.b)[None, :] - self.v @ self.weights @ self.h.T
        self.weight = np.exp(-energy)
        self.log_z = np.log(self.weight.sum())
        self.p = self.weight.sum(axis=1) / self.weight.sum()

    def row(self, x):
        return int("".join(str(int(v)) for v in x), 2)

    def log_p(self, X):
        return np.log(self.p[[self.row(x) for x in X]])

    def conditional_mean(self, x):
        """⟨v⟩ given the cells of x that are numbers."""
        known = ~np.isnan(x)
        fits = (self.v[:, known] == x[known]).all(axis=1)
        return (self.p[fits] @ self.v[fits]) / self.p[fits].sum()


@pytest.fixture(scope="session")
def reference():
    rng = np.random.default_rng(1)
    return Reference(rng.normal(0, 0.8, (5, 3)), rng.normal(0, 0.5, 5), rng.normal(0, 0.5, 3))


@pytest.fixture(scope="session")
def small(reference):
    from harmonium import RBM

    return RBM.from_arrays(reference.weights, reference.a, reference.b)


@pytest.fixture(scope="session")
def digits():
    """scikit-learn's 8 × 8 digits, as bits."""
    from sklearn.datasets import load_digits

    return (load_digits().data > 7).astype(np.uint8)
