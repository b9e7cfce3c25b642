"""The conversation of a competitor with the driver: `ready`, then one epoch (or one run of annealing) and its seconds for
every `go`.

`save FILE` writes what came out and begins anew with the next seed; `quit` ends. Import this before numpy and torch: it
pins the number of threads.
"""

import argparse
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--visible", default="bernoulli", choices=["bernoulli", "gaussian"])
parser.add_argument("--method", default="cd", choices=["cd", "pcd", "ais", "tempering"])
parser.add_argument("--steps", type=int, default=1, help="Gibbs sweeps per update")
parser.add_argument("--batch", type=int, default=128, help="rows per update, and number of chains")
parser.add_argument("--lr", type=float, default=0.05, help="multiplies the gradient of the mean log likelihood")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--data", help=".npy, one row per example, a multiple of the batch")
parser.add_argument("--temperatures", type=int, help="of annealing and tempering, at equal distances")
parser.add_argument("--low", type=float, help="the lowest inverse temperature; the last is 1")
parser.add_argument("--chains", type=int, help="chains at every temperature")
parser.add_argument("--sweeps", type=int, help="sweeps of tempering in a run")
parser.add_argument("--model", required=True, help="the parameters to begin with: a safetensors file")
parser.add_argument("--variant", default="", help="how it is written; see the competitor")
parser.add_argument("--wrong", default="", help="a planted error, for the check of the check")
args = parser.parse_args()

for library in ("OMP", "MKL", "OPENBLAS"):
    os.environ[f"{library}_NUM_THREADS"] = str(args.threads)

import numpy as np  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402

NAMES = ("weights", "visible.bias", "hidden.bias")


def rows(seed):
    """The data in single precision, in an order that the seed decides, as (batches, batch, visible)."""
    data = np.random.default_rng(seed).permutation(np.load(args.data).astype(np.float32))
    return data.reshape(-1, args.batch, data.shape[1])


def first_parameters():
    """W (visible × hidden), a and b; copies, since training changes them."""
    tensors = load_file(args.model)
    return tuple(tensors[name].copy() for name in NAMES)


def inverse_temperatures():
    return np.linspace(args.low, 1, args.temperatures)


def log_mean_exp(x):
    return float(np.logaddexp.reduce(np.asarray(x, np.float64), axis=None) - np.log(np.size(x)))


def save_parameters(machine, path):
    arrays = (np.ascontiguousarray(x, dtype=np.float32) for x in machine.parameters())
    save_file(dict(zip(NAMES, arrays)), path)


def save_numbers(machine, path):
    np.savetxt(path, machine.found())


def serve(make, save=save_parameters):
    """Obeys the driver; `make(seed)` gives something with `epoch()` and what `save` needs: `parameters()` = W, a, b, or
    `found()`, an array of numbers.
    """
    seed = args.seed
    machine = make(seed)
    print("ready", flush=True)
    for line in sys.stdin:
        word, _, path = line.strip().partition(" ")
        if word == "go":
            begin = time.perf_counter()
            machine.epoch()
            print(f"{time.perf_counter() - begin:.6f}", flush=True)
        elif word == "save":
            save(machine, path)
            seed += 1
            machine = make(seed)
        else:
            break
