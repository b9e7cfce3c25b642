#!/usr/bin/env python3
"""Repeats published figures with exact likelihoods: MNIST and flipped MNIST with 16 hidden units, and tfim1d.

Usage: python3 studies/published/run.py DATA [mnist|flipped|tfim1d ...]

DATA is a folder with mnist/ (the four IDX files, gzipped) and tfim1d/ (tfim1d_data.txt, tfim1d_psi.txt). Needs only
the standard library and cargo; writes its runs to a temporary folder and prints one line per run and a table.
"""

import gzip
import json
import math
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEEDS = (1, 2, 3)


def harmonium(*arguments):
    """One call of the command; its JSON object."""
    command = [str(ROOT / "target/release/harmonium"), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def flip(source, target):
    """The pictures thresholded at one half and inverted, as IDX."""
    raw = gzip.open(source).read()
    target.write_bytes(raw[:16] + bytes(0 if x > 127 else 255 for x in raw[16:]))


def mnist(data, folder, flipped):
    """PCD-1, 100 chains, batch 100, SGD, rate 0.01, 50 epochs; mean exact test log likelihood by seed."""
    train, test = (data / f"mnist/{n}-images-idx3-ubyte.gz" for n in ("train", "t10k"))
    if flipped:
        for name, source in (("train", train), ("test", test)):
            flip(source, folder / f"{name}-idx3-ubyte")
        train, test = folder / "train-idx3-ubyte", folder / "test-idx3-ubyte"
    results = {}
    for centred in (True, False):
        for seed in SEEDS:
            out = folder / f"mnist-{flipped}-{centred}-{seed}"
            harmonium("train", train, "-o", out, "--n-hidden", 16, "--method", "pcd", "--chains", 100, "--batch-size", 100,
                      "--optimizer", "sgd", "--momentum", 0, "--lr", 0.01, "--schedule", "constant", "--epochs", 50,
                      "--seed", seed, "--valid-fraction", 0,
                      "--likelihood", "none", "--binarize", "threshold:0.5", *([] if centred else ["--no-centering"]))
            found = harmonium("evaluate", out / "model.safetensors", test, "--log-z", "exact")
            results.setdefault(centred, []).append(found["mean_log_likelihood"])
            print("flipped" if flipped else "plain", "centred" if centred else "uncentred", seed,
                  f"{results[centred][-1]:.2f}", flush=True)
    return results


def npy(path, rows):
    """A float64 .npy file, written by hand."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    cells = b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + cells)


def tfim1d(data, folder):
    """10 hidden units, CD-10, batch 100, rate 0.01, 500 epochs; exact KL to the squared wave function by seed."""
    lines = (data / "tfim1d/tfim1d_psi.txt").read_text().splitlines()
    psi = [float(line.split()[0]) for line in lines if line.strip()]
    npy(folder / "states.npy", [[(k >> (9 - i)) & 1 for i in range(10)] for k in range(1024)])
    divergences = []
    for seed in SEEDS:
        out = folder / f"tfim-{seed}"
        harmonium("train", data / "tfim1d/tfim1d_data.txt", "-o", out, "--n-hidden", 10, "--method", "cd",
                  "--gibbs-steps", 10, "--batch-size", 100, "--optimizer", "sgd", "--momentum", 0, "--lr", 0.01,
                  "--schedule", "constant", "--valid-fraction", 0, "--epochs", 500, "--seed", seed, "--likelihood", "none")
        harmonium("evaluate", out / "model.safetensors", folder / "states.npy", "--per-row", folder / "log_p.npy")
        raw = (folder / "log_p.npy").read_bytes()
        log_p = struct.unpack("<1024d", raw[-8 * 1024:])
        divergences.append(sum(x * x * (math.log(x * x) - l) for x, l in zip(psi, log_p) if x != 0.0))
        print("tfim1d", seed, f"{divergences[-1]:.4f}", flush=True)
    return divergences


def main():
    data = pathlib.Path(sys.argv[1]).resolve()
    wanted = sys.argv[2:] or ["mnist", "flipped", "tfim1d"]
    subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for study in wanted:
            if study == "tfim1d":
                print("tfim1d: KL", " ".join(f"{x:.4f}" for x in tfim1d(data, folder)))
                continue
            found = mnist(data, folder, study == "flipped")
            centred, plain = (statistics.mean(found[c]) for c in (True, False))
            print(f"{study}: centred {centred:.2f}, uncentred {plain:.2f}, difference {centred - plain:.2f} nats per row")


if __name__ == "__main__":
    main()
