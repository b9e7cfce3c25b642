"""Do all competitors find the same log Z? Annealed importance sampling and parallel tempering of one machine, and of a small
one whose log Z is known: the sum over all states of its 16 hidden units, in f64, which shares no code with any competitor.

Annealing gives an estimate per chain; log of their mean may differ from torch's, and from the truth, by ERRORS
combined standard errors. Tempering gives two estimates of log Z_{k+1}/Z_k for every pair of neighbouring temperatures, from
the chains at the lower and at the upper one in the second of two epochs, and the part of swaps made. SEEDS runs say how noisy
they are, and the distance from torch is compared with that noise as in `check.py`; so is that from the truth, for the small machine. The
planted errors must be found.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from cases import Case, competitors, environment
from check import FACTOR, REFERENCE, SEEDS, TENSORS, distances
from race import Competitor

ERRORS = 4
MOST_STATES = 1 << 16
PLANTED = {
    "ais": {"the last step left out": "step", "visible units at β = 1": "sweep"},
    "tempering": {"swaps the wrong way": "swap", "visible units at β = 1": "sweep"},
}
COLUMNS = ("from below", "from above", "swaps")


def log_z(folder, betas):
    """log Z at inverse temperatures: log Σ_h exp(β bᵀh) Π_i (1 + exp(a_i + β (Wh)_i)); none if there are too many h."""
    tensors = load_file(Path(folder) / "model.safetensors")
    W, a, b = (tensors[name].astype(np.float64) for name in TENSORS)
    if 1 << len(b) > MOST_STATES:
        return None
    terms = []
    for states in np.array_split(np.arange(1 << len(b)), 32):
        h = (states[:, None] >> np.arange(len(b)) & 1).astype(np.float64)
        inputs = h @ W.T
        terms.append([beta * (h @ b) + np.log1p(np.exp(a + beta * inputs)).sum(1) for beta in betas])
    return np.logaddexp.reduce(np.concatenate(terms, axis=1), axis=1)


def found(name, command, env, folder, seeds, epochs):
    """What a competitor says after so many epochs, one array per seed."""
    paths = [Path(folder) / f"found-{seed}.txt" for seed in range(seeds)]
    with Competitor(name, command, env) as competitor:
        for path in paths:
            competitor.go(epochs)
            competitor.say(f"save {path}")
    return np.array([np.loadtxt(path) for path in paths])


def entrants(commands, method):
    """Everyone and the planted errors, each with seeds of its own: name, command, whether it is honest."""
    planted = {f"planted: {n}": [*commands[REFERENCE], "--wrong", w] for n, w in PLANTED[method].items()}
    for i, (name, command) in enumerate((commands | planted).items()):
        yield name, [*command, "--seed", str(100 * (i + 1))], name not in planted


def verdict(say, title, far, honest, numbers):
    """Says a line; returns whether it is not as it should be."""
    good = far != honest
    say(f"{title}: {'too far' if far else 'passed'} ({numbers}){'' if good else '  <-- WRONG'}")
    return not good


def log_mean(weights):
    """log ⟨eʷ⟩ and its standard error."""
    parts = np.exp(weights - weights.max())
    return np.log(parts.mean()) + weights.max(), parts.std(ddof=1) / parts.mean() / np.sqrt(len(parts))


def check_annealing(case, binaries, isa, say):
    """Says a line per competitor; returns how many failed."""
    failures, env = 0, environment(case, isa)
    with tempfile.TemporaryDirectory() as folder:
        commands, truth = competitors(case, binaries, folder), log_z(folder, [1.0])
        epochs = 2 if truth is None else 8  # small machines are quick, and planted errors are small there
        reference = log_mean(found(REFERENCE, commands[REFERENCE], env, folder, 1, epochs)[0])
        for name, command, honest in entrants(commands, case.method):
            value, error = log_mean(found(name, command, env, folder, 1, epochs)[0])
            away = {"torch": (value - reference[0]) / np.hypot(error, reference[1])}
            if truth is not None:
                away["the truth"] = (value - truth[0]) / error
            numbers = ", ".join(f"{x:+.1f} errors from {whom}" for whom, x in away.items())
            far = max(map(abs, away.values())) > ERRORS
            failures += verdict(say, f"{case.name}: {name}", far, honest, f"log Z {value:.3f} ± {error:.3f}, {numbers}")
    return failures


def check_tempering(case, binaries, isa, say):
    """Says a line per competitor; returns how many failed."""
    failures, env = 0, environment(case, isa)
    with tempfile.TemporaryDirectory() as folder:
        commands, truth = competitors(case, binaries, folder), log_z(folder, np.linspace(case.low, 1, case.steps))
        columns = lambda all: {name: all[:, :, k] for k, name in enumerate(COLUMNS)}  # noqa: E731
        reference = columns(found(REFERENCE, commands[REFERENCE], env, folder, SEEDS, 2))
        for name, command, honest in entrants(commands, case.method):
            own = columns(found(name, command, env, folder, SEEDS, 2))
            shares = dict(zip(COLUMNS, distances(own, reference)))
            if truth is not None:
                shares |= {f"{c} to the truth": from_truth(own[c], np.diff(truth)) for c in COLUMNS[:2]}
            numbers = ", ".join(f"{c} {s:.2f}" for c, s in shares.items())
            failures += verdict(say, f"{case.name}: {name}", max(shares.values()) > 1, honest, numbers)
    return failures


def from_truth(own, truth):
    """As `distances`, with noise on one side only."""
    spread = np.sqrt(np.square(own - own.mean(0)).sum() / (SEEDS - 1))
    return np.linalg.norm(own.mean(0) - truth) / (FACTOR * spread * np.sqrt(1 / SEEDS))


AIS = Case("machine", 500, "ais", 1000, 100, 100_000, 1)
TEMPERING = Case("machine", 500, "tempering", 10, 100, 20_000, 1)
CHECKS = [
    (replace(AIS, n_hidden=16), check_annealing),
    (AIS, check_annealing),
    (replace(TEMPERING, n_hidden=16, rows=100_000), check_tempering),
    (TEMPERING, check_tempering),
]
