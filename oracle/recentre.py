"""Find biases with E′(v,h) − E(v,h) = constant when the offsets become others: a linear solve on energies.

Up to a constant the energy is affine in the biases, so differences of energies between states give linear
equations for them. Where they leave a choice (one constant per Potts site) the smallest change is taken.
"""

import copy

import numpy as np

from energy import energy, sites
from exact import states


def spread(layer, rng, count=12):
    """Enough different states to see every bias."""
    if layer["kind"] == "gaussian":
        return rng.normal(size=(count, sites(layer)))
    return states(layer)[0]


def recentred(machine, visible_offset, hidden_offset, rng):
    v, h = spread(machine["visible"], rng), spread(machine["hidden"], rng)
    n, old = len(visible_offset), np.concatenate([machine["visible"]["bias"], machine["hidden"]["bias"]])

    def moved(change):
        other = copy.deepcopy(machine)
        other["visible"].update(offset=visible_offset, bias=(old + change)[:n])
        other["hidden"].update(offset=hidden_offset, bias=(old + change)[n:])
        return other

    def mismatch(change):
        e = (energy(moved(change), v, h) - energy(machine, v, h)).ravel()
        return e - e[0]

    start = mismatch(np.zeros(len(old)))
    matrix = np.stack([mismatch(unit) - start for unit in np.eye(len(old))], axis=1)
    change = np.linalg.lstsq(matrix, -start, rcond=1e-10)[0]
    assert abs(mismatch(change)).max() < 1e-11, "offsets cannot be moved"
    return moved(change)
