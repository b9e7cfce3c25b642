"""Races harmonium against its peers, case by case, and writes the table."""

import argparse
import fnmatch
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

import growth
from cases import HERE, OURS, TORCH, cases, competitors, environment
from race import Competitor, race

FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "amx_tile", "amx_int8", "amx_bf16", "asimd", "sve")
PEERS = ("torch", "numpy", "rbms", "scikit-learn")
QUIET = 0.03  # part of the machine that others may use; an idle system uses less than 1 %
COLUMNS = ("numpy", "rbms", "scikit-learn", "scikit-learn fit", f"{OURS} centred", f"{OURS} adam")


def say(text):
    print(text, file=sys.stderr, flush=True)


def main():
    options = arguments()
    possible = growth.cases() if options.growth else cases()
    chosen = [c for c in possible if c.threads <= options.threads and any(matches(c.name, p) for p in options.only)]
    if options.list:
        print("\n".join(c.name for c in chosen))
        return
    if not chosen:
        sys.exit(f"no case is called {' or '.join(options.only)}; --list shows them")
    if not options.no_check:
        from check import check  # needs the peers, which --list does not

        say("checking that all compute the same thing")
        if check(chosen, options.binaries, options.isa, lambda line: say(f"  {line}")):
            sys.exit("a competitor computes something else, or the check is blind: no times are worth taking")
    about = machine() | {"isa": options.isa, "rounds": options.rounds, "checked": not options.no_check}
    results = []
    for i, case in enumerate(chosen):
        results.append(run_case(case, options, f"[{i + 1}/{len(chosen)}] {case.name}"))
        say_over("")
        say(plain_line(results[-1]))
    text = page(about, results)
    print(text)
    part = "-growth" * options.growth + "-quick" * options.quick + "-part" * (options.only != ["*"])  # never overwrites a full run
    path = write(options.output, part, {"machine": about, "cases": results}, text)
    if options.growth:
        growth.draw(results, path, f"{about['cpu']}, {about['date']}")
        say(f"wrote {os.path.relpath(path)}.svg and .png")


