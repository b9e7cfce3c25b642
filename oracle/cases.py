"""The machines of the fixtures: pairs of layers, with parameters drawn from a generator keyed by the name."""

import zlib

import numpy as np

from energy import energy, sites
from exact import states

PAIRS = """
bernoulli bernoulli | gaussian-cho bernoulli | gaussian-krizhevsky bernoulli | gaussian-goodfellow bernoulli
spin spin | spin bernoulli | bernoulli spin | potts3 bernoulli | bernoulli potts3 | potts3 potts2
gaussian-cho spin | gaussian-krizhevsky spin | gaussian-goodfellow spin | gaussian-cho potts3
bernoulli gaussian-cho | bernoulli gaussian-krizhevsky | potts3 gaussian-cho
gaussian-cho gaussian-cho | gaussian-krizhevsky gaussian-krizhevsky | gaussian-goodfellow gaussian-cho
gaussian-goodfellow gaussian-krizhevsky
"""
SITES = {"visible": {"bernoulli": 4, "spin": 4, "potts3": 3, "gaussian": 2},
         "hidden": {"bernoulli": 3, "spin": 3, "potts3": 2, "potts2": 3, "gaussian": 2}}


def all_cases():
    """(name, visible, hidden, centred) of every fixture."""
    pairs = [pair.split() for line in PAIRS.strip().splitlines() for pair in line.split("|")]
    for visible, hidden in pairs:
        for version in ("plain", "centred"):
            yield f"{visible}-{hidden}-{version}", visible, hidden, version == "centred"


def generator(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def draw_offset(rng, layer):
    return rng.uniform(-0.8, 0.8, len(layer["bias"])).round(4)


def draw_layer(rng, what, count, centred):
    kind, _, coupling = what.partition("-")
    layer = {"kind": "potts" if kind.startswith("potts") else kind}
    if coupling:
        layer["coupling"] = coupling
    if layer["kind"] == "potts":
        layer["states"] = int(kind.removeprefix("potts"))
    n = count * layer.get("states", 1)
    layer["bias"] = rng.normal(0, 0.7, n).round(4)
    if coupling:
        layer["log_variance"] = rng.uniform(-0.7, 0.7, n).round(4)
    if centred:
        layer["offset"] = draw_offset(rng, layer)
    return layer


def draw_machine(rng, visible, hidden, centred):
    both_gaussian = visible.startswith("gaussian") and hidden.startswith("gaussian")
    n = SITES["visible"][visible.partition("-")[0]]
    m = 1 if both_gaussian else SITES["hidden"][hidden.partition("-")[0]]  # a 3-D grid at most
    while True:
        machine = {"visible": draw_layer(rng, visible, n, centred), "hidden": draw_layer(rng, hidden, m, centred)}
        shape = (len(machine["visible"]["bias"]), len(machine["hidden"]["bias"]))
        machine["weights"] = rng.normal(0, 0.7, shape).round(4)
        if not both_gaussian or smallest_curvature(machine) > 0.2:
            return machine


def smallest_curvature(machine):
    """Least eigenvalue of the energy's Hessian: second differences, exact since the energy is quadratic here."""
    n = sites(machine["visible"])
    x = np.eye(n + sites(machine["hidden"]))
    e = lambda point: energy(machine, point[None, :n], point[None, n:]).item()
    hessian = [[e(p + q) - e(p) - e(q) + e(0 * p) for q in x] for p in x]
    return np.linalg.eigvalsh(hessian)[0]


def draw_states(rng, layer, rows):
    if layer["kind"] == "gaussian":
        return rng.normal(0, 1.3, (rows, sites(layer))).round(4)
    every = states(layer)[0]
    return every[rng.integers(len(every), size=rows)]


def draw_data(rng, layer):
    """Five rows, the last equal to the second so that merging equal rows is seen, and unequal row weights."""
    data = draw_states(rng, layer, 5)
    data[4] = data[1]
    return data, rng.uniform(0.5, 3.0, 5).round(4)
