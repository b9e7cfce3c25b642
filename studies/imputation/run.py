"""How well does a model trained with the defaults fill missing cells, beside scikit-learn's imputers?

    python run.py HARMONIUM [-d wine,iris,breast_cancer,digits] [-m 0,1,2,3,4] [-o OPTIONS] [--threads 1]

HARMONIUM is the command. Needs numpy and scikit-learn, which has the data. For each data set and each mask: 20 % of the cells are
hidden at random, a model is trained on the table with the holes, and the same table is filled. The error is the root mean square
over the hidden cells, each column divided by the standard deviation of its complete column.
"""

import argparse
import json
import shlex
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

HIDDEN = 0.2  # of the cells
BAR = 1.05  # largest error, as a multiple of the better imputer's


def harmonium(*words):
    out = subprocess.run([*map(str, words), "--json"], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def table(name):
    """The numeric columns without the target."""
    found = getattr(datasets, "load_" + name)()
    return np.asarray(found.data, float)


def write(path, rows):
    """A header and the rows; a missing cell is empty."""
    cell = lambda x: "" if np.isnan(x) else repr(float(x))
    lines = [",".join(f"x{i}" for i in range(rows.shape[1]))]
    path.write_text("\n".join(lines + [",".join(map(cell, row)) for row in rows]) + "\n")


def read(path, holes):
    """The filled table; columns that were left out, because they are constant, get the mean of their known cells."""
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    names = path.read_text().split("\n", 1)[0].split(",")
    filled[:, [int(name[1:]) for name in names]] = np.genfromtxt(path, delimiter=",", skip_header=1)
    return filled


def error(truth, guess, hidden):
    """Root mean square over hidden cells in units of the columns; constant columns have none and are left out."""
    scale = truth.std(axis=0)
    off = ((guess - truth) / np.where(scale > 0, scale, 1.0))[:, scale > 0]
    return float(np.sqrt((off[hidden[:, scale > 0]] ** 2).mean()))


def imputed(imputer, holes, standardised):
    """What an imputer of scikit-learn fills in, as it is or with columns standardised by their known cells."""
    mean, scale = np.nanmean(holes, axis=0), np.nanstd(holes, axis=0)
    if not standardised:
        mean, scale = 0.0 * mean, np.ones_like(scale)
    scale = np.where(scale > 0, scale, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return imputer.fit_transform((holes - mean) / scale) * scale + mean


def ours(command, options, threads, holes, folder):
    write(folder / "holes.csv", holes)
    run = folder / "run"
    start = time.time()
    trained = harmonium(command, "train", folder / "holes.csv", *options, "-o", run, "--threads", threads)
    trained["time"] = time.time() - start
    filled = harmonium(
        command, "impute", run / "model.safetensors", folder / "holes.csv", "-o", folder / "x.csv", "--threads", threads
    )
    return read(folder / "x.csv", holes), trained, filled


def study(command, options, threads, name, masks):
    truth = table(name)
    errors = {key: [] for key in ["harmonium", "knn", "knn, standardised", "iterative", "iterative, standardised", "means"]}
    for seed in masks:
        hidden = np.random.default_rng(seed).random(truth.shape) < HIDDEN
        holes = np.where(hidden, np.nan, truth)
        with tempfile.TemporaryDirectory() as folder:
            filled, trained, how = ours(command, options, threads, holes, Path(folder))
        assert np.array_equal(filled[~hidden], truth[~hidden]), "known cells changed"
        guesses = {"harmonium": filled, "means": np.broadcast_to(np.nanmean(holes, axis=0), truth.shape)}
        for kind, imputer in [("knn", KNNImputer()), ("iterative", IterativeImputer(random_state=0))]:
            guesses[kind] = imputed(imputer, holes, False)
            guesses[kind + ", standardised"] = imputed(imputer, holes, True)
        for key, guess in guesses.items():
            errors[key].append(error(truth, guess, hidden))
        figures = "  ".join(f"{key} {values[-1]:.4f}" for key, values in errors.items())
        print(f"  {name} mask {seed}: {figures}  ({trained['time']:.0f} s, {how['exact_rows']} rows exact)", flush=True)
    means = {key: float(np.mean(values)) for key, values in errors.items()}
    best = min((value, key) for key, value in means.items() if key not in ("harmonium", "means"))
    ratio = means["harmonium"] / best[0]
    figures = "  ".join(f"{key} {value:.4f}" for key, value in means.items())
    verdict = "within" if ratio <= BAR else "ABOVE"
    print(f"{name}: {figures}\n{name}: {ratio:.3f} × the best ({best[1]}), {verdict} {BAR}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command")
    parser.add_argument("-d", "--data", default="wine,iris,breast_cancer,digits")
    parser.add_argument("-m", "--masks", default="0,1,2,3,4")
    parser.add_argument("-o", "--options", default="")
    parser.add_argument("--threads", default="1")
    asked = parser.parse_args()
    masks = [int(seed) for seed in asked.masks.split(",")]
    for name in asked.data.split(","):
        study(asked.command, shlex.split(asked.options), asked.threads, name, masks)


main()
