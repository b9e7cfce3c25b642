#!/usr/bin/env python3
"""Trains on generated tables of mixed columns with no option, and judges what was learned by the generator.

    cargo build --release
    python3 studies/tables/run.py --seeds 0 1 2 --folder target/tables

For every seed: `harmonium train train.csv -o run`, the schema that it stores, the held-out gain over independent columns as a part of
the generator's own gain, and the dependence of every pair of columns in 10,000 sampled rows against that of the data. A run that is
finished is not repeated. The last results are in README.md.
"""

import argparse
import csv
import json
import pathlib
import subprocess

import numpy as np

import generate

KINDS = ["bernoulli"] * 6 + ["potts"] * 3 + ["gaussian"] * 4


def command(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def read(path):
    """The rows of a table as codes of sorted words and numbers; NaN where a cell is empty."""
    with open(path, newline="") as file:
        head, *rows = csv.reader(file)
    columns = []
    for i, cells in enumerate(zip(*rows)):
        if i < 9:
            words = sorted(generate.PAIRS[i] if i < 6 else generate.WORDS[[3, 5, 12][i - 6]])
            columns.append([words.index(c) if c else np.nan for c in cells])
        else:
            columns.append([float(c) if c else np.nan for c in cells])
    return head, np.array(columns, float).T


def dependence(a, b, a_is_code, b_is_code):
    """Cramér's V of two codes, the correlation ratio of a number given a code, the correlation of two numbers.

    A column of two values is a number: its correlations have a sign. (Without it, both halves of the data of an independent pair
    are equally far from 0, and the limit would be far too small.)
    """
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known], b[known]
    if a_is_code and b_is_code:
        table = np.zeros((12, 12))
        np.add.at(table, (a.astype(int), b.astype(int)), 1)
        table = table[table.sum(1) > 0][:, table.sum(0) > 0]
        if min(table.shape) < 2:
            return 0.0
        expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
        return np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1))
    if a_is_code or b_is_code:
        code, number = (a, b) if a_is_code else (b, a)
        means = np.array([number[code == k].mean() for k in np.unique(code)])
        sizes = np.array([(code == k).sum() for k in np.unique(code)])
        return np.sqrt((sizes * (means - number.mean()) ** 2).sum() / len(number) / number.var())
    return np.corrcoef(a, b)[0, 1]


def dependences(table):
    code = [6 <= i < 9 for i in range(13)]
    return np.array([dependence(table[:, i], table[:, j], code[i], code[j]) for i in range(13) for j in range(i)])


def judge(seed, folder, program, threads):
    folder.mkdir(parents=True, exist_ok=True)
    generator, train, test = generate.make(20_000, seed)
    generate.write(folder / "train.csv", train)
    generate.write(folder / "test.csv", test)
    run = folder / "run"
    limit = ["--threads", threads]
    if not (run / "model.safetensors").exists():
        command(program, "train", folder / "train.csv", "-o", run, "--quiet", *limit)
    schema = json.loads(command(program, "inspect", run, "--json"))["schema"]
    found = [column["kind"] for column in schema["columns"]]
    right = found == KINDS and [column["name"] for column in schema["columns"]] == generate.NAMES
    sizes = [len(column.get("categories", [])) for column in schema["columns"][:9]]
    right &= sizes == [2] * 6 + [3, 5, 12]
    answer = json.loads(command(program, "evaluate", run, folder / "test.csv", "--json", *limit))
    truth, alone = generator.log_likelihood(test).mean(), generate.independent(train, test).mean()
    gain = (answer["mean_log_likelihood"] - alone) / (truth - alone)
    command(program, "sample", run, "-n", 10_000, "-o", folder / "samples.csv", "--seed", 1, "--quiet", *limit)
    command(program, "schema", folder / "samples.csv", "-o", folder / "samples.toml")
    again = json.loads(command(program, "schema", folder / "samples.csv", "--json"))
    same = [(c["name"], c["kind"], c.get("categories")) for c in again["columns"]] == [
        (c["name"], c["kind"], c.get("categories")) for c in schema["columns"]
    ]
    names, data = read(folder / "train.csv")
    sampled_names, samples = read(folder / "samples.csv")
    r = np.random.default_rng(7)
    apart = []
    for _ in range(100):
        order = r.permutation(len(data))
        apart.append(np.abs(dependences(data[order[:10_000]]) - dependences(data[order[10_000:]])))
    limits = 2 * np.quantile(apart, 0.95, axis=0)
    off = np.abs(dependences(samples) - dependences(data))
    generate.write(folder / "drawn.csv", generator.sample(10_000, r))
    drawn = np.abs(dependences(read(folder / "drawn.csv")[1]) - dependences(data))
    return {
        "seed": seed,
        "schema": bool(right),
        "sampled schema": bool(same and names == sampled_names),
        "generator": round(truth, 4),
        "independent": round(alone, 4),
        "model": round(answer["mean_log_likelihood"], 4),
        "part of the gain": round(gain, 4),
        "pairs beyond the limit": int((off > limits).sum()),
        "worst pair": round(float((off / limits).max()), 2),
        "worst pair of the generator": round(float((drawn / limits).max()), 2),
    }


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parse.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("target/tables"))
    parse.add_argument("--command", default="target/release/harmonium")
    parse.add_argument("--threads", default="1")
    args = parse.parse_args()
    for seed in args.seeds:
        print(json.dumps(judge(seed, args.folder / str(seed), args.command, args.threads)), flush=True)


if __name__ == "__main__":
    main()
