#!/usr/bin/env python3
"""A layer of several blocks races against its blocks, each a model by itself, in turns.

    cargo build --release -p harmonium --example training_speed
    python3 bench/blocks.py --turns 15

For each case it prints the median over the turns of the time of the whole model divided by the sum of the times of its blocks.
"""

import argparse
import contextlib
import os
import statistics

from race import Competitor, race

CASES = {
    "40 bernoulli, 30 potts of 4, 30 gaussian": ["bernoulli*40", "potts(states=4)*30", "gaussian*30"],
    "50 bernoulli, 50 gaussian": ["bernoulli*50", "gaussian*50"],
    "100 columns that alternate": ["bernoulli*1", "potts(states=4)*1", "gaussian*1"] * 33 + ["bernoulli*1"],
}


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--turns", type=int, default=15)
    parse.add_argument("--threads", type=int, default=1)
    parse.add_argument("--program", default="target/release/examples/training_speed")
    parse.add_argument("--only", default="", help="cases with this in their name")
    args = parse.parse_args()
    print("| case | method | whole / sum of its blocks | quartiles |\n|---|---|---|---|")
    for name, blocks in CASES.items():
        for method, steps in [("pcd", 1), ("pcd", 10), ("pt", 1)]:
            if args.only not in name:
                continue
            kinds = sorted(set(blocks))
            alone = [f"{kind.rpartition('*')[0]}*{sum(int(b.rpartition('*')[2]) for b in blocks if b.startswith(kind.rpartition('*')[0]))}" for kind in kinds]
            settings = ["--n-hidden", "200", "--batch", "100", "--rows", "2000", "--method", method, "--steps", str(steps)]
            program = [args.program, *settings, "--threads", str(args.threads), "--visible"]
            units = [",".join(blocks), *alone]
            with contextlib.ExitStack() as stack:
                all_ = [stack.enter_context(Competitor(unit, [*program, unit], os.environ)) for unit in units]
                times, _ = race(all_, 1, args.turns, lambda turn: None)
            ratios = [whole / sum(times[unit][turn] for unit in units[1:]) for turn, whole in enumerate(times[units[0]])]
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(f"| {name} | {method}-{steps} | {middle:.2f} | {low:.2f} to {high:.2f} |", flush=True)


if __name__ == "__main__":
    main()
