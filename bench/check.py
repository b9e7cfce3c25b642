"""Do all competitors compute the same thing? They begin alike, train for one epoch, and their changes are compared.

Sampling differs, so the changes ΔW, Δa, Δb do too. Each competitor trains SEEDS times from the same parameters on the same
rows; the distance of two competitors is ‖mean Δ − mean Δ′‖/‖mean Δ′‖. Two groups of seeds of torch have a distance that is
pure noise, and nobody may be further from torch than FACTOR times that. Planted errors must be.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from cases import OURS, Case, competitors, environment
from race import Competitor

SEEDS = 8
FACTOR = 1.5
TENSORS = ("weights", "visible.bias", "hidden.bias")
REFERENCE = "torch uniform"
CASES = [
    Case("patterns", 500, "cd", 1, 128, 5120, 2),
    Case("patterns", 500, "pcd", 1, 128, 5120, 2),
    Case("patterns", 500, "pcd", 10, 128, 5120, 2),
    Case("normal-patterns", 500, "cd", 1, 128, 5120, 2),
]


def mean_change(name, command, env, folder):
    """Tensor → its mean change in one epoch."""
    first = load_file(Path(folder) / "model.safetensors")
    last = Path(folder) / "last.safetensors"
    total = {t: np.zeros(first[t].shape) for t in TENSORS}
    with Competitor(name, command, env) as competitor:
        for _ in range(SEEDS):
            competitor.go()
            competitor.say(f"save {last}")
        competitor.go()  # the last `save` is done when this is answered
    return total


def main():
    pass
