"""What do exact sums and chains cost, for which error? The constants of `conditional/cheaper.rs` follow from these times.

    python speed.py HARMONIUM

Random binary and real-valued tables of 100 rows, of which half of the cells are missing; a model is trained for a moment, and all rows
are filled by the exact sum and by chains. Times are seconds of one processor per row, less those of a run that does next to nothing.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROWS = 100
MOST = 2e7  # terms of a row, the limit of the library


def run(*words):
    """JSON, and seconds of all threads."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    out = subprocess.run([*map(str, words), "--threads", "1", "--json"], check=True, capture_output=True, text=True)
    return json.loads(out.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    command, rng = sys.argv[1], np.random.default_rng(0)
    print("visible, columns, hidden, terms, exact seconds, chains seconds, ns per term, ns per weight visited, error of chains")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for kind, n in [("bernoulli", 24), ("bernoulli", 64), ("bernoulli", 256), ("gaussian", 16), ("gaussian", 64)]:
            z = rng.random((ROWS, 3)) < 0.5
            x = (z @ rng.normal(size=(3, n)) + rng.normal(size=(ROWS, n))).astype(float)
            x = (x > 0).astype(float) if kind == "bernoulli" else x
            holes = np.where(rng.random(x.shape) < 0.5, np.nan, x)
            np.save(folder / "x.npy", x)
            np.save(folder / "holes.npy", holes)
            for m in [6, 10, 13, 16, 18]:
                unknown = np.isnan(holes).sum(axis=1)
                each = 4.0 if kind == "gaussian" else np.maximum(unknown, 1)
                by_hidden = 2.0**m * each
                terms = np.minimum(by_hidden, 2.0**unknown * m) if kind == "bernoulli" else by_hidden * np.ones(ROWS)
                if terms.max() > MOST:
                    continue
                model = folder / f"{kind}-{n}-{m}"
                run(command, "train", folder / "x.npy", "--visible", kind, "--n-hidden", m, "--hidden", "bernoulli",
                    "--updates", 300, "--method", "pcd", "--likelihood", "none", "-o", model)
                fill = [command, "impute", model / "model.safetensors", folder / "holes.npy", "-o", folder / "y.npy"]
                _, idle = run(*fill, "--method", "chains", "--chains", 2, "--burn-in", 0, "--steps", 1)
                _, exact = run(*fill, "--method", "exact")
                how, chains = run(*fill, "--method", "chains")
                exact, chains = [max(t - idle, 0.0) / ROWS for t in (exact, chains)]
                visited = 20 * 300 * 2 * n * m
                print(f"{kind}, {n}, {m}, {terms.mean():.1e}, {exact:.1e}, {chains:.1e}, {1e9 * exact / terms.mean():.2f},"
                      f" {1e9 * chains / visited:.3f}, {how['monte_carlo_error']:.4f}", flush=True)


main()
