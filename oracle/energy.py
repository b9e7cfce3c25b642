"""E(v,h) = U_v(v) + U_h(h) − φ_v(v)ᵀ W φ_h(h), for every kind of layer.

The only formulas of the oracle. A machine is a dict {"visible": layer, "hidden": layer, "weights": W};
a layer is a dict with "kind", "bias", and where they apply "offset", "log_variance", "coupling", "states".
All parameters may be complex: exact.py differentiates this very function by complex steps.
The three Gaussian couplings are those of Schlüter, Restricted Boltzmann Machine Derivations, 2014.
"""

import numpy as np


def columns(layer, x):
    """Values per site to values per column: a Potts code becomes a one-hot row, all else stays."""
    x = np.asarray(x)
    if layer["kind"] != "potts":
        return x.astype(float)
    one_hot = x[..., None].astype(int) == np.arange(layer["states"])
    return one_hot.reshape(*x.shape[:-1], -1).astype(float)


def sites(layer):
    return len(layer["bias"]) // layer.get("states", 1)


def offset(layer):
    return layer.get("offset", np.zeros(len(layer["bias"])))


def own_energy(layer, x):
    """U(x) = −biasᵀ(x − offset); Gaussian: Σ (x − bias − offset)² / 2σ²."""
    if layer["kind"] == "gaussian":
        residual = x - layer["bias"] - offset(layer)
        return (residual * residual / (2 * np.exp(layer["log_variance"]))).sum(axis=-1)
    return -((x - offset(layer)) * layer["bias"]).sum(axis=-1)


def coupled(layer, x):
    """φ(x) = x − offset; Gaussian: krizhevsky (x−α)/σ, cho (x−α)/σ², goodfellow (x−a−α)/σ²."""
    if layer["kind"] != "gaussian":
        return x - offset(layer)
    if layer["coupling"] == "krizhevsky":
        return (x - offset(layer)) / np.exp(layer["log_variance"] / 2)
    if layer["coupling"] == "cho":
        return (x - offset(layer)) / np.exp(layer["log_variance"])
    if layer["coupling"] == "goodfellow":
        return (x - layer["bias"] - offset(layer)) / np.exp(layer["log_variance"])
    raise ValueError(layer["coupling"])


def energy(machine, v, h):
    """E for every pair of a row of v and a row of h (values per site): an array rows(v) × rows(h)."""
    visible, hidden = machine["visible"], machine["hidden"]
    v, h = columns(visible, v), columns(hidden, h)
    interaction = coupled(visible, v) @ machine["weights"] @ coupled(hidden, h).T
    return own_energy(visible, v)[:, None] + own_energy(hidden, h)[None, :] - interaction
