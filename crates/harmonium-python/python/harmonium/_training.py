"""Methods of ``RBM`` that train: a whole run, or one update after another."""

import json
import os
import warnings

import numpy as np

from . import _harmonium
from ._asked import asked, continued
from ._compat import Table, checked, seed_of
from ._frames import Frame, as_frame, library_of
from ._helpers import known_rows, new_rows
from ._made import Origin
from ._progress import Listener
from ._schema import warn
from ._settings import MOST, switch, threads


class TrainingMixin:
    """Training, in a run or update by update."""

    def fit(self, X, y=None, sample_weight=None, *, validation_data=None, output=None, resume=False):
        """Train the model on rows.

        Ctrl-C ends training within a second: the model of the last update is kept and can be used, and KeyboardInterrupt is raised.
        If training fails, what was fitted before stays. With ``warm_start=True`` training goes on from the present model, with new chains.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows; bool, integer or float, in any order. They are packed (a bit, a code or a number per cell), not copied. The
            columns of a data frame (pandas, polars, pyarrow) may also be words, categories and dates; see ``visible``.
        y : ignored
        sample_weight : array of shape (n_samples,) or str, default=None
            How often each row counts; or "similarity:F", which gives a row the weight 1/n if n rows share the fraction F of
            its sites.
        validation_data : array, sparse matrix or data frame of shape (n_rows, n_features), default=None
            Held-out rows, instead of ``validation_fraction``.
        output : path, default=None
            Run directory, as ``harmonium train -o`` writes it: settings, measurements, checkpoints, model and report.
        resume : bool, default=False
            Continue the run in ``output`` from its checkpoint; X must be the same.

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
        before = dict(self.__dict__)
        try:
            interrupted = self._fit(X, sample_weight, validation_data, output, resume)
        except BaseException:
            # What was fitted before stays as it was.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        if interrupted is not None:
            raise interrupted
        return self

    def _fit(self, X, sample_weight, validation_data, output, resume):
        """Fit; returns what interrupted the run, if anything. The model is then that of the last update."""
        present = self.model_ if self._goes_on() else None
        rows = new_rows(self, X) if present is None else known_rows(self, X)
        valid = None if validation_data is None else self._held_out(validation_data, rows)
        seed = self.seed_ = seed_of(self.random_state)
        listener = Listener(self.verbose, self.callbacks)
        settings = asked(self) if present is None else continued(self, present)
        settings.setdefault("data.missing", isinstance(rows, Frame))
        before = 0 if present is None else self.n_updates_
        if isinstance(sample_weight, str):
            settings["data.weights"] = sample_weight
            sample_weight = None
        model, updates, run, notes, concluded, interrupted = _harmonium.fit(
            rows,
            json.dumps(settings),
            _weights(sample_weight),
            valid,
            present,
            None if output is None else os.fspath(output),
            bool(resume),
            listener,
            threads(self.n_threads),
        )
        known = (self.__dict__.get("_frame"), self.__dict__.get("_columns")) if present is not None else (None, None)
        self._forget()
        self._frame = Origin.of(rows) if isinstance(rows, Frame) else known[0]
        self._columns = listener.columns or known[1]
        self._model, self._run, self._concluded, self.seed_ = model, run, concluded, seed
        self.n_updates_ = before + updates
        self._n_features_out = int(self.weights_.shape[1])
        self.history_ = listener.history
        _warn(notes)
        warn(listener.columns or [], self.columns)
        return interrupted

    def _held_out(self, X, rows):
        """Held-out rows, read like the training rows."""
        X = as_frame(X)
        return Frame(X, self.unseen) if isinstance(rows, Frame) and library_of(X) else Table(checked(self, X, False))

    def _goes_on(self):
        """Whether a fit goes on from the present model."""
        return switch("warm_start", self.warm_start) and self.__sklearn_is_fitted__()

    def partial_fit(self, X, y=None, sample_weight=None):
        """Makes one more update, with all rows of X as its batch; chains and momentum go on.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
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
        first = not self.__sklearn_is_fitted__()
        table = new_rows(self, X) if first else known_rows(self, X)
        listener = Listener(False, self.callbacks)
        if getattr(self, "_trainer", None) is None:
            if first:
                self.seed_ = seed_of(self.random_state)
                self._frame = Origin.of(table) if isinstance(table, Frame) else None
            self._start(table)
        self._trainer.step(table, _weights(sample_weight), listener, threads(self.n_threads))
        # The model is read back when it is asked for.
        self._model = self._run = self._concluded = None
        self.history_ = listener.history
        # An event is an update that was taken back.
        self.n_updates_ = getattr(self, "n_updates_", 0) + (not listener.history)
        if first:
            self._n_features_out = int(self.weights_.shape[1])
        return self

    def _start(self, table):
        """A trainer for batches: from the first batch, from the fitted model, or from the checkpoint of a pickle."""
        settings = {
            **asked(self),
            "train.likelihood": False,
            "train.schedule": "constant",
            "train.updates": MOST,
            "train.report_every": MOST,
        }
        settings.setdefault("data.missing", isinstance(table, Frame))
        for key in ("train.early_stop", "data.valid_fraction", "model.init", "epochs", "time"):
            settings.pop(key, None)
        init, checkpoint = getattr(self, "_model", None), self.__dict__.pop("_checkpoint", None)
        self._trainer, notes = _harmonium.Trainer.start(table, json.dumps(settings), init, checkpoint, threads(self.n_threads))
        _warn(notes)

    def _forget(self):
        for name in ("_model", "_run", "_trainer", "_checkpoint", "_concluded", "_frame", "_columns", "history_", "n_updates_", "seed_"):
            self.__dict__.pop(name, None)


def _weights(sample_weight):
    weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weights is not None and weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array")
    return weights


def _warn(notes):
    for note in notes:
        warnings.warn(note, stacklevel=4)
