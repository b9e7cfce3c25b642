#!/usr/bin/env python3
"""Draws a table of mixed columns from a restricted Boltzmann machine whose log Z is a sum over its few hidden units.

    python3 studies/tables/generate.py FOLDER --rows 20000 --seed 0

FOLDER gets `train.csv` and `test.csv`: 6 columns of two values, 3 of 3, 5 and 12 words, 4 of real numbers with scales from 1e-3
to 1e4; some of the cells are empty. `run.py` uses the functions below to judge models. Nothing here uses harmonium.
"""

import argparse
import csv
import pathlib

import numpy as np

WORDS = {
    3: ["low", "middle", "high"],
    5: ["red, dark", 'blue "navy"', "green", "yellow", "white"],
    12: [f"town {name}" for name in "Aden Bern Cork Deal Eton Faro Genk Hove Ipoh Jena Kiel Lodi".split()],
}
PAIRS = [("0", "1"), ("no", "yes"), ("female", "male"), ("0", "1"), ("out", "in"), ("false", "true")]
SCALES = [1e-3, 1.0, 50.0, 1e4]
MEANS = [0.02, -3.0, 400.0, -2e4]


class Generator:
    """p(v, h) ∝ exp(aᵀv + bᵀh + vᵀWh − ½Σx²) with one-hot columns for words and real columns x of conditional variance 1."""

    def __init__(self, seed, hidden=8, strength=1.1):
        r = np.random.default_rng(seed)
        self.states = [2] * 6 + [3, 5, 12]
        self.a = [r.normal(0, 0.5, q) for q in self.states] + [r.normal(0, 0.5, 1) for _ in SCALES]
        self.w = [r.normal(0, strength, (q, hidden)) for q in self.states] + [r.normal(0, strength, (1, hidden)) for _ in SCALES]
        for w in self.w[:6]:
            w[0] = 0
        self.h = ((np.arange(2**hidden)[:, None] >> np.arange(hidden)) & 1).astype(float)
        fields = [a + self.h @ w.T for a, w in zip(self.a, self.w)]
        # Γ of each column for every h: a sum over states, or a Gaussian integral.
        self.gamma = [np.log(np.exp(f).sum(1)) for f in fields[:9]] + [0.5 * f[:, 0] ** 2 + 0.5 * np.log(2 * np.pi) for f in fields[9:]]
        self.fields = fields
        # Hidden biases so that units are on about half of the time.
        b = -np.array([sum((g[self.h[:, j] == 1].mean() - g[self.h[:, j] == 0].mean()) for g in self.gamma) for j in range(hidden)])
        log_p = self.h @ b + sum(self.gamma)
        self.log_p = log_p - np.logaddexp.reduce(log_p)

    def sample(self, rows, r):
        """Codes and standardised numbers, one column each."""
        h = r.choice(len(self.log_p), rows, p=np.exp(self.log_p))
        table = np.empty((rows, 13))
        for i, f in enumerate(self.fields):
            if i < 9:
                p = np.exp(f - self.gamma[i][:, None])[h]
                table[:, i] = np.minimum((r.random(rows)[:, None] > p.cumsum(1)).sum(1), self.states[i] - 1)
            else:
                table[:, i] = f[h, 0] + r.standard_normal(rows)
        return table

    def log_likelihood(self, table):
        """log p of the known cells of every row, in the units of the file."""
        total = np.tile(self.log_p, (len(table), 1))
        for i, f in enumerate(self.fields):
            x = table[:, i]
            known = ~np.isnan(x)
            if i < 9:
                log_p = (f - self.gamma[i][:, None]).T[x[known].astype(int)]
            else:
                log_p = -0.5 * (x[known, None] - f[:, 0]) ** 2 - 0.5 * np.log(2 * np.pi) - np.log(SCALES[i - 9])
            total[known] += log_p
        return np.logaddexp.reduce(total, axis=1)


def independent(train, test):
    """log p of the known cells of every row of `test` under columns that are independent, fitted to `train`."""
    total = np.zeros(len(test))
    for i in range(13):
        seen, x = train[~np.isnan(train[:, i]), i], test[:, i]
        known = ~np.isnan(x)
        if i < 9:
            counts = np.bincount(seen.astype(int), minlength=12) + 1e-9
            total[known] += np.log(counts / counts.sum())[x[known].astype(int)]
        else:
            m, s = seen.mean(), seen.std()
            total[known] += -0.5 * ((x[known] - m) / s) ** 2 - 0.5 * np.log(2 * np.pi) - np.log(s) - np.log(SCALES[i - 9])
    return total


def cells(table):
    """The cells as text; an empty text is a missing cell."""
    columns = []
    for i in range(13):
        x = table[:, i]
        words = PAIRS[i] if i < 6 else WORDS[[3, 5, 12][i - 6]] if i < 9 else None
        text = (lambda v: words[int(v)]) if words else (lambda v, k=i - 9: repr(float(np.float32(MEANS[k] + SCALES[k] * v))))
        columns.append([("" if np.isnan(v) else text(v)) for v in x])
    return list(zip(*columns))


NAMES = ["member", "smoker", "sex", "insured", "position", "retired", "income class", "colour", "town", "weight kg", "change", "height", "balance"]


def write(path, table):
    with open(path, "w", newline="") as file:
        out = csv.writer(file, quoting=csv.QUOTE_MINIMAL)
        out.writerow(NAMES)
        out.writerows(cells(table))


def make(rows, seed, missing=0.15):
    """The generator, and a training and a test table with missing cells."""
    r = np.random.default_rng(seed + 1000)
    generator = Generator(seed)
    tables = []
    for n in (rows, 5000):
        table = generator.sample(n, r)
        table[r.random(table.shape) < missing] = np.nan
        tables.append(table)
    return generator, *tables


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("folder", type=pathlib.Path)
    parse.add_argument("--rows", type=int, default=20_000)
    parse.add_argument("--seed", type=int, default=0)
    args = parse.parse_args()
    generator, train, test = make(args.rows, args.seed)
    args.folder.mkdir(parents=True, exist_ok=True)
    write(args.folder / "train.csv", train)
    write(args.folder / "test.csv", test)
    truth, alone = generator.log_likelihood(test).mean(), independent(train, test).mean()
    print(f"test rows: generator {truth:.4f} nats, independent columns {alone:.4f}, gain {truth - alone:.4f}")


if __name__ == "__main__":
    main()
