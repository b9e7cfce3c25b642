#!/usr/bin/env python3
"""How far does the likelihood of held-out rows fall along a run?

    python3 studies/learning/falls.py --data DIR        # every set, 16 hidden units, so that log Z is exact; three seeds
    python3 studies/learning/falls.py RUN...            # finished run directories

Prints, for each run, how often the likelihood was measured, the first and the best value, the largest fall below the best value
so far, and how far below the best value the run ends and the kept model is. A value is that of the averaged parameters, the model
that a run which is stopped there would keep or compare. DIR is that of `run.py`.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

SETS = ["nltcs", "baudio", "accidents", "pumsb_star", "dna", "mushrooms", "bbc"]


def curve(run):
    """Likelihoods of held-out rows along a run, and the error of each, None where log Z is exact."""
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    valid = [e["valid"] for e in events if e.get("event") == "progress" and e.get("valid")]
    return [(v["log_likelihood"], v.get("log_likelihood_std_err")) for v in valid if v.get("log_likelihood") is not None]


def line(name, run):
    points = curve(run)
    values = [value for value, _ in points]
    best = [max(values[: i + 1]) for i in range(len(values))]
    fall = max(b - v for b, v in zip(best, values))
    exact = all(error is None for _, error in points)
    start, end = f"{values[0]:8.2f}", best[-1] - values[-1]
    kind = "exact" if exact else f"± {max(error or 0 for _, error in points):.2f} at most"
    print(f"{name:24} {len(points):4} points  first {start}  best {best[-1]:8.3f}  fall {fall:5.2f}  end {end:5.2f}  {kind}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--command", default="target/release/harmonium")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", default="2")
    args = parser.parse_args()
    for run in args.runs:
        line(run.name, run)
    for name in SETS if args.data else []:
        train, valid = (next(args.data.rglob(f"{name}.{part}.data.gz")) for part in ("train", "valid"))
        for seed in map(str, range(args.seeds)):
            with tempfile.TemporaryDirectory() as scratch:
                run = pathlib.Path(scratch) / "run"
                words = [args.command, "train", train, "--valid", valid, "-o", run, "--n-hidden", "16", "--seed", seed]
                subprocess.run([*words, "--threads", args.threads, "--quiet"], check=True, stdout=subprocess.DEVNULL)
                line(f"{name} seed {seed}", run)


if __name__ == "__main__":
    main()
