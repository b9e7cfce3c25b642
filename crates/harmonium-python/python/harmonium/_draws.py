"""log Z, samples, unknown cells, offsets: what a model is and gives."""

import json
import warnings
from typing import NamedTuple

import numpy as np

from . import _harmonium
from ._compat import Table, checked, seed_of
from ._helpers import like
from ._settings import whole


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


class DrawsMixin:
    """Questions about the model."""

    def log_z(
        self, method="auto", *, tolerance=0.5, n_chains=None, temperatures=None, budget=None, data=None, random_state=0
    ):
        """log Z in nats, computed once for the fitted model.

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
            Rows like those the model was trained on, which help an estimate.
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
                self.model_,
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
        """Rows drawn from the model, in the units of the data.

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
            "n": whole("n", n),
            "steps": None if steps is None else whole("steps", steps),
            "chains": n_chains,
            "temperatures": temperatures,
            "burn_in": whole("burn_in", burn_in, 0),
            "thin": whole("thin", thin),
            "hidden_start": hidden_start,
            "means": bool(means),
            "seed": seed_of(self.random_state if random_state is None else random_state),
        }
        rows = None if isinstance(start, str) else Table(checked(self, start, False))
        held = None if clamp is None else Table(checked(self, np.atleast_2d(clamp), False))
        if held is not None and held.shape[0] != 1:
            raise ValueError(f"clamp: has {held.shape[0]} rows, but one is held fast")
        drawn, info = _harmonium.sample(self.model_, json.dumps(asked), rows, held, self.n_threads)
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
            "chains": whole("n_chains", n_chains),
            "burn_in": whole("burn_in", burn_in, 0),
            "steps": whole("steps", steps),
            "interval": None if interval is None else float(interval),
            "seed": seed_of(self.random_state if random_state is None else random_state),
        }
        parts = _harmonium.impute(self.model_, Table(X), json.dumps(asked), self.n_threads)
        values = [like(X, part) for part in parts]
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
        self._model, self._trainer = self.model_.recentered(*numbers), None
        self.__dict__.pop("_run", None)
        return self
