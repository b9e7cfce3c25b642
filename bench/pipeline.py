"""scikit-learn's BernoulliRBM against ours, in turns: one class fits, then the other, round after round with a new seed.

    bench/pipeline [ROUNDS]

First `fit` alone: the digits as they come, grey or rounded to bits, f64, 100 components, ten passes, batches of 10 and 128.
Then the pipeline of the gallery: digits moved by one pixel in four directions (8985 rows), 100 components, logistic
regression on the hidden means, seconds of fit and accuracy. Needs the wheel, scikit-learn and scipy.
"""

import statistics
import subprocess
import sys
import time

import numpy as np
from scipy.ndimage import shift
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM as Theirs
from sklearn.preprocessing import minmax_scale

from harmonium.sklearn import BernoulliRBM as Ours

MOVES = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]


def nudged():
    """Digits, each also moved by a pixel up, down, left and right; every column from 0 to 1."""
    X, y = load_digits(return_X_y=True)
    moved = [shift(X.reshape(-1, 8, 8), (0, *move), order=0).reshape(len(X), 64) for move in MOVES]
    return minmax_scale(np.concatenate(moved).astype(np.float32)), np.concatenate([y] * len(MOVES))


def seconds_of(rbm, rows):
    begin = time.perf_counter()
    rbm.fit(rows)
    return time.perf_counter() - begin


def fits(rounds):
    """Prints a table of `fit` alone."""
    grey = load_digits().data / 16
    print("| rows | batch | harmonium, ms | scikit-learn, ms | ratio (lowest to highest) |\n|---|---|---|---|---|")
    for name, rows in ("grey", grey), ("bits", np.round(grey)):
        for batch in 10, 128:
            settings = {"n_components": 100, "batch_size": batch, "n_iter": 10}
            turns = [[seconds_of(cls(**settings, random_state=seed), rows) for cls in (Ours, Theirs)] for seed in range(rounds + 1)]
            # The first round is not counted.
            ours, theirs = zip(*turns[1:], strict=True)
            ratios = [b / a for a, b in turns[1:]]
            ratio = f"**{statistics.median(ratios):.1f}** ({min(ratios):.1f}–{max(ratios):.1f})"
            print(f"| {name} | {batch} | {1e3 * statistics.median(ours):.1f} | {1e3 * statistics.median(theirs):.0f} | {ratio} |", flush=True)


def one(cls, seed, train, train_labels, test, test_labels):
    """Seconds of fit, and the accuracy of logistic regression on the hidden means."""
    rbm = cls(n_components=100, learning_rate=0.06, n_iter=10, random_state=seed)
    seconds = seconds_of(rbm, train)
    # The gallery's tol=1 ends before the first step with scikit-learn 1.9; with 1e-3 where it stops is chance.
    classifier = LogisticRegression(solver="newton-cg", tol=1e-4, C=6000).fit(rbm.transform(train), train_labels)
    return seconds, classifier.score(rbm.transform(test), test_labels)


MEMORY = """
import numpy as np, resource
from harmonium import RBM
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
X = np.zeros((60_000, 784), dtype=np.uint8)
rng = np.random.default_rng(0)
for first in range(0, 60_000, 1000):
    X[first : first + 1000] = rng.random((1000, 784)) < 0.13
RBM(500, epochs=0, random_state=0).fit(X[:100])
before = peak()
RBM(500, epochs=0.2, random_state=0, likelihood=False).fit(X)
print(f"{before:.0f} {peak():.0f}")
"""


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    fits(rounds)
    X, y = nudged()
    parts = train_test_split(X, y, test_size=0.2, random_state=0)
    data = parts[0], parts[2], parts[1], parts[3]
    told = {Ours: [], Theirs: []}
    for seed in range(rounds + 1):
        for cls in (Ours, Theirs) if seed % 2 else (Theirs, Ours):
            told[cls].append(one(cls, seed, *data))
    # The first round is not counted.
    ratios = [theirs[0] / ours[0] for ours, theirs in zip(told[Ours][1:], told[Theirs][1:], strict=True)]
    for cls, name in [(Ours, "harmonium"), (Theirs, "scikit-learn")]:
        seconds, accuracy = zip(*told[cls][1:], strict=True)
        error = statistics.stdev(accuracy) / len(accuracy) ** 0.5
        print(f"{name:13} fit {statistics.median(seconds):.3f} s, accuracy {np.mean(accuracy):.4f} ± {error:.4f}")
    gains = [ours[1] - theirs[1] for ours, theirs in zip(told[Ours][1:], told[Theirs][1:], strict=True)]
    print(f"accuracy gained {np.mean(gains):+.4f} ± {statistics.stdev(gains) / len(gains) ** 0.5:.4f}")
    print(f"faster by a factor of {statistics.median(ratios):.1f} ({min(ratios):.1f}-{max(ratios):.1f})")
    before, peak = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout.split()
    print(f"peak memory of a fit of 60,000 x 784 bytes (45 MB): {before} MB before, {peak} MB at most")


if __name__ == "__main__":
    main()
