"""``RBM``: a Restricted Boltzmann machine as a scikit-learn estimator. Everything is computed by the library."""

import json
import warnings

import numpy as np

from . import _harmonium
from ._compat import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    DensityMixin,
    NotFittedError,
    Table,
    TransformerMixin,
    checked,
    seed_of,
)
from ._draws import DrawsMixin
from ._files import FilesMixin
from ._helpers import options_of, whole
from ._progress import Listener
from ._rows import RowsMixin

#: Measurements without improvement that ``early_stopping=True`` waits for.
PATIENCE = 10


class RBM(RowsMixin, DrawsMixin, FilesMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BaseEstimator):
    """A Restricted Boltzmann machine of binary, spin, categorical or real-valued units.

    Parameters
    ----------
    n_hidden : int, default=256
        Number of hidden units.
    visible, hidden : {"bernoulli", "spin", "potts", "gaussian"}, default="bernoulli"
        What the units of a layer are.
    coupling : {"cho", "krizhevsky", "goodfellow"}, default="cho"
        Coupling of Gaussian visible units.
    hidden_coupling : {"cho", "krizhevsky"}, default="cho"
        Coupling of Gaussian hidden units.
    states, hidden_states : int, default=None
        States of Potts units; of visible ones the largest code plus one unless given.
    method : {"pcd", "cd", "pt", "exact"}, default="pcd"
        Where the model's side of the gradient comes from.
    gibbs_steps : int, default=1
        Gibbs sweeps per update.
    n_chains : int, default=100
        Persistent chains.
    batch_size : int, default=100
        Rows per update.
    learning_rate : float, default=None
        Multiplies the gradient of the mean log likelihood. None is 0.005, falling to zero along a cosine; a number is kept
        constant unless there is a ``schedule``.
    schedule : {"constant", "cosine", "linear"}, default=None
        How the learning rate falls.
    epochs : float, default=None
        Passes through the data. None is ten, but at least 10,000 updates.
    optimizer : {"adam", "sgd"}, default="adam"
        From a gradient to a step.
    momentum : float, default=0.9
        Part of the last step that is kept.
    centering : bool, default=True
        Whether offsets follow the means while it learns; the result has none.
    l1, l2 : float, default=0.0
        Penalties on the weights.
    validation_fraction : float, default=0.0
        Part of the rows to judge by.
    early_stopping : bool or int, default=False
        Stop after so many measurements (True: 10) without improvement on the held-out rows, and keep the best model.
    binarize : {"auto", "none", "sample", "threshold:T"}, default="auto"
        What becomes of values between 0 and 1 for Bernoulli units. "auto" is a threshold of 0.5 with a warning, "none" takes
        them for probabilities.
    missing : bool, default=False
        Whether NaN is an unknown cell, also in ``score`` and ``score_samples``.
    likelihood : bool, default=True
        Whether the likelihood is measured along the run.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same model, on any number of threads.
    n_threads : int, default=None
        Threads; all if None.
    verbose : bool, default=False
        Prints a line every two seconds.
    callbacks : callable or list of callables, default=None
        Called with every event of a run as a dict; one that returns True stops the run.

    Attributes
    ----------
    weights_, visible_bias_, hidden_bias_ : ndarray
        W (visible × hidden), a and b; likewise ``visible_log_variance_``, ``hidden_log_variance_`` of Gaussian layers, and
        ``visible_offset_``, ``hidden_offset_``, which are zero unless ``recenter`` moved them.
    history_ : list of dict
        The events of the last run.
    n_features_in_ : int
        Number of visible units.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium import RBM
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 50, axis=0)
    >>> rbm = RBM(n_hidden=4, epochs=2000, random_state=0).fit(X)
    >>> bool(abs(rbm.score(X) - np.log(0.5)) < 0.2)  # two patterns, probability one half each
    True
    """

    def __init__(
        self,
        n_hidden=256,
        *,
        visible="bernoulli",
        coupling="cho",
        hidden="bernoulli",
        hidden_coupling="cho",
        states=None,
        hidden_states=None,
        method="pcd",
        gibbs_steps=1,
        n_chains=100,
        batch_size=100,
        learning_rate=None,
        schedule=None,
        epochs=None,
        optimizer="adam",
        momentum=0.9,
        centering=True,
        l1=0.0,
        l2=0.0,
        validation_fraction=0.0,
        early_stopping=False,
        binarize="auto",
        missing=False,
        likelihood=True,
        random_state=None,
        n_threads=None,
        verbose=False,
        callbacks=None,
    ):
        self.n_hidden = n_hidden
        self.visible = visible
        self.coupling = coupling
        self.hidden = hidden
        self.hidden_coupling = hidden_coupling
        self.states = states
        self.hidden_states = hidden_states
        self.method = method
        self.gibbs_steps = gibbs_steps
        self.n_chains = n_chains
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.epochs = epochs
        self.optimizer = optimizer
        self.momentum = momentum
        self.centering = centering
        self.l1 = l1
        self.l2 = l2
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.binarize = binarize
        self.missing = missing
        self.likelihood = likelihood
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X, y=None, sample_weight=None):
        """Learns from rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows; bool, integer or float, in any order. They are packed (a bit, a code or a number per cell), not copied.
        y : ignored
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        RBM
            Itself.

        Examples
        --------
        >>> import numpy as np
        >>> from harmonium import RBM
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> RBM(n_hidden=4, visible="gaussian", epochs=5, random_state=0).fit(X).weights_.shape
        (3, 4)
        """
        self._forget()
        X = checked(self, X, True)
        self.seed_ = seed_of(self.random_state)
        self._learn(X, sample_weight, False)
        return self

    def partial_fit(self, X, y=None, sample_weight=None):
        """Makes one more update, with all rows of X as its batch; chains and momentum go on.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The batch.
        y : ignored
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        RBM
            Itself.

        Examples
        --------
        >>> import numpy as np
        >>> from harmonium import RBM
        >>> rbm = RBM(n_hidden=2, learning_rate=0.01, random_state=0)
        >>> for batch in np.eye(4)[np.random.default_rng(0).integers(4, size=(20, 10))]:
        ...     _ = rbm.partial_fit(batch)
        >>> rbm.n_updates_
        20
        """
        first = not hasattr(self, "model_")
        X = checked(self, X, first)
        if first:
            self.seed_ = seed_of(self.random_state)
        self._learn(X, sample_weight, True)
        return self

    def _forget(self):
        for name in ("model_", "_run", "history_", "n_updates_", "seed_"):
            self.__dict__.pop(name, None)

    def _learn(self, X, sample_weight, once):
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        if weights is not None and weights.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array")
        going_on = getattr(self, "model_", None) if once else None
        listener = Listener(self.verbose and not once, self.callbacks)
        model, run, binarized = _harmonium.fit(
            Table(X),
            json.dumps(self._asked(once)),
            weights,
            going_on,
            getattr(self, "_run", None) if going_on is not None else None,
            listener,
            self.n_threads,
        )
        if binarized is not None and going_on is None:
            warnings.warn(
                f"X has values between 0 and 1: they were binarised by {binarized}. "
                "Say so with binarize='threshold:0.5', or take them for probabilities with binarize='none'.",
                stacklevel=3,
            )
        before = getattr(self, "n_updates_", 0) if going_on is not None and not hasattr(self, "_run") else 0
        self.n_updates_ = before + listener.updates
        self.model_ = model
        self._n_features_out = int(self.weights_.shape[1])
        self.history_ = listener.history
        if once:
            self._run = run

    def _asked(self, once):
        """What is asked of the library."""
        train = {
            "seed": self.seed_,
            "method": self.method,
            "gibbs_steps": whole("gibbs_steps", self.gibbs_steps),
            "chains": whole("n_chains", self.n_chains),
            "batch_size": whole("batch_size", self.batch_size),
            "centering": bool(self.centering),
            "likelihood": bool(self.likelihood) and not once,
            "optimizer": {"name": self.optimizer, "momentum": float(self.momentum)},
            "penalty": {"l1": float(self.l1), "l2": float(self.l2)},
        }
        if self.learning_rate is not None:
            train |= {"lr": float(self.learning_rate), "schedule": "constant"}
        if self.schedule is not None:
            train["schedule"] = self.schedule
        patience = PATIENCE if self.early_stopping is True else int(self.early_stopping)
        if patience and not once:
            train["early_stop"] = patience
        if once:
            train |= {"schedule": "constant", "updates": 2**63, "report_every": 2**63}
        if self.epochs is not None and not float(self.epochs) >= 0:
            raise ValueError(f"epochs: is {self.epochs}, but must be 0 or more")
        fraction = float(self.validation_fraction)
        if not 0 <= fraction < 1:
            raise ValueError(f"validation_fraction: is {fraction}, but must be at least 0 and below 1")
        return {
            "visible": self.visible,
            "visible_options": options_of(self.visible, self.coupling, self.states),
            "hidden": self.hidden,
            "hidden_options": options_of(self.hidden, self.hidden_coupling, self.hidden_states),
            "n_hidden": whole("n_hidden", self.n_hidden),
            "binarize": None if self.binarize == "auto" else self.binarize,
            "missing": bool(self.missing),
            "epochs": None if self.epochs is None else float(self.epochs),
            "valid_fraction": 0.0 if once else fraction,
            "one_update": once,
            "train": train,
        }

    def _fitted(self):
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit, or RBM.load a file.")

    def _rows(self, X):
        self._fitted()
        return checked(self, X, False), self.seed_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = bool(self.missing)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
