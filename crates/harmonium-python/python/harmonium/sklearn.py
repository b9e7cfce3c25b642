"""``BernoulliRBM``: a drop-in replacement for scikit-learn's class of that name, with the training in Rust.

Change ``from sklearn.neural_network import BernoulliRBM`` to ``from harmonium.sklearn import BernoulliRBM``. It uses the same
update rule (persistent chains, rows in order, the sums of both phases divided by the batch size), but different random
numbers, so the same seed gives a different model of the same quality. ``fit`` always computes in single precision, because
the noise of the chains is much larger than its rounding errors; the attributes have the precision of the rows.
"""

import time
from numbers import Integral, Real

import numpy as np

try:
    import scipy.sparse as sp
    from scipy.special import expit
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
    from sklearn.utils import check_random_state
    from sklearn.utils._param_validation import Interval
    from sklearn.utils.extmath import safe_sparse_dot
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError(
        "harmonium.sklearn needs scikit-learn 1.6 or later: pip install 'harmonium[sklearn]' (harmonium.RBM does without)"
    ) from missing

from . import _harmonium
from ._compat import Table

__all__ = ["BernoulliRBM"]


class BernoulliRBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Bernoulli Restricted Boltzmann machine with scikit-learn's interface.

    Parameters
    ----------
    n_components : int, default=256
        Number of binary hidden units.
    learning_rate : float, default=0.1
        Learning rate.
    batch_size : int, default=10
        Rows per update, which is also the number of chains.
    n_iter : int, default=10
        Passes through the data.
    verbose : int, default=0
        Print a line after every pass if not 0.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of random numbers.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Weights.
    intercept_hidden_, intercept_visible_ : ndarray
        Biases.
    h_samples_ : ndarray of shape (batch_size, n_components)
        Hidden states of the chains.
    n_features_in_ : int
        Number of visible units.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.sklearn import BernoulliRBM
    >>> X = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> BernoulliRBM(n_components=2).fit(X)
    BernoulliRBM(n_components=2)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_components=256, *, learning_rate=0.1, batch_size=10, n_iter=10, verbose=0, random_state=None
    ):
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_iter = n_iter
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Train the model on rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows. Values between 0 and 1 are treated as probabilities; any finite value is accepted.
        y : ignored

        Returns
        -------
        BernoulliRBM
            The estimator itself.

        Examples
        --------
        >>> from harmonium.sklearn import BernoulliRBM
        >>> BernoulliRBM(n_components=2, random_state=0).fit([[0, 1], [1, 0]]).components_.shape
        (2, 2)
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        rng = check_random_state(self.random_state)
        self._initialise(X, rng, X.dtype)
        learner = self._learner(X, min(self.batch_size, X.shape[0]), rng, single=True)
        start = time.time()
        for iteration in range(1, self.n_iter + 1):
            learner.epoch()
            if self.verbose:
                self._take(learner)
                fit, end = self.score_samples(X).mean(), time.time()
                name = type(self).__name__
                print(f"[{name}] Iteration {iteration}, pseudo-likelihood = {fit:.2f}, time = {end - start:.2f}s")
                start = end
        self._take(learner)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Make one update with all rows of X as its batch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The batch.
        y : ignored

        Returns
        -------
        BernoulliRBM
            The estimator itself.

        Examples
        --------
        >>> from harmonium.sklearn import BernoulliRBM
        >>> BernoulliRBM(n_components=2).partial_fit([[0, 1], [1, 0]]).h_samples_.shape
        (10, 2)
        """
        first = not hasattr(self, "components_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=first)
        if not hasattr(self, "random_state_"):
            self.random_state_ = check_random_state(self.random_state)
        if first:
            self._initialise(X, self.random_state_, np.float64)
        learner = self._learner(X, X.shape[0], self.random_state_, single=False)
        learner.epoch()
        self._take(learner)
        return self

    def _initialise(self, X, rng, dtype):
        """Start with small random weights, zero biases and chains at zero."""
        shape = (self.n_components, X.shape[1])
        self.components_ = np.asarray(rng.normal(0, 0.01, shape), order="F", dtype=dtype)
        self._n_features_out = self.n_components
        self.intercept_hidden_ = np.zeros(self.n_components, dtype=dtype)
        self.intercept_visible_ = np.zeros(X.shape[1], dtype=dtype)
        self.h_samples_ = np.zeros((self.batch_size, self.n_components), dtype=dtype)

    def _learner(self, X, batch, rng, single):
        names = ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_")
        arrays = (np.asarray(getattr(self, name), dtype=np.float64) for name in names)
        return _harmonium.Pcd(Table(X), *arrays, single, batch, float(self.learning_rate), int(rng.randint(2**31 - 1)))

    def _take(self, learner):
        dtype = self.components_.dtype
        for name, array in learner.arrays().items():
            setattr(self, f"{name}_", array.astype(dtype, copy=False))

    def transform(self, X):
        """Compute the hidden means P(h = 1 | v) of every row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)

        Examples
        --------
        >>> from harmonium.sklearn import BernoulliRBM
        >>> BernoulliRBM(n_components=2).fit_transform([[0, 1], [1, 0]]).shape
        (2, 2)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=(np.float64, np.float32))
        return self._mean_hiddens(X)

    def gibbs(self, v):
        """Run one Gibbs sweep from every row.

        Parameters
        ----------
        v : array of shape (n_samples, n_features)
            Visible states.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_features)
            Visible states after the sweep.

        Examples
        --------
        >>> import numpy as np
        >>> from harmonium.sklearn import BernoulliRBM
        >>> X = np.array([[0, 1], [1, 0]])
        >>> BernoulliRBM(n_components=2).fit(X).gibbs(X).dtype
        dtype('bool')
        """
        check_is_fitted(self)
        if not hasattr(self, "random_state_"):
            self.random_state_ = check_random_state(self.random_state)
        return self._sample_visibles(self._sample_hiddens(v, self.random_state_), self.random_state_)

    def score_samples(self, X):
        """Compute a stochastic log pseudo-likelihood of every row: n log p(v_i | rest) for one random column i.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of zeros and ones (not checked).

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from harmonium.sklearn import BernoulliRBM
        >>> BernoulliRBM(n_components=2).fit([[0, 1], [1, 0]]).score_samples([[0, 1]]).shape
        (1,)
        """
        check_is_fitted(self)
        v = validate_data(self, X, accept_sparse="csr", reset=False)
        rows, n = v.shape
        which = (np.arange(rows), check_random_state(self.random_state).randint(0, n, rows))
        if sp.issparse(v):
            change = np.asarray(1 - 2 * v[which]).ravel()
            flipped = v + sp.csr_array((change, which), shape=v.shape)
        else:
            flipped = v.copy()
            flipped[which] = 1 - flipped[which]
        return -n * np.logaddexp(0, self._free_energy(v) - self._free_energy(flipped))

    def _mean_hiddens(self, v):
        p = safe_sparse_dot(v, self.components_.T)
        p += self.intercept_hidden_
        return expit(p, out=p)

    def _sample_hiddens(self, v, rng):
        p = self._mean_hiddens(v)
        return rng.uniform(size=p.shape) < p

    def _sample_visibles(self, h, rng):
        p = expit(np.dot(h, self.components_) + self.intercept_visible_)
        return rng.uniform(size=p.shape) < p

    def _free_energy(self, v):
        inputs = safe_sparse_dot(v, self.components_.T) + self.intercept_hidden_
        return -safe_sparse_dot(v, self.intercept_visible_) - np.logaddexp(0, inputs).sum(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
