"""Trains a Potts machine on an alignment, samples it, and compares the statistics of the samples with those of the data.

    python3 studies/ww-domain/run.py ALIGNMENT.fasta[.gz] -o DIRECTORY [--harmonium COMMAND] [-- options of train]

Needs numpy. The alphabet, the weights and the statistics are computed here, from the files alone: nothing of harmonium is asked
but its training and its samples.
"""

import argparse
import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

LETTERS = "-ACDEFGHIKLMNPQRSTVWY"
IDENTITY = 0.8


def read_fasta(path):
    """Codes of an alignment, one row per sequence."""
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
    sequences = []
    with opened as lines:
        for line in map(str.strip, lines):
            if line.startswith(">"):
                sequences.append("")
            else:
                sequences[-1] += line.upper().replace(".", "-")
    code = {letter: k for k, letter in enumerate(LETTERS)}
    return np.array([[code.get(letter, 0) for letter in s] for s in sequences], dtype=np.uint8)


def weights(x):
    """1 / number of sequences with at least 80 % of their sites equal."""
    w = np.empty(len(x))
    for first in range(0, len(x), 64):
        equal = (x[first : first + 64, None, :] == x[None, :, :]).sum(2, dtype=np.int16)
        w[first : first + 64] = 1.0 / (equal >= IDENTITY * x.shape[1] - 1e-6).sum(1)
    return w


def statistics(x, w):
    """Frequencies f_i(a) and connected pair frequencies f_ij(a, b) - f_i(a) f_j(b), i < j."""
    n, sites = x.shape
    q = len(LETTERS)
    one_hot = np.zeros((n, sites * q), dtype=np.float32)
    one_hot[np.arange(n)[:, None], np.arange(sites) * q + x] = 1
    p = (w / w.sum()).astype(np.float32)
    single = (p[:, None] * one_hot).sum(0, dtype=np.float64)
    pair = (one_hot * p[:, None]).T @ one_hot - np.outer(single, single)
    site = np.arange(sites * q) // q
    return single, pair[site[:, None] < site[None, :]]


def triples(x, w, sites):
    """Connected triples of chosen sites, < (v_i - f_i)(v_j - f_j)(v_k - f_k) >, for the letters of each."""
    p = w / w.sum()
    out = []
    for i, j, k in sites:
        parts = []
        for s in (i, j, k):
            hot = np.eye(len(LETTERS))[x[:, s]]
            parts.append(hot - (p[:, None] * hot).sum(0))
        out.append(np.einsum("n,na,nb,nc->abc", p, *parts, optimize=True).ravel())
    return np.concatenate(out)


def compare(a, b):
    """Pearson correlation and slope of b against a."""
    return float(np.corrcoef(a, b)[0, 1]), float(np.polyfit(a, b, 1)[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("alignment")
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--harmonium", default="harmonium")
    parser.add_argument("--sampler", help="another command to sample with")
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--sample-options", default="")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    args, train = parser.parse_args(words[:cut]), words[cut + 1 :]
    run = args.output / "run"
    model = run / "model.safetensors"
    if not model.exists():
        command = [args.harmonium, "train", args.alignment, "-o", str(run), "--json", *train]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        (args.output / "train.json").write_text(done.stdout)
    sampler = args.sampler or args.harmonium
    samples = args.output / "samples.npy"
    command = [sampler, "sample", str(model), "-n", str(args.samples), "-o", str(samples), "--json", *args.sample_options.split()]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    (args.output / "sample.json").write_text(done.stdout)

    x, y = read_fasta(args.alignment), np.load(samples).astype(np.uint8)
    cache = args.output / "weights.npy"
    w = np.load(cache) if cache.exists() else weights(x)
    np.save(cache, w)
    ones = np.ones(len(y))
    half = np.random.default_rng(0).permutation(len(x))
    a, b = half[: len(x) // 2], half[len(x) // 2 :]
    data, model_, first, second = statistics(x, w), statistics(y, ones), statistics(x[a], w[a]), statistics(x[b], w[b])
    sites = [tuple(np.random.default_rng(k).choice(x.shape[1], 3, replace=False)) for k in range(40)]
    result = {
        "sequences": len(x), "sites": x.shape[1], "effective": float(w.sum()), "samples": len(y),
        "f_i (r, slope)": compare(data[0], model_[0]), "c_ij (r, slope)": compare(data[1], model_[1]),
        "c_ijk of 40 triples (r, slope)": compare(triples(x, w, sites), triples(y, ones, sites)),
        "halves of the data: f_i, c_ij (r)": [compare(first[k], second[k])[0] for k in (0, 1)],
        "distinct samples": len(np.unique(y, axis=0)),
        "samples that are in the data": int(np.isin([s.tobytes() for s in y], [s.tobytes() for s in x]).sum()),
    }
    (args.output / "compared.json").write_text(json.dumps(result, indent=2))
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
