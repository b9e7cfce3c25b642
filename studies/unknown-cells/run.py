"""How well are hidden cells found, and what is lost by learning from rows with holes?

    python run.py HARMONIUM DIGITS.csv NLTCS_TRAIN.csv NLTCS_TEST.csv

HARMONIUM is the command; the tables may be gzipped, a last column of DIGITS.csv is its label. Needs numpy.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HIDDEN = 0.3  # of the cells of held-out rows
MISSING = 0.2  # of the cells of training rows


def harmonium(*words):
    out = subprocess.run([*map(str, words), "--json"], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def study(command, name, train, test, rng, folder):
    hole = rng.random(train.shape) < MISSING
    np.save(folder / "train.npy", train)
    np.save(folder / "holes.npy", np.where(hole, np.nan, train))
    np.save(folder / "test.npy", test)
    np.save(folder / "mask.npy", (rng.random(test.shape) >= HIDDEN).astype(float))
    print(f"{name}: {len(train)} rows to learn from, {len(test)} held out, {train.shape[1]} columns")
    for label, data, options in [("complete", "train.npy", []), ("20 % missing", "holes.npy", ["--missing"])]:
        run = folder / f"{name}-{len(options)}"
        harmonium(command, "train", folder / data, *options, "-o", run)
        model = run / "model.safetensors"
        score = harmonium(command, "evaluate", model, folder / "test.npy")
        fill = ["impute", model, folder / "test.npy", "--mask", folder / "mask.npy", "-o", folder / "x.npy"]
        filled = harmonium(command, *fill)
        print(
            f"  {label:14} held-out log likelihood {score['mean_log_likelihood']:8.3f} ± {score['std_err']:.3f} nats per row;"
            f" hidden cells: {filled['rmse']:.4f} root mean square, column means {filled['rmse_by_columns']:.4f},"
            f" {filled['exact_rows']} of {len(test)} rows exact, error of chains {filled['monte_carlo_error']:.4f}"
        )


def main():
    command, digits, nltcs_train, nltcs_test = sys.argv[1:]
    rng = np.random.default_rng(0)
    pixels = np.loadtxt(digits, delimiter=",")[:, :64] / 16.0
    pixels = (pixels > 0.5).astype(float)[rng.permutation(len(pixels))]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        study(command, "digits", pixels[:1438], pixels[1438:], rng, folder)
        tables = [np.loadtxt(path, delimiter=",") for path in (nltcs_train, nltcs_test)]
        study(command, "nltcs", *tables, rng, folder)


main()
