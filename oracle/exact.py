"""p(v,h) = exp(−E(v,h)) / Z, with every sum taken over all states and every integral on a grid.

Finite units are enumerated. Gaussian units are integrated by the trapezoid rule on one wide uniform grid, whose
error for Gaussians falls like exp(−2π²σ²/step²), far below rounding here. No conditional, free energy or
gradient is written in closed form.
"""

import copy
import itertools

import numpy as np

from energy import columns, energy, sites

HALF_WIDTH, STEP = 24.0, 0.3
VALUES = {"bernoulli": [0, 1], "spin": [-1, 1]}
TENSORS = ["weights", "visible.bias", "visible.log_variance", "hidden.bias", "hidden.log_variance"]


def states(layer, step=STEP):
    """All states of a layer, one row each with a value per site, and the log of the volume each stands for."""
    if layer["kind"] == "gaussian":
        axis = step * np.arange(-round(HALF_WIDTH / step), round(HALF_WIDTH / step) + 1)
        log_volume = sites(layer) * np.log(step)
    else:
        axis = np.array(VALUES.get(layer["kind"]) or range(layer["states"]))
        log_volume = 0.0
    mesh = np.meshgrid(*[axis] * sites(layer), indexing="ij")
    return np.stack([m.ravel() for m in mesh], axis=1), log_volume


def log_sum_exp(x, axis=None):
    top = x.max(axis=axis, keepdims=True)
    total = np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top
    return total.item() if axis is None else total.squeeze(axis)


def log_z(machine, step=STEP):
    (v, dv), (h, dh) = states(machine["visible"], step), states(machine["hidden"], step)
    return log_sum_exp(-energy(machine, v, h)) + dv + dh


def free_energy(machine, v):
    """F(v) = −log Σ_h exp(−E(v,h))."""
    h, dh = states(machine["hidden"])
    return -(log_sum_exp(-energy(machine, v, h), axis=1) + dh)


def log_p_star(machine, h):
    """log Σ_v exp(−E(v,h))."""
    v, dv = states(machine["visible"])
    return log_sum_exp(-energy(machine, v, h), axis=0) + dv


def log_likelihood(machine, v):
    return -free_energy(machine, v) - log_z(machine)


def probabilities(machine, v, h, axis=None):
    """exp(−E) normalised over all pairs, over h for each v (axis 1), or over v for each h (axis 0)."""
    e = energy(machine, v, h)
    weight = np.exp(e.min(axis=axis, keepdims=True) - e)
    return weight / weight.sum(axis=axis, keepdims=True)


def hidden_means(machine, v):
    h, _ = states(machine["hidden"])
    return probabilities(machine, v, h, axis=1) @ columns(machine["hidden"], h)


def visible_means(machine, h):
    v, _ = states(machine["visible"])
    return probabilities(machine, v, h, axis=0).T @ columns(machine["visible"], v)


def expectations(machine):
    """⟨v⟩, ⟨h⟩, ⟨v hᵀ⟩ per column under the model, and the second moments of Gaussian layers."""
    (v, _), (h, _) = states(machine["visible"]), states(machine["hidden"])
    p = probabilities(machine, v, h)
    v, h = columns(machine["visible"], v), columns(machine["hidden"], h)
    square = lambda side, x, q: q @ (x * x) if machine[side]["kind"] == "gaussian" else None
    pv, ph = p.sum(axis=1), p.sum(axis=0)
    return {"visible": pv @ v, "hidden": ph @ h, "cross": v.T @ (p @ h),
            "visible_square": square("visible", v, pv), "hidden_square": square("hidden", h, ph)}


def tensor(machine, name):
    """The array called name, or None where the machine has no such parameter."""
    if name == "weights":
        return machine["weights"]
    side, key = name.split(".")
    return machine[side].get(key)


def nudged(machine, name, index, step):
    """The machine with one number of one tensor moved by step, which may be imaginary."""
    other = copy.deepcopy(machine)
    array = tensor(machine, name).astype(type(step))
    array[index] += step
    if name == "weights":
        other["weights"] = array
    else:
        side, key = name.split(".")
        other[side][key] = array
    return other


def each_parameter(machine, f):
    """{tensor name: array of f(name, index)} over all parameters."""
    result = {}
    for name in TENSORS:
        array = tensor(machine, name)
        if array is not None:
            result[name] = np.array([f(name, i) for i in np.ndindex(array.shape)]).reshape(array.shape)
    return result


def gradient(machine, data, row_weights):
    """∂/∂θ mean log p(v) = ⟨−∂E/∂θ⟩_{p(h|v), data} − ⟨−∂E/∂θ⟩_{p(v,h)}, ∂E/∂θ by a complex step."""
    (v, _), (h, _) = states(machine["visible"]), states(machine["hidden"])
    share = row_weights / row_weights.sum()
    p_data = share[:, None] * probabilities(machine, data, h, axis=1)
    p_model = probabilities(machine, v, h)

    def slope(name, index):
        other = nudged(machine, name, index, 1e-30j)
        mean = lambda p, x: (p * (energy(other, x, h).imag / 1e-30)).sum()
        return mean(p_model, v) - mean(p_data, data)

    return each_parameter(machine, slope)


def difference_quotients(machine, data, row_weights, step=0.01):
    """The same gradient from values of log p alone: central differences, extrapolated twice (Richardson)."""
    share = row_weights / row_weights.sum()
    value = lambda name, i, s: share @ log_likelihood(nudged(machine, name, i, s), data)

    def slope(name, index):
        d = [(value(name, index, s) - value(name, index, -s)) / (2 * s) for s in (step, step / 2, step / 4)]
        first = [(4 * fine - coarse) / 3 for coarse, fine in itertools.pairwise(d)]
        return (16 * first[1] - first[0]) / 15

    return each_parameter(machine, slope)


def kullback_leibler(machine, data, row_weights):
    """KL(q‖p) = Σ q log(q/p), q the weighted empirical distribution; None for a density."""
    if machine["visible"]["kind"] == "gaussian":
        return None
    rows, which = np.unique(data, axis=0, return_inverse=True)
    q = np.bincount(which.ravel(), weights=row_weights) / row_weights.sum()
    return q @ (np.log(q) - log_likelihood(machine, rows))


def assert_grid_suffices(machine):
    """Nothing at the grid's edge, and a step twice as coarse (whose error is the fourth root) already agrees."""
    if "gaussian" not in (machine["visible"]["kind"], machine["hidden"]["kind"]):
        return
    (v, _), (h, _) = states(machine["visible"]), states(machine["hidden"])
    e = energy(machine, v, h)
    for layer, x, lowest in (("visible", v, e.min(axis=1)), ("hidden", h, e.min(axis=0))):
        if machine[layer]["kind"] == "gaussian":
            edge = (abs(x) > HALF_WIDTH - STEP / 2).any(axis=1)
            assert lowest[edge].min() - e.min() > 45, "grid too narrow"
    assert abs(log_z(machine, 2 * STEP) - log_z(machine)) < 1e-4, "grid too coarse"
