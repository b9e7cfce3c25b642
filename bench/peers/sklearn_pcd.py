"""scikit-learn's BernoulliRBM, PCD-1: the loop of `fit` with its start, but in f32, which is faster, and on shuffled rows."""

from clock import Clock, args, rows

import numpy as np
from sklearn.neural_network import BernoulliRBM

data, rng, n = rows(), np.random.RandomState(1), args.setting["batch"]
rbm = BernoulliRBM(args.hidden, learning_rate=args.setting["rate"], batch_size=n)
rbm.components_ = np.asarray(rng.normal(0, 0.01, (args.hidden, data.shape[1])), order="F", dtype=np.float32)
rbm.intercept_hidden_, rbm.intercept_visible_ = np.zeros(args.hidden, np.float32), np.zeros(data.shape[1], np.float32)
rbm.h_samples_ = np.zeros((n, args.hidden), np.float32)


def batches():
    while True:
        order = rng.permutation(len(data))
        yield from (data[order[i : i + n]] for i in range(0, len(data) - n + 1, n))


clock = Clock(lambda: (rbm.components_.T, rbm.intercept_visible_, rbm.intercept_hidden_))
for batch in batches():
    rbm._fit(batch, rng)
    if not clock.running():
        break