def arguments():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="cases: part of a name, or with * and ?")
    parser.add_argument("--list", action="store_true", help="only say what the cases are called")
    parser.add_argument("--growth", action="store_true", help="how the cost of PCD-1 grows, with a picture; only ours and torch, not checked")
    parser.add_argument("--quick", action="store_true", help="3 rounds")
    parser.add_argument("--rounds", type=int, help="rounds that count [9]")
    parser.add_argument("--threads", type=int, help="leave out cases with more threads [2; with --growth all]")
    parser.add_argument("--isa", choices=["best", "avx2"], default="best", help="avx2: nobody uses AVX-512 or AMX")
    parser.add_argument("--no-check", action="store_true", help="do not check that all compute the same thing")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder of the results")
    parser.add_argument("--binaries", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.only = options.only or ["*"]
    options.threads = options.threads or (os.cpu_count() if options.growth else 2)
    options.no_check |= options.growth
    options.rounds = options.rounds or (3 if options.quick else 9)
    return options


def matches(name, pattern):
    return pattern in name or fnmatch.fnmatch(name, pattern)


def run_case(case, options, title):
    """Rates of every competitor in rows per second, and the ratio of ours to the best torch, round by round."""
    env, started = environment(case, options.isa), []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, command in competitors(case, options.binaries, folder).items():
                if options.growth and name not in (OURS, *TORCH):
                    continue
                say_over(f"{title}: starting {name}")
                started.append(Competitor(name, command, env))
            rounds = options.rounds
            times, others = race(started, case.epochs, rounds, lambda turn: say_over(f"{title}: round {turn} of {rounds}"))
        finally:
            for competitor in started:
                competitor.__exit__()
    rates = {name: [case.epochs * case.rows / s for s in seconds] for name, seconds in times.items()}
    best = max(TORCH, key=lambda name: median(rates[name]))
    ratios = [ours / theirs for ours, theirs in zip(rates[OURS], rates[best])]
    summary = {name: {"median": median(r), "best": max(r), "rounds": r} for name, r in rates.items()}
    return {
        "case": case.name,
        "rates": summary,
        "best_torch": best,
        "ratio": {"median": median(ratios), "min": min(ratios), "max": max(ratios)},
        "others": others,
    }


def say_over(text):
    """Progress on one line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text:<79}\r", end="", file=sys.stderr, flush=True)


def plain_line(result):
    rates, ratio = result["rates"], result["ratio"]
    ours, torch = rates[OURS]["median"], rates[result["best_torch"]]["median"]
    return (
        f"{result['case']:34} {OURS} {ours:8.0f}  {result['best_torch']} {torch:8.0f} rows/s"
        f"  ratio {ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"
        + f"  disturbed: others used {result['others']:.0%} of the machine" * disturbed(result)
    )


def disturbed(result):
    """Threads that wait for each other by spinning, as torch's do, lose far more than their share to other programs."""
    return result["others"] > QUIET


def machine():
    """What a number of this kind depends on."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = re.findall(r"^model name\s*:\s*(.*)$", info, re.M)
    flags = set(" ".join(re.findall(r"^(?:flags|Features)\s*:\s*(.*)$", info, re.M)).split())
    git = ["git", "-C", str(HERE.parent)]
    commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True).stdout.strip()
    return {
        "date": date.today().isoformat(),
        "cpu": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "flags": [f for f in FLAGS if f in flags],
        "commit": commit + (" with changes" if changed else ""),
        "python": platform.python_version(),
        "versions": {peer: version(peer) for peer in PEERS},
    }


def page(about, results):
    """The table in Markdown; rates in thousands of rows per second."""
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    lines = [
        f"# {about['date']}, {about['cpu']}",
        "",
        f"{about['cores']} cores, {' '.join(about['flags'])}; instruction sets: {about['isa']}. Commit {about['commit']}.",
        f"Python {about['python']}, {versions}. {about['rounds']} rounds; competitors "
        + ("were checked to compute the same thing (but for fit, centred, adam)." if about["checked"] else "were not checked."),
        "",
        "Thousands of rows per second, median of the rounds. The ratio is harmonium to the best torch, median of the rounds",
        "(lowest to highest).",
        "",
        f"| case | harmonium | best torch | ratio | {' | '.join(c.removeprefix(OURS + ' ') for c in COLUMNS)} |",
        "|---|---|---|---|" + "---|" * len(COLUMNS),
    ]
    for result in results:
        rates, ratio = result["rates"], result["ratio"]
        ours, torch, *rest = (thousands(rates.get(name)) for name in (OURS, result["best_torch"], *COLUMNS))
        spread = f"**{ratio['median']:.2f}** ({ratio['min']:.2f}–{ratio['max']:.2f})"
        cells = [result["case"] + " †" * disturbed(result), ours, f"{torch} ({result['best_torch'].split()[1]})", spread, *rest]
        lines.append(f"| {' | '.join(cells)} |")
    if any(map(disturbed, results)):
        lines += ["", f"† other programs used more than {QUIET:.0%} of the machine: repeat this on a quiet one."]
    return "\n".join(lines)


def thousands(rate):
    if rate is None:
        return "–"
    thousand = rate["median"] / 1000
    return f"{thousand:.1f}" if thousand >= 10 else f"{thousand:.2f}"


def write(folder, part, record, text):
    about = record["machine"]
    slug = re.sub(r"[^a-z0-9]+", "-", about["cpu"].lower()).strip("-") + "-avx2" * (about["isa"] == "avx2")
    path = folder / f"{about['date']}-{slug}{part}"
    folder.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text(text + "\n")
    path.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    say(f"wrote {os.path.relpath(path)}.md and .json")
    return path


if __name__ == "__main__":
    main()
