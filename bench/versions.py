#!/usr/bin/env python3
"""Two builds of this project race against each other, in turns.

    python3 bench/versions.py OLD NEW --turns 15

OLD and NEW are folders that hold the built examples `training_speed` and `annealing_speed`, such as target/release/examples.
For each case it prints the median over the turns of the time of NEW divided by that of OLD.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import tempfile

from race import Competitor, race

LARGE = {"n-visible": 784, "n-hidden": 500}
SMALL = {"n-visible": 64, "n-hidden": 100, "rows": 2000}


def training(batch, method, steps, **sizes):
    rows = {"rows": 10 * batch if steps > 1 else 40 * batch} if "rows" not in sizes else {}
    return "training_speed", {"batch": batch, "method": method, "steps": steps, **rows, **sizes}


CASES = {
    "784×500, batch 128, CD-1": training(128, "cd", 1, **LARGE),
    "784×500, batch 128, PCD-1": training(128, "pcd", 1, **LARGE),
    "784×500, batch 128, PCD-10": training(128, "pcd", 10, **LARGE),
    "784×500, batch 1000, CD-1": training(1000, "cd", 1, **LARGE, rows=10000),
    "784×500, batch 1000, PCD-1": training(1000, "pcd", 1, **LARGE, rows=10000),
    "784×500, batch 1000, PCD-10": training(1000, "pcd", 10, **LARGE, rows=3000),
    "64×100, batch 10, CD-1": training(10, "cd", 1, **SMALL),
    "64×100, batch 10, PCD-1": training(10, "pcd", 1, **SMALL),
    "64×100, batch 10, PCD-10": training(10, "pcd", 10, **SMALL),
    "784×500, AIS, 100 chains, 200 temperatures": ("annealing_speed", {"temperatures": 200}),
}


def command(folder, example, options, threads):
    words = [str(folder / example)]
    for key, value in {**options, "threads": threads}.items():
        words += [f"--{key}", str(value)]
    return words


def ratios(args, name, model):
    """Ratios of the times of one case, new divided by old, of every turn."""
    example, options = CASES[name]
    options = {**options, "model": model} if example == "annealing_speed" else options
    builds = {"old": args.old, "new": args.new}
    with contextlib.ExitStack() as stack:
        both = [Competitor(k, command(folder, example, options, args.threads), os.environ) for k, folder in builds.items()]
        times, _ = race([stack.enter_context(each) for each in both], 1, args.turns, lambda turn: None)
    return [new / old for old, new in zip(times["old"], times["new"])]


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("old", type=pathlib.Path)
    parse.add_argument("new", type=pathlib.Path)
    parse.add_argument("--turns", type=int, default=15)
    parse.add_argument("--threads", type=int, default=1)
    parse.add_argument("--only", default="", help="cases with this in their name")
    args = parse.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model = str(pathlib.Path(scratch) / "model.safetensors")
        example, options = training(128, "pcd", 1, **LARGE)
        with Competitor("model", command(args.old, example, options, args.threads), os.environ) as maker:
            maker.go(1)
            maker.say(f"save {model}")
            maker.go(1)  # The file is there when the next epoch is.
        print("| case | new / old | quartiles |\n|---|---|---|")
        for name in (name for name in CASES if args.only in name):
            low, middle, high = statistics.quantiles(ratios(args, name, model), n=4)
            print(f"| {name} | {middle:.3f} | {low:.3f} to {high:.3f} |", flush=True)


if __name__ == "__main__":
    main()
