"""scikit-learn's BernoulliRBM: the loop of `fit` in f32, without its initialisation. PCD-1 is all it has.

`fit` cannot begin at given parameters and `partial_fit` computes in f64, so the batches are given to `_fit`, which is what
both call.
"""

from protocol import args, first_parameters, rows, serve

import numpy as np
from sklearn.neural_network import BernoulliRBM


class Sklearn:
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


serve(Sklearn)
