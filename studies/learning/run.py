#!/usr/bin/env python3
"""Compare learning rules: the same data, the same time, held-out likelihood as the judge.

    python3 studies/learning/run.py --data DIR                  # every rule on every set, resumable
    python3 studies/learning/run.py --data DIR --short          # two rules, four sets, one seed: below 20 minutes
    python3 studies/learning/run.py --summary                   # one table of all results

DIR holds NAME.train.data.gz, NAME.valid.data.gz and NAME.test.data.gz (comma-separated 0 and 1). Every case trains with
`harmonium train TRAIN --valid VALID --time SECONDS` and the options of its rule, and is judged by `harmonium evaluate MODEL TEST`.
One line per case is appended to the results; cases that are there are skipped.
"""

import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SETS = ["nltcs", "baudio", "accidents", "pumsb_star", "dna", "mushrooms", "bbc"]
SHORT = ["nltcs", "mushrooms", "dna", "accidents"]
# Weight decay is that of the defaults where a rule has a method of its own, so that rules differ in one thing.
RULES = {
    "default": [],
    "first-version": ["--method", "pcd", "--lr", "0.005", "--schedule", "cosine", "--keep", "last"],
    "pcd-5": ["--method", "pcd", "--gibbs-steps", "5", "--chains", "200", "--lr", "0.003", "--schedule", "cosine", "--l2", "DECAY"],
    "weighted": ["--method", "wpcd", "--chains", "500", "--lr", "0.01", "--schedule", "cosine", "--max-drift", "0.003", "--l2", "DECAY"],
    "pt-fast": ["--method", "pt", "--lr", "0.008", "--schedule", "cosine", "--l2", "DECAY"],
    "pt-no-decay": ["--method", "pt", "--lr", "0.003", "--max-drift", "0.3", "--schedule", "cosine"],
}
FIELDS = ["set", "rule", "seed", "test", "error", "verdict", "updates", "seconds", "train", "valid"]


def command(words):
    """Runs the command and returns its JSON."""
    done = subprocess.run([*words, "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


def decay(path):
    """Weight decay of the defaults: 4 divided by the rows, times the root of the columns in hundreds if there are more."""
    import gzip

    with gzip.open(path, "rt") as lines:
        columns = len(lines.readline().split(","))
        return f"{4 * max(1, columns / 100) ** 0.5 / (1 + sum(1 for _ in lines)):.2g}"


def case(args, name, rule, seed):
    """Trains and judges one case."""
    part = {p: next(args.data.rglob(f"{name}.{p}.data.gz")) for p in ("train", "valid", "test")}
    options = [decay(part["train"]) if word == "DECAY" else word for word in RULES[rule]]
    length = ["--time", str(args.time)] if args.time else []
    with tempfile.TemporaryDirectory() as scratch:
        run = (args.models or pathlib.Path(scratch)) / f"{name}-{rule}-{seed}"
        common = ["--threads", str(args.threads), "--seed", str(seed)]
        trained = command([args.command, "train", part["train"], "--valid", part["valid"], "-o", run, *length, *options, *common])
        judge = ["--time", str(args.judge), *common]
        judged = command([args.command, "evaluate", run / "model.safetensors", part["test"], *judge])
    return {
        "set": name,
        "rule": rule,
        "seed": seed,
        "test": round(judged["mean_log_likelihood"], 3),
        "error": round(judged["log_z_std_err"] or 0.0, 3),
        "verdict": judged["verdict"],
        "updates": trained["updates"],
        "seconds": round(trained["seconds"], 1),
        "train": round(trained["log_likelihood"] or float("nan"), 3),
        "valid": round(trained["valid_log_likelihood"] or float("nan"), 3),
    }


def read(path):
    """The cases that are done."""
    if not path.exists():
        return []
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def summary(rows):
    """Median over the seeds, one row per set and one column per rule; cases that no estimate could judge are marked."""
    rules = [r for r in RULES if any(row["rule"] == r for row in rows)]
    print("| set | " + " | ".join(rules) + " |")
    print("|---" * (len(rules) + 1) + "|")
    for name in SETS:
        cells = []
        for rule in rules:
            found = [row for row in rows if row["set"] == name and row["rule"] == rule]
            mark = "" if all(row["verdict"] in ("exact", "certain", "likely") for row in found) else " (?)"
            value = f"{statistics.median(float(row['test']) for row in found):.3f}{mark}" if found else ""
            cells.append(value)
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    parse = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parse.add_argument("--data", type=pathlib.Path, help="folder of the data sets")
    parse.add_argument("--command", default="target/release/harmonium")
    parse.add_argument("--results", type=pathlib.Path, default=pathlib.Path("target/learning.csv"))
    parse.add_argument("--models", type=pathlib.Path, help="keep the runs in this folder")
    parse.add_argument("--only", action="append", help="SET or SET:RULE; may be repeated")
    parse.add_argument("--seeds", type=int, default=3)
    parse.add_argument("--time", type=float, default=60.0, help="seconds of training; 0 for the default length of a rule")
    parse.add_argument("--judge", type=float, default=60.0, help="seconds for log Z")
    parse.add_argument("--threads", type=int, default=2)
    parse.add_argument("--short", action="store_true", help="two rules, four sets, one seed, 30 seconds")
    parse.add_argument("--summary", action="store_true", help="print the table and do nothing else")
    args = parse.parse_args()
    rows = read(args.results)
    if args.summary:
        return summary(rows)
    if args.data is None:
        parse.error("--data is missing")
    sets, rules = SETS, list(RULES)
    if args.short:
        sets, rules, args.seeds, args.time, args.judge = SHORT, ["default", "first-version"], 1, 30.0, 30.0
    done = {(row["set"], row["rule"], row["seed"]) for row in rows}
    for seed in range(args.seeds):
        for name in sets:
            for rule in rules:
                wanted = not args.only or any(o in (name, f"{name}:{rule}") for o in args.only)
                if not wanted or (name, rule, str(seed)) in done:
                    continue
                row = case(args, name, rule, seed)
                new = not args.results.exists()
                args.results.parent.mkdir(parents=True, exist_ok=True)
                with args.results.open("a", newline="") as out:
                    writer = csv.DictWriter(out, FIELDS)
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
                print(", ".join(f"{k} {v}" for k, v in row.items()), flush=True)
    summary(read(args.results))


if __name__ == "__main__":
    sys.exit(main())
