"""scikit-learn's BernoulliRBM. PCD-1 is all it has.

Variant `loop`: the loop of `fit` in f32, without its initialisation. `fit` cannot begin at given parameters and `partial_fit`
computes in f64, so the batches are given to `_fit`, which is what both call.

Variant `fit`: `fit` as its users call it, on rows in f64, which is what scikit-learn's data sets are. Its parameters are its own.
"""

from protocol import args, first_parameters, rows, serve

import numpy as np
from sklearn.neural_network import BernoulliRBM


class Loop:
    def __init__(self, seed):
        self.data = rows(seed)
        W, a, b = first_parameters()
        self.rng = np.random.RandomState(seed)
        self.rbm = BernoulliRBM(n_components=len(b), learning_rate=args.lr, batch_size=args.batch)
        self.rbm.components_ = np.asarray(W.T, order="F")  # the order that `fit` chooses
        self.rbm.intercept_visible_, self.rbm.intercept_hidden_ = a, b
        first = self.data[self.rng.randint(len(self.data), size=args.batch), np.arange(args.batch)]
        self.rbm.h_samples_ = self.rbm._sample_hiddens(first, self.rng).astype(np.float32)

    def parameters(self):
        return self.rbm.components_.T, self.rbm.intercept_visible_, self.rbm.intercept_hidden_

    def epoch(self):
        for x in self.data:
            self.rbm._fit(x, self.rng)


class Fit:
    def __init__(self, seed):
        data = rows(seed)
        self.data = data.reshape(-1, data.shape[2]).astype(np.float64)
        n_components = len(first_parameters()[2])
        self.rbm = BernoulliRBM(n_components, learning_rate=args.lr, batch_size=args.batch, n_iter=1, random_state=seed)

    def parameters(self):
        return self.rbm.components_.T, self.rbm.intercept_visible_, self.rbm.intercept_hidden_

    def epoch(self):
        self.rbm.fit(self.data)


serve({"loop": Loop, "fit": Fit}[args.variant])
