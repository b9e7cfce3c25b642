"""log Z of a binary machine by annealed importance sampling, in NumPy: Salakhutdinov & Murray, *On the quantitative analysis
of deep belief networks*, 2008. The base has the visible biases of the machine's own mean-field means and hidden biases of
zero; temperatures are at equal distances. Nothing is shared with the program: another base, another schedule, other numbers.

    python oracle/ais.py model.safetensors --chains 500 --temperatures 20000
"""

import argparse
import json
import struct

import numpy as np

TYPES = {"F32": "<f4", "F64": "<f8"}


def read(path):
    """Tensors of a model file, offsets folded into the biases, and the energy's constant."""
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    about = header.pop("__metadata__")
    assert about["visible.kind"] == about["hidden.kind"] == "bernoulli", "a binary machine is needed"
    part = {name: np.frombuffer(data[slice(*t["data_offsets"])], TYPES[t["dtype"]]).reshape(t["shape"]).astype(float)
            for name, t in header.items()}
    w, a, b = part["weights"], part["visible.bias"], part["hidden.bias"]
    alpha = part.get("visible.offset", np.zeros(len(a)))
    beta = part.get("hidden.offset", np.zeros(len(b)))
    # E = -a(v - alpha) - b(h - beta) - (v - alpha) W (h - beta)
    constant = a @ alpha + b @ beta - alpha @ w @ beta
    return w, a - w @ beta, b - alpha @ w, constant


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def softplus(x):
    return np.logaddexp(0, x)


def mean_field(w, a, b, steps=200):
    """Means of independent units that hold each other, from one half, damped."""
    v = np.full(len(a), 0.5)
    for _ in range(steps):
        v = 0.5 * v + 0.5 * sigmoid(a + w @ sigmoid(b + v @ w))
    return np.clip(v, 0.02, 0.98)


def anneal(w, a, b, chains, temperatures, seed):
    """Log weights of chains, log Z of the base added."""
    draw = np.random.default_rng(seed)
    mean = mean_field(w, a, b)
    base = np.log(mean / (1 - mean))
    w32 = w.astype(np.float32)
    v = draw.random((chains, len(a))) < mean
    log_w = np.full(chains, softplus(base).sum() + len(b) * np.log(2))
    betas = np.linspace(0, 1, temperatures + 1)
    for now, then in zip(betas[:-1], betas[1:]):
        x = b + v.astype(np.float32) @ w32
        log_w += (then - now) * (v @ (a - base)) + (softplus(then * x) - softplus(now * x)).sum(1)
        h = draw.random(x.shape, np.float32) < sigmoid(then * x)
        y = a + h.astype(np.float32) @ w32.T
        v = draw.random(y.shape, np.float32) < sigmoid((1 - then) * base + then * y)
    return log_w


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("model")
    ask.add_argument("--chains", type=int, default=500)
    ask.add_argument("--temperatures", type=int, default=20000)
    ask.add_argument("--seed", type=int, default=0)
    asked = ask.parse_args()
    w, a, b, constant = read(asked.model)
    log_w = anneal(w, a, b, asked.chains, asked.temperatures, asked.seed) - constant
    top = log_w.max()
    weight = np.exp(log_w - top)
    value = top + np.log(weight.mean())
    error = weight.std(ddof=1) / weight.mean() / np.sqrt(len(weight))
    print(f"log Z {value:.3f} +- {error:.3f} nats, {weight.sum() ** 2 / (weight ** 2).sum():.0f} of {len(weight)} weights count")


if __name__ == "__main__":
    main()
