"""Seconds of training until the likelihood of held-out rows is close to the best that any program reaches."""

import argparse
import csv
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from math import inf
from pathlib import Path

import numpy as np
from race import busy_ticks

HERE = Path(__file__).resolve().parent
OURS, TRUSTED, QUIET = "harmonium", ("exact", "certain", "likely"), 0.03
FIRST = 0.03  # seconds of the first model
FIELDS = ("set", "program", "setting", "limit", "seconds", "log_likelihood", "std_err", "verdict", "others")
SETS = {"digits": (64, 1), "baudio": (256, 1), "mnist": (500, 2)}  # hidden units, threads of the peers
GRID = {
    OURS: {"defaults": {}},
    "torch": {
        "pcd1-average": {"steps": 1, "batch": 100, "schedule": "average"},
        "pcd5-average": {"steps": 5, "batch": 100, "schedule": "average"},
        "pcd5-cosine": {"steps": 5, "batch": 200, "schedule": "cosine"},
    },
    "rbms": {  # the first has the defaults of `rbms train`
        "pcd100-b2000": {"steps": 100, "chains": 2000, "batch": 2000, "rate": 0.01},
        "pcd10-b500": {"steps": 10, "chains": 500, "batch": 500, "rate": 0.01},
        "pcd10-b200-fast": {"steps": 10, "chains": 200, "batch": 200, "rate": 0.05},
    },
    "sklearn": {  # its default, batches of 10 with rate 0.1, got worse from the first second of the digits on
        "b10-0.01": {"batch": 10, "rate": 0.01},
        "b100-0.03": {"batch": 100, "rate": 0.03},
        "b100-0.1": {"batch": 100, "rate": 0.1},
    },
}


def main():
    options = arguments()
    runs = [(s, p, g) for s in SETS for p in GRID for g in GRID[p] if not options.only or {s, f"{s}:{p}"} & set(options.only)]
    if not runs:
        sys.exit(f"--only takes SET or SET:PROGRAM; sets: {', '.join(SETS)}; programs: {', '.join(GRID)}")
    for name in SETS if not options.summary else []:
        judged = [(run, *trained(run, options)) for run in runs if run[0] == name]
        judge([(run, folder) for run, folder, there in judged if there], options)
    print(summary(read(options.output), options.limit))


