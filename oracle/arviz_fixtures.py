"""Frozen draws with ArviZ's numbers for them: crates/harmonium/tests/frozen/diagnostics.json.

    pip install -r oracle/requirements.txt arviz
    python oracle/arviz_fixtures.py

Draws have six digits, so that the file is small and what is read is what ArviZ saw.
"""

import json
import math
from pathlib import Path

import arviz
import numpy as np
from scipy.stats import norm

FILE = Path(__file__).parent.parent / "crates/harmonium/tests/frozen/diagnostics.json"


def autoregressive(rng, chains, draws, phi):
    """x_t = φ x_{t−1} + noise, begun in equilibrium."""
    x = np.empty((chains, draws))
    x[:, 0] = rng.normal(size=chains) / math.sqrt(1 - phi * phi)
    for t in range(1, draws):
        x[:, t] = phi * x[:, t - 1] + rng.normal(size=chains)
    return x


def cases():
    rng = np.random.default_rng(2021)
    slow = autoregressive(rng, 4, 100, 0.9)
    one_stuck = np.where(np.arange(4)[:, None] == 2, 1.5, rng.normal(size=(4, 60)))
    missing = rng.normal(size=(2, 8))
    missing[1, 3] = np.nan
    return {
        "independent": rng.normal(size=(4, 100)),
        "odd": rng.normal(size=(2, 37)),
        "long": autoregressive(rng, 8, 250, 0.5),
        "slow": slow,
        "swinging": autoregressive(rng, 4, 101, -0.7),
        "shifted": slow + np.array([0, 0, 0, 3])[:, None],
        "spread": rng.normal(size=(4, 80)) * np.array([1, 1, 1, 4])[:, None],
        "drifting": rng.normal(size=(4, 90)) + np.linspace(0, 3, 90),
        "heavy": rng.standard_cauchy(size=(4, 120)),
        "constant": np.full((4, 50), 0.3),
        "apart": np.repeat(np.array([[0.0], [1.0]]), 20, axis=1),
        "one stuck": one_stuck,
        "binary": (autoregressive(rng, 4, 150, 0.8) > 0).astype(float),
        "rare": (rng.random(size=(4, 100)) < 0.03).astype(float),
        "ties": np.round(autoregressive(rng, 3, 77, 0.6)),
        "one chain": autoregressive(rng, 1, 64, 0.4),
        "four draws": rng.normal(size=(3, 4)),
        "five draws": rng.normal(size=(3, 5)),
        "nine draws": rng.normal(size=(2, 9)),
        "ten draws": autoregressive(rng, 2, 10, 0.9),
        "three draws": rng.normal(size=(4, 3)),
        "not a number": missing,
    }


def plain(x):
    """A number, or what JSON has no number for."""
    return None if math.isnan(x) else "inf" if math.isinf(x) else float(x)


def answers(x):
    return {
        "r_hat": plain(arviz.rhat(x, method="rank")),
        "ess_bulk": plain(arviz.ess(x, method="bulk")),
        "ess_tail": plain(arviz.ess(x, method="tail")),
        "ess_mean": plain(arviz.ess(x, method="mean")),
        "mcse_mean": plain(arviz.mcse(x, method="mean")),
    }


def main():
    out = []
    for name, x in cases().items():
        x = np.round(x, 6)
        rows = [[plain(v) for v in row] for row in x]
        out.append({"name": name, "draws": rows, **answers(x)})
    p = [10.0**-k for k in range(1, 16)] + [0.075, 0.0749, 0.3, 0.5, 0.7, 0.925, 0.99, 0.999999]
    quantiles = [[p, float(norm.ppf(p))] for p in p]
    FILE.write_text(json.dumps({"arviz": arviz.__version__, "quantiles": quantiles, "cases": out}) + "\n")


if __name__ == "__main__":
    main()
