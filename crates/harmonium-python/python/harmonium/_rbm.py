"""``RBM``: a Restricted Boltzmann Machine as a scikit-learn estimator. Everything is computed by the library."""

import json
import warnings
from typing import NamedTuple

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
from ._progress import Listener

#: Measurements without improvement that ``early_stopping=True`` waits for.
PATIENCE = 10


class LogZ(NamedTuple):
    """log Z in nats, with its error bar and what to make of it."""

    value: float
    std_err: float
    lower: float
    upper: float
    ess: float | None
    method: str
    verdict: str
    how: str
    advice: str


class RBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BaseEstimator):
    """A Restricted Boltzmann Machine of binary, spin, categorical or real-valued units.

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
        Stop after so many measurements (True: 10) without improvement on the held-out rows, and keep the best machine.
    binarize : {"auto", "none", "sample", "threshold:T"}, default="auto"
        What becomes of values between 0 and 1 for Bernoulli units. "auto" is a threshold of 0.5 with a warning, "none" takes
        them for probabilities.
    missing : bool, default=False
        Whether NaN is an unknown cell, also in ``score`` and ``score_samples``.
    likelihood : bool, default=True
        Whether the likelihood is measured along the run.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same machine, on any number of threads.
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

    # Learning

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
        first = not hasattr(self, "machine_")
        X = checked(self, X, first)
        if first:
            self.seed_ = seed_of(self.random_state)
        self._learn(X, sample_weight, True)
        return self

    def _forget(self):
        for name in ("machine_", "_run", "history_", "n_updates_", "seed_"):
            self.__dict__.pop(name, None)

    def _learn(self, X, sample_weight, once):
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        if weights is not None and weights.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array")
        going_on = getattr(self, "machine_", None) if once else None
        listener = Listener(self.verbose and not once, self.callbacks)
        machine, run, binarized = _harmonium.fit(
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
        self.machine_ = machine
        self._n_features_out = int(self.weights_.shape[1])
        self.history_ = listener.history
        if once:
            self._run = run

    def _asked(self, once):
        """What is asked of the library."""
        train = {
            "seed": self.seed_,
            "method": self.method,
            "gibbs_steps": _whole("gibbs_steps", self.gibbs_steps),
            "chains": _whole("n_chains", self.n_chains),
            "batch_size": _whole("batch_size", self.batch_size),
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
            "visible_options": _options(self.visible, self.coupling, self.states),
            "hidden": self.hidden,
            "hidden_options": _options(self.hidden, self.hidden_coupling, self.hidden_states),
            "n_hidden": _whole("n_hidden", self.n_hidden),
            "binarize": None if self.binarize == "auto" else self.binarize,
            "missing": bool(self.missing),
            "epochs": None if self.epochs is None else float(self.epochs),
            "valid_fraction": 0.0 if once else fraction,
            "one_update": once,
            "train": train,
        }

    # What it says about rows

    def transform(self, X):
        """Hidden means ⟨h | v⟩ of every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_hidden)
            float32 for float32 rows, float64 for all others.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0, 0.0]], [0.0], [0.0, 0.0]).transform([[1]])
        array([[0.5, 0.5]])
        """
        X, seed = self._rows(X)
        return _like(X, _harmonium.means(self.machine_, Table(X), seed, self.n_threads))

    def reconstruct(self, X):
        """Visible → hidden means → visible means, in the units of the data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0]], [0.0], [0.0]).reconstruct([[1]])
        array([[0.5]])
        """
        X, seed = self._rows(X)
        return _like(X, _harmonium.reconstructions(self.machine_, Table(X), seed, self.n_threads))

    def free_energy(self, X):
        """F(v) of every row in nats; log p(v) = −F(v) − log Z.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows. With ``missing=True`` unknown cells are summed over.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0]], [1.0], [0.0]).free_energy([[0], [1]]).round(3)
        array([-0.693, -1.693])
        """
        X, seed = self._rows(X)
        return _harmonium.free_energies(self.machine_, Table(X), bool(self.missing), seed, self.n_threads)[0]

    def score_samples(self, X):
        """Log likelihood of every row, in nats: a probability, or a density in the units of the data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows. With ``missing=True`` the likelihood is that of the known cells.

        Returns
        -------
        ndarray of shape (n_samples,)

        Notes
        -----
        log Z is exact where that is affordable and else estimated, once; ``log_z`` tells its error bar.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0]).score_samples([[0, 1]]).round(3)
        array([-1.386])
        """
        X, seed = self._rows(X)
        energy, _, jacobian = _harmonium.free_energies(
            self.machine_, Table(X), bool(self.missing), seed, self.n_threads
        )
        return jacobian - energy - self.log_z().value

    def score(self, X, y=None):
        """Mean log likelihood, in nats per row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : ignored

        Returns
        -------
        float

        Examples
        --------
        >>> from harmonium import RBM
        >>> round(RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0]).score([[0, 1]]), 3)
        -1.386
        """
        return float(np.mean(self.score_samples(X)))

    def pseudo_log_likelihood(self, X):
        """Σ_i log p(v_i | all other v) of every row, in nats; needs no log Z.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0]).pseudo_log_likelihood([[0, 1]]).round(3)
        array([-1.386])
        """
        X, seed = self._rows(X)
        return _harmonium.pseudo_log_likelihoods(self.machine_, Table(X), seed, self.n_threads)

    def gradient(self, X, sample_weight=None, method="exact"):
        """Gradient of the mean log likelihood with respect to every parameter.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts.
        method : {"exact"}, default="exact"
            By enumeration, for machines with a small finite layer or two Gaussian ones.

        Returns
        -------
        dict of str to ndarray
            By the names of the tensors in a model file: ``weights``, ``visible.bias``, …

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0]], [0.0], [0.0]).gradient([[1]])["visible.bias"]
        array([0.5])
        """
        if method != "exact":
            raise ValueError(f"method: {method!r} is not one of exact")
        X, seed = self._rows(X)
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        return _harmonium.gradient(self.machine_, Table(X), weights, seed, self.n_threads)

    # The machine

    def log_z(
        self, method="auto", *, tolerance=0.5, n_chains=None, temperatures=None, budget=None, data=None, random_state=0
    ):
        """log Z in nats, computed once for the fitted machine.

        Parameters
        ----------
        method : {"auto", "exact", "bar", "ais", "reverse-ais", "tempering"}, default="auto"
            "auto" enumerates where that is affordable and anneals in both directions otherwise.
        tolerance : float, default=0.5
            Width of the interval that is narrow enough, in nats.
        n_chains, temperatures : int, default=None
            Effort of an estimate; as much as the tolerance needs if None.
        budget : float, default=None
            Work after which no more is begun, in weights visited; None is one to two minutes on two cores.
        data : array, default=None
            Rows like those the machine was trained on, which help an estimate.
        random_state : int, default=0
            Seed of an estimate.

        Returns
        -------
        LogZ
            value, std_err, lower, upper, ess, method, verdict, how, advice.

        Examples
        --------
        >>> from harmonium import RBM
        >>> z = RBM.from_arrays([[0.0]], [0.0], [0.0]).log_z()
        >>> round(z.value, 4), z.std_err, z.verdict  # log 4
        (1.3863, 0.0, 'exact')
        """
        self._fitted()
        rows = None if data is None else Table(checked(self, data, False))
        found = LogZ(
            **_harmonium.log_z(
                self.machine_,
                method,
                float(tolerance),
                n_chains,
                temperatures,
                budget,
                seed_of(random_state),
                rows,
                self.n_threads,
            )
        )
        if found.verdict == "disagree":
            warnings.warn(f"log Z: do not trust {found.value:.3f}: {found.advice}", stacklevel=2)
        return found

    def sample(
        self,
        n=1,
        *,
        steps=None,
        sampler="auto",
        n_chains=None,
        temperatures=None,
        burn_in=1000,
        thin=10,
        start="random",
        means=False,
        clamp=None,
        random_state=None,
        return_info=False,
    ):
        """Rows drawn from the machine, in the units of the data.

        Parameters
        ----------
        n : int, default=1
            Number of rows.
        steps : int, default=None
            Every row from a chain of its own, so many sweeps after its start; in place of ``burn_in``, ``thin``, ``n_chains``.
        sampler : {"auto", "gibbs", "tempering", "exact"}, default="auto"
            "auto" is exact where that takes seconds, and tempers otherwise.
        n_chains, temperatures : int, default=None
            Chains, and temperatures of each if it is tempered.
        burn_in, thin : int
            Sweeps before the first row of a chain, and between rows.
        start : {"random", "hidden"} or array, default="random"
            Where chains begin; rows of an array are taken in turn.
        means : bool, default=False
            Means of visible units given hidden ones, in place of samples.
        clamp : array of shape (n_features,), default=None
            A row that is held fast where it is a number; cells that are NaN are drawn given the others.
        random_state : int, RandomState, Generator or None, default=None
            None is the estimator's own.
        return_info : bool, default=False
            Also return what is known about the rows: R̂, effective number, warnings.

        Returns
        -------
        ndarray of shape (n, n_features), or (ndarray, dict)

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0]], [50.0], [0.0]).sample(2, random_state=0)
        array([[1.],
               [1.]])
        """
        self._fitted()
        hidden_start = isinstance(start, str) and start == "hidden"
        if isinstance(start, str) and start not in ("random", "hidden"):
            raise ValueError(f"start: {start!r} is not random, hidden or an array")
        asked = {
            "sampler": sampler,
            "n": _whole("n", n),
            "steps": None if steps is None else _whole("steps", steps),
            "chains": n_chains,
            "temperatures": temperatures,
            "burn_in": _whole("burn_in", burn_in, 0),
            "thin": _whole("thin", thin),
            "hidden_start": hidden_start,
            "means": bool(means),
            "seed": seed_of(self.random_state if random_state is None else random_state),
        }
        rows = None if isinstance(start, str) else Table(checked(self, start, False))
        held = None if clamp is None else Table(checked(self, np.atleast_2d(clamp), False))
        if held is not None and held.shape[0] != 1:
            raise ValueError(f"clamp: has {held.shape[0]} rows, but one is held fast")
        drawn, info = _harmonium.sample(self.machine_, json.dumps(asked), rows, held, self.n_threads)
        for text in info["warnings"]:
            warnings.warn(text, stacklevel=2)
        return (drawn, info) if return_info else drawn

    def impute(
        self,
        X,
        *,
        fill="mean",
        method="auto",
        n_chains=20,
        burn_in=100,
        steps=200,
        interval=None,
        random_state=None,
    ):
        """Fills NaN cells from what the others of the row say about them, p(v_A | v_B).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows with NaN where a cell is unknown.
        fill : {"mean", "best", "draw"}, default="mean"
            The conditional mean (Potts: the most probable state), the state nearest to it, or a draw.
        method : {"auto", "exact", "chains"}, default="auto"
            Exact where that is cheap, else by chains.
        n_chains, burn_in, steps : int
            Chains of every row, sweeps before they count, sweeps that count.
        interval : float, default=None
            Also return the ends of intervals with this probability, and standard deviations.
        random_state : int, RandomState, Generator or None, default=None
            None is the estimator's own.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or four of them
            Filled rows; with ``interval`` also low ends, high ends and spreads.

        Examples
        --------
        >>> import numpy as np
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[9.0], [9.0]], [-4.5, -4.5], [-9.0]).impute([[1, np.nan]]).round(2)
        array([[1.  , 0.98]])
        """
        self._fitted()
        X = checked(self, X, False)
        asked = {
            "fill": fill,
            "method": method,
            "chains": _whole("n_chains", n_chains),
            "burn_in": _whole("burn_in", burn_in, 0),
            "steps": _whole("steps", steps),
            "interval": None if interval is None else float(interval),
            "seed": seed_of(self.random_state if random_state is None else random_state),
        }
        parts = _harmonium.impute(self.machine_, Table(X), json.dumps(asked), self.n_threads)
        values = [_like(X, part) for part in parts]
        return values[0] if interval is None else (values[0], *values[2:])

    def recenter(self, visible=None, hidden=None):
        """Moves the offsets α, β; the distribution stays, biases and log Z take up the change.

        Parameters
        ----------
        visible, hidden : array, default=None
            New offsets, one per column of the layer; None keeps the old.

        Returns
        -------
        RBM
            Itself.

        Examples
        --------
        >>> from harmonium import RBM
        >>> rbm = RBM.from_arrays([[1.0]], [0.0], [0.0]).recenter(visible=[0.5])
        >>> rbm.visible_offset_, rbm.hidden_bias_
        (array([0.5]), array([0.5]))
        """
        self._fitted()
        numbers = [None if o is None else np.ascontiguousarray(o, dtype=np.float64) for o in (visible, hidden)]
        self.machine_ = self.machine_.recentered(*numbers)
        self.__dict__.pop("_run", None)
        return self

    # Files

    def save(self, path):
        """Writes a model file, which the command line and anyone's safetensors library read.

        Parameters
        ----------
        path : str or Path
            Where to; ends with .safetensors by custom.

        Examples
        --------
        >>> import os, tempfile
        >>> from harmonium import RBM
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> RBM.from_arrays([[1.0]], [0.0], [0.0]).save(path)
        >>> RBM.load(path).weights_
        array([[1.]])
        """
        self._fitted()
        self.machine_.write(path)

    @classmethod
    def load(cls, path):
        """The machine of a model file, fitted.

        Parameters
        ----------
        path : str or Path
            A file written by ``save`` or by the command line.

        Returns
        -------
        RBM

        Examples
        --------
        >>> import os, tempfile
        >>> from harmonium import RBM
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> RBM.from_arrays([[1.0]], [0.0], [0.0], visible="spin").save(path)
        >>> RBM.load(path).visible
        'spin'
        """
        return cls._of(_harmonium.Machine.read(path))

    @classmethod
    def from_arrays(
        cls,
        weights,
        visible_bias,
        hidden_bias,
        *,
        visible="bernoulli",
        coupling="cho",
        hidden="bernoulli",
        hidden_coupling="cho",
        states=None,
        hidden_states=None,
        visible_log_variance=None,
        hidden_log_variance=None,
        visible_offset=None,
        hidden_offset=None,
    ):
        """A fitted machine from its numbers.

        Parameters
        ----------
        weights : array of shape (n_visible, n_hidden)
            W; Potts layers have as many rows or columns per site as states. float32 is kept, everything else is float64.
        visible_bias, hidden_bias : array
            a and b.
        visible, coupling, hidden, hidden_coupling, states, hidden_states
            As in the constructor.
        visible_log_variance, hidden_log_variance : array, default=None
            log σ² of Gaussian layers; 0 if None.
        visible_offset, hidden_offset : array, default=None
            α and β; 0 if None.

        Returns
        -------
        RBM

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0], visible="gaussian").visible_log_variance_
        array([0., 0.])
        """
        weights = np.asarray(weights)
        metadata, tensors = {}, {"weights": weights, "visible.bias": visible_bias, "hidden.bias": hidden_bias}
        layers = {
            "visible": (visible, _options(visible, coupling, states), visible_log_variance, visible_offset),
            "hidden": (hidden, _options(hidden, hidden_coupling, hidden_states), hidden_log_variance, hidden_offset),
        }
        for side, (kind, options, log_variance, offset) in layers.items():
            metadata |= {f"{side}.kind": kind, **{f"{side}.{name}": value for name, value in options.items()}}
            if kind == "gaussian" and log_variance is None:
                log_variance = np.zeros(np.shape(tensors[f"{side}.bias"]))
            if log_variance is not None:
                tensors[f"{side}.log_variance"] = log_variance
            if offset is not None:
                tensors[f"{side}.offset"] = offset
        numbers = {name: np.ascontiguousarray(array, dtype=np.float64) for name, array in tensors.items()}
        return cls._of(_harmonium.Machine.from_tensors(metadata, numbers, weights.dtype == np.float32))

    @classmethod
    def from_sklearn(cls, rbm):
        """The machine of a fitted BernoulliRBM, scikit-learn's or this package's.

        Parameters
        ----------
        rbm : BernoulliRBM
            Fitted.

        Returns
        -------
        RBM

        Examples
        --------
        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from harmonium import RBM
        >>> fitted = SimpleNamespace(components_=np.eye(2), intercept_hidden_=np.zeros(2), intercept_visible_=np.zeros(2))
        >>> RBM.from_sklearn(fitted).n_features_in_
        2
        """
        return cls.from_arrays(np.asarray(rbm.components_).T, rbm.intercept_visible_, rbm.intercept_hidden_)

    @classmethod
    def _of(cls, machine):
        """An estimator that has a machine."""
        known = machine.metadata()
        whole = {name: int(known[key]) for name, key in [("states", "visible.states"), ("hidden_states", "hidden.states")] if key in known}
        self = cls(
            machine.n_hidden(),
            visible=known["visible.kind"],
            coupling=known.get("visible.coupling", "cho"),
            hidden=known["hidden.kind"],
            hidden_coupling=known.get("hidden.coupling", "cho"),
            binarize=known.get("data.binarize", "auto"),
            **whole,
        )
        self.machine_ = machine
        self.history_ = []
        self.n_updates_ = 0
        self.seed_ = 0
        self.n_features_in_ = machine.n_visible()
        self._n_features_out = int(self.weights_.shape[1])
        return self

    # The numbers

    def _tensor(self, name):
        self._fitted()
        tensors = self.machine_.tensors()
        if name in tensors:
            return tensors[name]
        side = name.split(".")[0]
        if name.endswith("offset"):
            return np.zeros_like(tensors[f"{side}.bias"])
        raise AttributeError(f"{side} units have no {name.split('.')[1]}")

    @property
    def weights_(self):
        """W, visible × hidden."""
        return self._tensor("weights")

    @property
    def visible_bias_(self):
        """The visible layer's bias a."""
        return self._tensor("visible.bias")

    @property
    def hidden_bias_(self):
        """The hidden layer's bias b."""
        return self._tensor("hidden.bias")

    @property
    def visible_log_variance_(self):
        """log σ² of Gaussian visible units."""
        return self._tensor("visible.log_variance")

    @property
    def hidden_log_variance_(self):
        """log σ² of Gaussian hidden units."""
        return self._tensor("hidden.log_variance")

    @property
    def visible_offset_(self):
        """The visible layer's offset α."""
        return self._tensor("visible.offset")

    @property
    def hidden_offset_(self):
        """The hidden layer's offset β."""
        return self._tensor("hidden.offset")

    def _fitted(self):
        if not hasattr(self, "machine_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit, or RBM.load a file.")

    def _rows(self, X):
        self._fitted()
        return checked(self, X, False), self.seed_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "machine_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = bool(self.missing)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _whole(name, value, least=1):
    """A whole number, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}: is {value!r}, but must be a whole number, at least {least}")
    return int(value)


def _options(kind, coupling, states):
    """Options of a kind of units; the default coupling is for those that have one."""
    options = {}
    if kind == "gaussian" or coupling != "cho":
        options["coupling"] = coupling
    if states is not None:
        options["states"] = str(_whole("states", states, 2))
    return options


def _like(X, result):
    """A result in the precision of the rows."""
    return result.astype(np.float32) if X.dtype == np.float32 else result