def trained(run, options):
    """Trains, once; the folder of the models, and whether it is there: an earlier benchmark may have been judged and cleaned up."""
    folder = options.work / f"{run[0]}-{options.limit:g}s" / "-".join(run[1:])
    if known(run, options) and not folder.exists():
        return folder, False
    if not (folder / "others").exists():
        print(f"{run[0]}: training {run[1]} {run[2]}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        train = train_ours if run[1] == OURS else train_peer
        others = watched(train, run, folder, prepare(run[0], options) / "train.npy", options)
        (folder / "others").write_text(f"{others:.3f}")
    return folder, True


def arguments():
    parser = argparse.ArgumentParser(prog="bench/likelihood", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the files of baudio and mnist, or with their folders")
    parser.add_argument("--only", action="append", metavar="SET[:PROGRAM]", help="only this set or program; may be repeated")
    parser.add_argument("--limit", type=float, default=600, help="seconds of training per run [600]")
    parser.add_argument("--judge", type=float, default=60, help="seconds per estimate of a likelihood [60]")
    parser.add_argument("--threads", type=int, default=2, help="threads of every program, at most [2]")
    parser.add_argument("--command", default=HERE.parent / "target/release/harmonium", help="harmonium [target/release/harmonium]")
    parser.add_argument("--output", type=Path, default=HERE / "results/likelihood.csv", help="CSV file of the results, continued if it exists")
    parser.add_argument("--work", type=Path, default=HERE / ".likelihood", help="folder of rows and models [bench/.likelihood]")
    parser.add_argument("--summary", action="store_true", help="only print the summary")
    return parser.parse_args()


def prepare(name, options):
    """Writes the rows of a set as `train.npy` and `heldout.npy`, once."""
    folder = options.work / name
    if not (folder / "heldout.npy").exists():
        if name == "digits":
            from sklearn.datasets import load_digits

            bits = np.random.default_rng(0).permutation(load_digits().data / 16 > 0.5)
            train, heldout = bits[360:], bits[:360]
        elif name == "baudio":
            train, heldout = (np.loadtxt(find(f"baudio.{part}.data.gz", options), delimiter=",") for part in ("train", "test"))
        else:
            train, heldout = (idx(find(f"binarized_mnist_{part}-images-idx3-ubyte.gz", options)) for part in ("train", "valid"))
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "train.npy", train.astype(np.uint8))
        np.save(folder / "heldout.npy", heldout.astype(np.uint8))
    return folder


def find(name, options):
    found = sorted(options.data.rglob(name)) if options.data else []
    return found[0] if found else sys.exit(f"cannot find {name}: give its folder with --data, or leave this set out with --only")


def idx(path):
    raw = gzip.open(path).read()
    return np.frombuffer(raw, np.uint8, offset=16).reshape(int.from_bytes(raw[4:8], "big"), -1) > 127


def watched(train, *arguments):
    """Trains; the part of the computer that other processes used meanwhile."""
    begin, others = time.monotonic(), busy_ticks() - ticks_of_children()
    train(*arguments)
    others = busy_ticks() - ticks_of_children() - others
    return max(0, others / ((time.monotonic() - begin) * os.cpu_count() * os.sysconf("SC_CLK_TCK")))


def ticks_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * os.sysconf("SC_CLK_TCK")


def marks(limit):
    """Times at which models are saved: a factor of √2 apart."""
    return [limit / 2 ** (k / 2) for k in reversed(range(60)) if limit / 2 ** (k / 2) >= FIRST]


def train_peer(run, folder, rows, options):
    name, program, setting = run
    (hidden, threads), times = SETS[name], ",".join(f"{t:.3f}" for t in marks(options.limit))
    command = [sys.executable, HERE / f"peers/{program}_pcd.py", "--data", rows, "--hidden", hidden, "--times", times]
    command += ["--threads", min(threads, options.threads), "--setting", json.dumps(GRID[program][setting]), "--output", folder]
    with open(folder / "log", "w") as log:
        failed = subprocess.run(list(map(str, command)), stderr=log).returncode
    if failed and not models(folder):
        sys.exit(f"{program} failed before its first model: {(folder / 'log').read_text()}")


def train_ours(run, folder, rows, options):
    """`harmonium train` with its defaults. Its checkpoints are the models, and the time when one was written is its time, counted
    from the start of the program. The result of a run that ends has the time of the last checkpoint: what follows is the
    estimate of the final likelihood and the report.
    """
    out, pending, stopped, begin = folder / "run", marks(options.limit), False, time.time()
    checkpoint = out / "checkpoint.safetensors"
    command = [options.command, "train", rows, "-o", out, "--n-hidden", SETS[run[0]][0], "--threads", options.threads, "--quiet"]
    command += ["--checkpoint-every", 250]  # does not change the result
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=log)
    while process.poll() is None:
        written = age(checkpoint, begin)
        if pending and written >= pending[0]:
            link_checkpoint(out, folder / f"{written:.2f}.run")
            pending = [t for t in pending if t > written]
        if time.time() - begin > options.limit and not finished(out):
            process.terminate()
            process.wait()
            stopped = True
        time.sleep(0.005)
    if process.returncode and not stopped:
        sys.exit(f"harmonium train failed: {(folder / 'log').read_text()}")
    last = folder / f"{age(checkpoint, begin):.2f}.run"
    if stopped:
        link_checkpoint(out, last)
    else:
        shutil.rmtree(last, ignore_errors=True)
        os.link(out / "model.safetensors", last.with_suffix(".safetensors"))


def age(path, begin):
    return path.stat().st_mtime - begin if path.exists() else -inf


def finished(out):
    events = out / "events.jsonl"
    return events.exists() and '"event":"finished"' in events.read_text()


def link_checkpoint(run, copy):
    """A run directory with the present checkpoint. harmonium replaces the file later; it does not write into it."""
    copy.mkdir(exist_ok=True)
    for name in ("config.toml", "checkpoint.safetensors"):
        (copy / name).unlink(missing_ok=True)
        os.link(run / name, copy / name)


def models(folder):
    """Model files and unfinished run directories, SECONDS.safetensors and SECONDS.run, first to last."""
    return sorted(folder.glob("*.*"), key=lambda path: float(path.stem))


def judge(runs, options):
    """Judges the last model of every run of a set, which gives the target, then those that finding the first model within it needs."""
    values = [Values(run, folder, options) for run, folder in runs]
    best = max((v[len(v.models) - 1] for v in values), default=0)
    for v in values:
        v.search(best - tolerance(best))


