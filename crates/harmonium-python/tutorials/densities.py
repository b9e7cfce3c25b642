"""Densities in the plane: Gaussian visible units learn mixtures, rings and moons (after Corro's laboratory exercise).

Needs matplotlib. Writes densities.png.
"""

import matplotlib.pyplot as plt
import numpy as np

from harmonium import RBM, plot_density_2d

rng = np.random.default_rng(0)


def mixture(n):
    """Four blobs."""
    centres = np.array([[2, 2], [2, -2], [-2, 2], [-2, -2]])
    return centres[rng.integers(4, size=n)] + 0.4 * rng.normal(size=(n, 2))


def ring(n):
    """Points on a circle, with noise."""
    angle = rng.uniform(0, 2 * np.pi, n)
    return 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.15 * rng.normal(size=(n, 2))


def moons(n):
    """Two half circles."""
    angle, upper = rng.uniform(0, np.pi, n), rng.integers(2, size=n)
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    return 2 * np.stack([x, y], axis=1) + 0.15 * rng.normal(size=(n, 2))


figure, axes = plt.subplots(1, 3, figsize=(12, 4))
for ax, make in zip(axes, [mixture, ring, moons], strict=True):
    train, test = make(2000), make(1000)
    # 16 hidden units: the density is a mixture of 2¹⁶ Gaussians, and log Z their exact sum. Plain chains seldom cross from
    # blob to blob, and the blobs would get unequal weights; tempered chains ("pt") do.
    rbm = RBM(n_hidden=16, visible="gaussian", method="pt", n_chains=20, epochs=500, random_state=0).fit(train)
    # A single Gaussian fitted to the same rows; its log density is a formula.
    mean, covariance = train.mean(axis=0), np.cov(train.T)
    off = test - mean
    single = -0.5 * (
        np.einsum("ri,ij,rj->r", off, np.linalg.inv(covariance), off) + np.linalg.slogdet(2 * np.pi * covariance)[1]
    )
    name = make.__name__
    print(f"{name}: {rbm.score(test):.3f} nats per point held out, a single Gaussian {single.mean():.3f}")
    assert rbm.score(test) > single.mean() + 0.1
    plot_density_2d(rbm, train, ax=ax).set_title(name)
    # The density integrates to one: what the picture shows is all there is.
    side = np.linspace(-8, 8, 321)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    total = np.exp(rbm.score_samples(grid)).sum() * (side[1] - side[0]) ** 2
    assert abs(total - 1) < 0.01, total
figure.savefig("densities.png")
