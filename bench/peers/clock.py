"""Training against the clock: a model file at each of the given training times. The clock stops while a file is written.

Import this before numpy and torch: it pins the number of threads.
"""

import argparse
import json
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True, help=".npy, one row of bits per example")
parser.add_argument("--hidden", type=int, required=True)
parser.add_argument("--times", type=lambda text: [float(t) for t in text.split(",")], required=True, help="seconds; the last ends the run")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--setting", type=json.loads, required=True, help="what the peer takes from its grid")
parser.add_argument("--output", required=True, help="folder of the models, SECONDS.safetensors")
args = parser.parse_args()

for library in ("OMP", "MKL", "OPENBLAS"):
    os.environ[f"{library}_NUM_THREADS"] = str(args.threads)

import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

META = {"format": "harmonium", "version": "1", "visible.kind": "bernoulli", "hidden.kind": "bernoulli"}
NAMES = ("weights", "visible.bias", "hidden.bias")


def rows():
    return np.load(args.data).astype(np.float32)


class Clock:
    """Starts when made; `parameters()` gives W (visible × hidden), a and b."""

    def __init__(self, parameters):
        self.parameters, self.times, self.begin = parameters, list(args.times), time.perf_counter()

    def seconds(self):
        return time.perf_counter() - self.begin

    def running(self):
        """To be asked after every update; saves the model when it is time to."""
        seconds = self.seconds()
        if seconds < self.times[0]:
            return True
        self.save(seconds)
        self.times = [t for t in self.times if t > seconds]
        self.begin = time.perf_counter() - seconds
        return bool(self.times)

    def save(self, seconds):
        arrays = [np.ascontiguousarray(x, dtype=np.float32) for x in self.parameters()]
        if not all(np.isfinite(x).all() for x in arrays):
            sys.exit(f"{sys.argv[0]}: diverged after {seconds:.1f} s")
        save_file(dict(zip(NAMES, arrays)), f"{args.output}/{seconds:.2f}.safetensors", META)