class Values:
    """The likelihoods of the models of a run, judged when they are asked for."""

    def __init__(self, run, folder, options):
        self.run, self.models, self.options = run, models(folder), options
        self.lines = known(run, options)

    def __getitem__(self, k):
        name = self.models[k].stem
        if name not in self.lines:
            self.lines[name] = add(self.run, self.models[k], prepare(self.run[0], self.options) / "heldout.npy", self.options)
        return likelihood(self.lines[name])

    def search(self, target):
        """Halves the interval between a model below the target and one within it, whose successor must be within it too. A run that
        does not end within the target is looked at in steps of a factor of two.
        """
        last = len(self.models) - 1
        high = last if self[last] >= target else next((k for k in range(last, -1, -2) if self[k] >= target), None)
        low = -1
        while high is not None and high - low > 1:
            k = (low + high) // 2
            low, high = (low, k) if self[k] >= target else (k, high)
            if high - low == 1 and high < last and self[high + 1] < target <= self[last]:
                low, high = high + 1, last


def add(run, model, rows, options):
    """Judges one model and adds it to the results."""
    command = [options.command, "evaluate", model, rows, "--json", "--quiet", "--time", options.judge, "--threads", options.threads]
    found = json.loads(subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True).stdout)
    numbers = f"{found['mean_log_likelihood']:.4f}", f"{found['std_err']:.4f}", found["verdict"]
    line = dict(zip(FIELDS, (*run, f"{options.limit:g}", model.stem, *numbers, (model.parent / "others").read_text())))
    new = not options.output.exists()
    with open(options.output, "a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerow(line)
    print("  {seconds:>7} s  {log_likelihood} ± {std_err} {verdict}".format(**line), flush=True)
    return line


def read(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def known(run, options):
    """Results of a run: seconds, as text → line."""
    key = (*run, f"{options.limit:g}")
    return {line["seconds"]: line for line in read(options.output) if tuple(line[f] for f in FIELDS[:4]) == key}


def likelihood(line):
    return float(line["log_likelihood"])


def seconds(line):
    return float(line["seconds"])


def tolerance(best):
    return max(1, 0.02 * abs(best))


def summary(table, limit):
    """A table in Markdown: the first model of each program within the target."""
    out = [
        f"At most {limit:g} s; bold: ratio to harmonium's seconds. (?): the estimate is neither exact, certain nor likely.",
        f"†: other processes used more than {QUIET:.0%} of the computer.",
        "",
        f"| set | best | target | {' | '.join(GRID)} |",
        "|---|---|---|" + "---|" * len(GRID),
    ]
    for name in SETS:
        lines = [line for line in table if line["set"] == name and float(line["limit"]) == limit]
        if lines:
            best = max([line for line in lines if line["verdict"] in TRUSTED] or lines, key=likelihood)
            target = likelihood(best) - tolerance(likelihood(best))
            ours = first([line for line in lines if line["program"] == OURS], target, limit)
            cells = [cell(first([line for line in lines if line["program"] == p], target, limit), ours, target) for p in GRID]
            out.append(f"| {name} | {likelihood(best):.2f} ({best['program']}) | {target:.2f} | {' | '.join(cells)} |")
    return "\n".join(out)


def first(lines, target, limit):
    """Whether a model is within the target, its seconds and its line; else the limit and the best line. The next model of the
    run must be within the target too: curves at a high rate go up and down.
    """
    within = []
    for setting in {line["setting"] for line in lines}:
        run = sorted((line for line in lines if line["setting"] == setting), key=seconds)
        within += [a for a, b in zip(run, [*run[1:], run[-1]]) if min(likelihood(a), likelihood(b)) >= target]
    if within:
        line = min(within, key=seconds)
        return True, seconds(line), line
    return False, limit, max(lines, key=likelihood, default=None)


def cell(theirs, ours, target):
    (reached, time, line), (ours_reached, our_time, _) = theirs, ours
    if line is None:
        return "not run"
    marks = " (?)" * (line["verdict"] not in TRUSTED) + " †" * (float(line["others"]) > QUIET)
    text = f"{time:.1f} s" if reached else f"not {'kept' if likelihood(line) >= target else 'reached'}, best {likelihood(line):.2f}"
    if line["program"] != OURS and (reached or ours_reached):
        text = f"**{'' if ours_reached else '<'}{'' if reached else '>'}{time / our_time:.2g}** {text}"
    return f"{text}{marks} ({line['setting']})"


if __name__ == "__main__":
    main()
