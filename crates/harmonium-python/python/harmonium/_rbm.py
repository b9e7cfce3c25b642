"""``RBM``: a Restricted Boltzmann machine as a scikit-learn estimator. Everything is computed by the library."""

import json

import numpy as np

from ._compat import not_fitted, plain_rows
from ._draws import DrawsMixin
from ._estimator import Estimator
from ._files import FilesMixin
from ._frames import LIBRARIES
from ._helpers import known_rows
from ._made import Origin, made
from ._rows import RowsMixin
from ._schema import columns_of
from ._settings import switch, threads
from ._training import TrainingMixin
from ._verdict import Report, Verdict


class RBM(TrainingMixin, RowsMixin, DrawsMixin, FilesMixin, Estimator):
    """A Restricted Boltzmann machine of binary, spin, categorical or real-valued units.

    Every parameter has a sensible default; "auto" and None leave the choice to the library, which chooses as the command
    ``harmonium train`` does.

    Parameters
    ----------
    n_hidden : int or "auto", default="auto"
        Number of hidden units. "auto": 4 per column or 1 per 100 rows, whichever is more, from 16 to 256; continuous
        columns: 16 for up to 64 columns without missing cells, else 1 per column; if the hidden units are Gaussian too, the
        number that fits left-out rows best, or with missing cells 1 less than columns.
    visible : {"auto", "bernoulli", "spin", "gaussian", "potts"}, or a list of blocks, default="auto"
        Kind of visible units. "auto": each column of a data frame gets its own kind (see ``columns``); the columns of an array
        are bernoulli. Columns of several kinds are a list of blocks in the order of the columns, (kind, units) or
        (kind, units, options), such as ``[("bernoulli", 10), ("potts", 3, {"states": 5}), ("gaussian", 4)]``, or the same as
        text: ``"bernoulli*10,potts(states=5)*3,gaussian*4"``.
    coupling : {"cho", "krizhevsky", "goodfellow"}, default="cho"
        Coupling of Gaussian visible units.
    hidden : {"auto", "bernoulli", "spin", "gaussian", "potts"}, or a list of blocks, default="auto"
        Kind of hidden units (for their number see n_hidden). "auto": bernoulli; gaussian for up to 32 continuous columns with
        missing cells. A list of blocks, as for ``visible``, has their number.
    hidden_coupling : {"cho", "krizhevsky"}, default="cho"
        Coupling of Gaussian hidden units.
    states : int, default=None
        Number of states of Potts visible units. None: the largest code + 1. In a list of blocks each block has its own.
    hidden_states : int, default=None
        Number of states of Potts hidden units.
    start : {"auto", "independent", "factors"}, default="auto"
        Where learning begins. "auto": at the factor analysis of the columns if the visible units are continuous, except in
        ``partial_fit``; otherwise at independent columns.
    init : path, default=None
        Model file to start from.
    method : {"auto", "pcd", "cd", "pt", "wpcd", "exact"}, default="auto"
        How the model's side of the gradient (negative phase) is estimated. "auto": pt, or pcd for large models;
        exact for very small models, and for continuous data with up to 16 binary hidden units.
    gibbs_steps : int or "auto", default="auto"
        Gibbs sweeps per update. "auto": 1; 5 for large models.
    n_chains : int or "auto", default="auto"
        Number of persistent chains. "auto": 100; 200 for large models.
    n_temperatures : int, default=10
        Number of temperatures of parallel tempering.
    batch_size : int or "auto", default="auto"
        Rows per update. "auto": 100; 200 for large models; all rows, at most 2,000, with the exact gradient and
        start="factors".
    epochs : float, default=None
        Passes through the data, instead of updates. None: 300 epochs, but at least 40,000 (exact gradient: 10,000) and at
        most 80,000 updates; fewer for large models, but at least 10 epochs.
    time : float, default=None
        Seconds to train for, instead of updates. Trial updates are timed before the run. A run with the same number of updates
        gives the same model.
    updates : int, default=None
        Number of updates. None: as for epochs; 3,000 with the exact gradient and start="factors"; 0 if both layers are
        Gaussian: the start is already optimal.
    learning_rate : float or "auto", default="auto"
        Learning rate. "auto": 0.003; 0.005 with the exact gradient, with sgd, or if you give the method; 0.03 with the exact
        gradient and start="factors". A number is constant unless a schedule is given.
    max_drift : float or "auto", default="auto"
        Limit of the model's change per update, in nats. "auto": 0.3; none if a method or a learning rate is given.
    quick_start : int or "auto", default="auto"
        First updates, made fast: one sweep, no tempering, larger rate. "auto": a fortieth of the updates; 0 for large models,
        or if a method or a learning rate is given.
    schedule : {"auto", "constant", "step", "cosine", "inverse"}, default="auto"
        How the learning rate falls. "auto": cosine; constant if a learning rate is given.
    optimizer : {"sgd", "adam"}, default="adam"
        Optimizer.
    momentum : float, default=0.9
        Momentum of sgd, or beta 1 of adam.
    nesterov : bool, default=False
        Nesterov momentum (sgd).
    variance_rate : float, default=0.3
        Learning rate of Gaussian log-variances, as a multiple of the main one.
    centering : bool, default=True
        Centering (measuring each unit from its running mean). The trained model has no offsets.
    average : float or "auto", default="auto"
        Average the parameters over this last part of the updates. Single updates are noisy; their average fits better at any time of a
        run. 0 is the model of the last update. "auto": 0.1; none if a method is given, or the gradient is exact.
    keep : {"auto", "best", "last"}, default="auto"
        Which model of the run is the result. "auto": best with held-out rows, else last.
    early_stopping : bool, int or "auto", default="auto"
        Stop after N measurements without improvement on held-out rows. True: 10. The best model is kept.
    l1 : float, default=0.0
        L1 penalty: weight of the sum of |W|.
    l2 : float or "auto", default="auto"
        Weight decay: weight of half the sum of W². "auto": 4/rows × min(1, n_hidden/256) × max(1, √(columns/100));
        0 with the exact gradient, or if you give the method or an L1 penalty.
    max_norm : float, default=None
        Largest norm of a hidden unit's weights.
    sparsity : float, default=None
        Target for the mean activity of hidden units.
    sparsity_cost : float or "auto", default="auto"
        Weight of the sparsity penalty. "auto": 0.1 with a sparsity target, else 0.
    clip : float, default=None
        Clip the gradient to this norm.
    validation_fraction : float or "auto", default="auto"
        Fraction of the rows to hold out, chosen at random. "auto": 0.1 if there are at least 1,000 rows, otherwise 0
        (none).
    binarize : {"auto", "none", "sample", "threshold:T"}, default="auto"
        How to turn values between 0 and 1 into 0 or 1. "auto": a threshold of 0.5, with a warning; "none": they are
        probabilities.
    standardize : bool or "auto", default="auto"
        Give every column mean 0 and standard deviation 1. "auto": for continuous units, except in ``partial_fit``. Results are
        in the units of the data.
    columns : dict, default=None
        Kind of a column: a kind of visible units, or ignore, by the name of the column of a data frame:
        ``columns={"age": "gaussian", "zip": "ignore", "grade": "potts"}``. Columns that are not named are described as they look:
        two values are bernoulli, words and few whole numbers potts, other numbers gaussian; constant columns, dates,
        identifiers are left out, with a warning. ``schema_`` and ``verbose=True`` list them.
    schema : path, default=None
        Kinds and categories of columns, as harmonium schema writes them; for data frames.
    unseen : {"error", "missing"}, default="error"
        What to do with words that are not among the categories.
    missing : bool or "auto", default="auto"
        Treat empty, NaN, NA and ? cells as missing. They are summed over. "auto": in data frames, where these are null
        cells and words such as "?"; in arrays, where they are NaN, they are an error.
    image : str, default=None
        Height and width of the rows as images, for the report; such as "28x28".
    likelihood : bool, default=True
        Whether to measure the likelihood, while training and at the end.
    report_every : int, default=200
        Updates between measurements.
    checkpoint_every : int, default=1000
        Updates between checkpoints (does not change the result).
    random_state : int, RandomState, Generator or None, default=None
        Seed of all random numbers. The same seed gives the same model, on any number of threads.
    n_threads : int, default=None
        Threads; None and -1 use all cores.
    verbose : bool, default=False
        Print a line every two seconds.
    callbacks : callable or list of callables, default=None
        Called with every event of a run as a dict: once when it starts, after every ``report_every`` updates and after the last
        one, after every checkpoint (with an output directory), when a diverged update was taken back, and once at the end. One
        that returns True (Python's or NumPy's) stops the run before the next update; other values are ignored. ``partial_fit``
        calls them only when its update was taken back.
    warm_start : bool, default=False
        A second ``fit`` goes on from the present model, also from one that was loaded, instead of beginning anew. The units,
        their number and the standardization stay those of the model; ``n_updates_`` counts all fits.

    Attributes
    ----------
    weights_, visible_bias_, hidden_bias_ : ndarray
        W (visible × hidden), a and b; likewise ``visible_log_variance_``, ``hidden_log_variance_`` of Gaussian layers, and
        ``visible_offset_``, ``hidden_offset_``, which are zero unless ``recenter`` moved them.
    verdict_ : Verdict
        What became of the last run, with its evidence; computed when it is first asked for.
    history_ : list of dict
        The events of the last run.
    n_updates_ : int
        Updates that the model has had: all of the run, also those after the one whose model was kept, and one for each
        ``partial_fit`` that was not taken back. 0 for a loaded model.
    n_features_in_ : int
        Number of visible units; after a fit to a data frame, the number of its columns.
    schema_ : list of Column
        What the columns of a data frame are learned as: name, kind, categories, missing cells, values and why.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium import RBM
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 50, axis=0)
    >>> rbm = RBM(n_hidden=4, epochs=2000, random_state=0).fit(X)
    >>> bool(abs(rbm.score(X) - np.log(0.5)) < 0.2)  # two patterns, probability one half each
    True
    >>> rbm.verdict_.outcome
    'learned'
    """

    def __init__(
        self,
        n_hidden="auto",
        *,
        visible="auto",
        coupling="cho",
        hidden="auto",
        hidden_coupling="cho",
        states=None,
        hidden_states=None,
        start="auto",
        init=None,
        method="auto",
        gibbs_steps="auto",
        n_chains="auto",
        n_temperatures=10,
        batch_size="auto",
        epochs=None,
        time=None,
        updates=None,
        learning_rate="auto",
        max_drift="auto",
        quick_start="auto",
        schedule="auto",
        optimizer="adam",
        momentum=0.9,
        nesterov=False,
        variance_rate=0.3,
        centering=True,
        average="auto",
        keep="auto",
        early_stopping="auto",
        l1=0.0,
        l2="auto",
        max_norm=None,
        sparsity=None,
        sparsity_cost="auto",
        clip=None,
        validation_fraction="auto",
        binarize="auto",
        standardize="auto",
        columns=None,
        schema=None,
        unseen="error",
        missing="auto",
        image=None,
        likelihood=True,
        report_every=200,
        checkpoint_every=1000,
        random_state=None,
        n_threads=None,
        verbose=False,
        callbacks=None,
        warm_start=False,
    ):
        self.n_hidden = n_hidden
        self.visible = visible
        self.coupling = coupling
        self.hidden = hidden
        self.hidden_coupling = hidden_coupling
        self.states = states
        self.hidden_states = hidden_states
        self.start = start
        self.init = init
        self.method = method
        self.gibbs_steps = gibbs_steps
        self.n_chains = n_chains
        self.n_temperatures = n_temperatures
        self.batch_size = batch_size
        self.epochs = epochs
        self.time = time
        self.updates = updates
        self.learning_rate = learning_rate
        self.max_drift = max_drift
        self.quick_start = quick_start
        self.schedule = schedule
        self.optimizer = optimizer
        self.momentum = momentum
        self.nesterov = nesterov
        self.variance_rate = variance_rate
        self.centering = centering
        self.average = average
        self.keep = keep
        self.early_stopping = early_stopping
        self.l1 = l1
        self.l2 = l2
        self.max_norm = max_norm
        self.sparsity = sparsity
        self.sparsity_cost = sparsity_cost
        self.clip = clip
        self.validation_fraction = validation_fraction
        self.binarize = binarize
        self.standardize = standardize
        self.columns = columns
        self.schema = schema
        self.unseen = unseen
        self.missing = missing
        self.image = image
        self.likelihood = likelihood
        self.report_every = report_every
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    @property
    def model_(self):
        """The trained model, as it stands in its file."""
        if getattr(self, "_model", None) is None:
            if getattr(self, "_trainer", None) is None:
                raise AttributeError("model_")
            self._model = self._trainer.model()
        return self._model

    def _conclude(self):
        self._fitted()
        if getattr(self, "_concluded", None) is None:
            if getattr(self, "_run", None) is None:
                raise AttributeError("a verdict and a report need a run: call fit (partial_fit and loaded models have none)")
            self._concluded = self._run.conclude(threads(self.n_threads))
        return self._concluded

    @property
    def verdict_(self):
        """What became of the last run: outcome, words, advice and evidence."""
        return Verdict.from_json(self._conclude()[0])

    def report(self, path=None):
        """The report of the last run: a page with its verdict, curves, samples and weights.

        Parameters
        ----------
        path : path, default=None
            Where to write the page; it needs no other file.

        Returns
        -------
        Report
            It shows itself in a notebook; ``html`` is the page as text.

        Examples
        --------
        >>> import numpy as np
        >>> from harmonium import RBM
        >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 50, axis=0)
        >>> "fits the training rows" in RBM(n_hidden=4, epochs=2000, random_state=0).fit(X).report().html
        True
        """
        report = Report(self._conclude()[1])
        if path is not None:
            report.save(path)
        return report

    def __getstate__(self):
        """Everything but the run: a trainer goes as its checkpoint."""
        state = dict(self.__dict__)
        trainer = state.pop("_trainer", None)
        state.pop("_run", None)
        if trainer is not None:
            state["_model"], state["_checkpoint"] = self.model_, trainer.checkpoint()
        return state

    def _fitted(self):
        if not self.__sklearn_is_fitted__():
            raise not_fitted(f"This {type(self).__name__} instance is not fitted yet: call fit, or RBM.load a file.")

    def _rows(self, X):
        """The rows for the model, whether cells may be missing, and the seed."""
        self._fitted()
        return known_rows(self, X), self._takes_missing(), self.seed_

    def _takes_missing(self):
        if isinstance(self.missing, str) and self.missing == "auto":
            return self._has_schema()
        return switch("missing", self.missing)

    def _has_schema(self):
        """Whether the model knows its columns by name."""
        if getattr(self, "_model", None) is None:
            # Between updates the model is not read back for this.
            return self.__dict__.get("_frame") is not None
        return self._model.schema() is not None

    def _origin(self):
        """The data frame that the model was fitted to; None if it was an array, or a model from a file."""
        return self.__dict__.get("_frame") if self._has_schema() else None

    @property
    def schema_(self):
        """What the columns of the data frame are learned as: a list of ``Column``."""
        described = self.model_.schema()
        if described is None:
            raise AttributeError("schema_: the model was not fitted to a data frame")
        return columns_of(self.__dict__.get("_columns") or json.loads(described))

    def to_frame(self, X, library="pandas"):
        """Return rows of codes as a data frame with the names and words of the columns.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows of codes and numbers, as a model from a file samples them.
        library : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the data frame.

        Returns
        -------
        data frame

        Examples
        --------
        >>> import pandas
        >>> from harmonium import RBM
        >>> table = pandas.DataFrame({"sex": ["f", "m", "f", "m"] * 10, "age": range(0, 80, 2)})
        >>> rbm = RBM(2, updates=10, random_state=0).fit(table)
        >>> rbm.to_frame([[1, 40.5]])
          sex   age
        0   m  40.5
        """
        if library not in LIBRARIES:
            raise ValueError(f"library is {library!r}, but must be one of {', '.join(map(repr, LIBRARIES))}")
        self._fitted()
        if not self._has_schema():
            raise ValueError("to_frame needs a model that knows its columns by name: fit it to a data frame")
        rows = np.asarray(plain_rows(X, self.model_.n_visible()), dtype=np.float64)
        return made(self.model_, rows, Origin(library, {}), drawn=False)

    def __sklearn_is_fitted__(self):
        # Without model_, which reads the model back from the trainer.
        return getattr(self, "_model", None) is not None or getattr(self, "_trainer", None) is not None
