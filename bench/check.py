"""Do all competitors compute the same thing? They begin alike, train for one epoch, and their changes are compared.

Everyone trains SEEDS times from the same W, a, b on the same rows (in another order each time). A competitor's distance from
torch is ‖mean Δ − mean Δ_torch‖/‖mean Δ_torch‖, for each of W, a, b. If both compute the same thing it is sampling noise,
whose size is known from torch alone: the spread of one seed about the mean, times √(2/SEEDS). FACTOR times that is
allowed: ΔW has so many independent entries that it comes out at the noise itself, but Δb moves mostly along one
direction (all hidden units together), so its distance is like the size of one normal number, which is above 3 once in 370 times.
The planted errors must be found, or the check itself has failed. The learning rate is such that learning begins and is
far from done: what is done in which order must not matter more than the noise.

Annealing and tempering are checked by `check_annealing.py`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from cases import Case, cases, competitors, environment
from race import Competitor

SEEDS = 8
FACTOR = 3
TENSORS = ("weights", "visible.bias", "hidden.bias")
REFERENCE = "torch uniform"
PLANTED = {"no model phase": "model", "rate 10 % too large": "rate"}
CASES = [
    Case("patterns", 500, "cd", 1, 128, 5120, 1),
    Case("patterns", 500, "pcd", 1, 128, 5120, 1),
    Case("patterns", 500, "pcd", 10, 128, 2560, 1),
    Case("digits", 100, "pcd", 1, 10, 3590, 1, n_visible=64),
    Case("normal-patterns", 500, "cd", 1, 128, 5120, 1),
]


def changes(name, command, env, folder):
    """Tensor → its changes in one epoch, one per seed."""
    first = load_file(Path(folder) / "model.safetensors")
    paths = [Path(folder) / f"after-{seed}.safetensors" for seed in range(SEEDS)]
    with Competitor(name, command, env) as competitor:
        for path in paths:
            competitor.go(epochs=1)
            competitor.say(f"save {path}")
    after = [load_file(path) for path in paths]
    return {t: np.array([x[t].astype(np.float64) - first[t] for x in after]) for t in TENSORS}


def distances(found, reference):
    """Per tensor, in units of what is allowed: above 1 is too far."""
    for tensor in reference:
        mean = reference[tensor].mean(0)
        spread = np.sqrt(np.square(reference[tensor] - mean).sum() / (SEEDS - 1))
        allowed = FACTOR * spread * np.sqrt(2 / SEEDS)
        yield np.linalg.norm(found[tensor].mean(0) - mean) / allowed


def check_case(case, binaries, isa, say):
    """Says a line per competitor; returns how many failed."""
    failures, env = 0, environment(case, isa)
    with tempfile.TemporaryDirectory() as folder:
        commands = competitors(case, binaries, folder)
        reference = changes(REFERENCE, commands[REFERENCE], env, folder)
        entrants = {n: c for n, c in commands.items() if n.split()[-1] not in ("centred", "adam", "fit")}
        planted = {f"planted: {n}": [*commands[REFERENCE], "--wrong", w] for n, w in PLANTED.items()}
        for i, (name, command) in enumerate((entrants | planted).items()):
            found = changes(name, [*command, "--seed", str(100 * (i + 1))], env, folder)
            shares = list(distances(found, reference))
            good = (max(shares) > 1) if name in planted else (max(shares) <= 1)
            failures += not good
            verdict = "passed" if max(shares) <= 1 else "too far"
            numbers = ", ".join(f"{t} {s:.2f}" for t, s in zip("Wab", shares))
            say(f"{case.name}: {name}: {verdict} ({numbers}){'' if good else '  <-- WRONG'}")
    return failures


def check(cases, binaries, isa, say):
    """Checks the kinds of training and annealing that `cases` have; returns how many competitors failed."""
    from check_annealing import CHECKS

    kinds = {(c.visible, c.method, c.steps) for c in cases}
    all = [(c, check_case) for c in CASES] + CHECKS
    return sum(f(c, binaries, isa, say) for c, f in all if (c.visible, c.method, c.steps) in kinds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", help="the folder of our examples")
    parser.add_argument("--isa", choices=["best", "avx2"], default="best")
    options = parser.parse_args()
    sys.exit(check(cases(), options.binaries, options.isa, print) > 0)
