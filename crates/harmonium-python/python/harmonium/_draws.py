"""Methods of ``RBM`` that need no data, or rows with missing cells: log Z, samples, imputation, offsets."""

import json
import warnings
from typing import NamedTuple

import numpy as np

from . import _harmonium
from ._compat import seed_of
from ._frames import Frame, library_of, one_row
from ._helpers import known_rows, like
from ._made import filled, made, named, state_names
from ._settings import number, optional, switch, text, threads, whole


class LogZ(NamedTuple):
    """log Z in nats, with its error and a verdict on how far to trust it."""

    value: float
    std_err: float
    lower: float
    upper: float
    ess: float | None
    method: str
    verdict: str
    how: str
    advice: str
    evidence: list
    work: float | None


class DrawsMixin:
    """log Z, samples, imputation and offsets of a model."""

    def log_z(
        self, method="auto", *, tolerance=0.5, n_chains=None, temperatures=None, budget=None, time=None, data=None, random_state=0
    ):
        """Compute log Z in nats; the result is cached.

        Parameters
        ----------
        method : {"auto", "exact", "modes", "bar", "ais", "reverse-ais", "tempering"}, default="auto"
            "auto" enumerates the states if that is affordable and otherwise sums over modes ("modes").
        tolerance : float, default=0.5
            Stop when the confidence interval is this narrow, in nats.
        n_chains, temperatures : int, default=None
            Number of chains and of temperatures. None: as many as the tolerance needs.
        budget : float, default=None
            Start no new round after this much work, in weight multiplications. None: one to two minutes on two cores. The field
            ``work`` of a result, given here, repeats it to the bit.
        time : float, default=None
            Start no new work after this many seconds.
        data : array, default=None
            Training rows. They show modes that no search may find, and a bound that no estimate may violate.
        random_state : int, default=0
            Random seed.

        Returns
        -------
        LogZ
            With the fields value, std_err, lower, upper, ess, method, verdict ("exact", "certain",
            "likely", "imprecise" or "disagree"), how, advice, evidence (what was checked) and work.

        Examples
        --------
        >>> from harmonium import RBM
        >>> z = RBM.from_arrays([[0.0]], [0.0], [0.0]).log_z()
        >>> round(z.value, 4), z.std_err, z.verdict  # log 4
        (1.3863, 0.0, 'exact')
        """
        self._fitted()
        rows = None if data is None else known_rows(self, data)
        found = LogZ(
            **_harmonium.log_z(
                self.model_,
                text("method", method),
                number("tolerance", tolerance),
                optional(whole, "n_chains", n_chains),
                optional(whole, "temperatures", temperatures, 2),
                optional(number, "budget", budget),
                optional(number, "time", time),
                seed_of(random_state),
                rows,
                threads(self.n_threads),
            )
        )
        if found.verdict == "disagree":
            warnings.warn(f"log Z: the estimate {found.value:.3f} is not reliable: {found.advice}", stacklevel=2)
        return found

    def sample(
        self,
        n=None,
        *,
        n_samples=None,
        steps=None,
        sampler="auto",
        n_chains=None,
        temperatures=None,
        burn_in=1000,
        thin=10,
        start="random",
        means=False,
        temperature=1.0,
        clamp=None,
        by_chain=False,
        random_state=None,
        return_info=False,
    ):
        """Draw rows from the model, in the units of the data.

        Parameters
        ----------
        n : int, default=None
            Number of rows. None: 1.
        n_samples : int, default=None
            The same under scikit-learn's name: ``sample(n_samples=100)`` is ``sample(100)``. Giving both is an error.
        steps : int, default=None
            Draw every row from its own chain, after this many sweeps. Replaces ``burn_in``, ``thin`` and ``n_chains``.
        sampler : {"auto", "gibbs", "tempering", "exact"}, default="auto"
            "auto" samples exactly if that takes only seconds, and otherwise by parallel tempering.
        n_chains, temperatures : int, default=None
            Number of chains, and of temperatures of parallel tempering.
        burn_in, thin : int
            Sweeps before the first row of a chain, and sweeps between its rows.
        start : {"random", "hidden"} or array, default="random"
            Where chains start. An array gives its rows to the chains in order.
        means : bool, default=False
            Return the means of the visible units given the hidden units instead of samples.
        temperature : float, default=1.0
            Temperature T of the model: rows are drawn from p(v, h)^(1/T), normalised. The whole energy is divided by T.
        clamp : array of shape (n_features,), dict or data frame of one row, default=None
            A row whose cells are kept fixed; missing cells (NaN) are drawn given the others. A dict has the cells that are kept by
            the names of their columns: ``clamp={"sex": "male"}``.
        by_chain : bool, default=False
            Return the rows chain by chain, as an array of shape (n_chains, n / n_chains, n_features); n must be a multiple of
            the number of chains. ArviZ takes this array as it is: ``arviz.from_dict({"posterior": {"v": rows}})``.
        random_state : int, RandomState, Generator or None, default=None
            None: that of the estimator.
        return_info : bool, default=False
            Also return a dict of diagnostics: R̂, effective sample size (None if the chains have not mixed), warnings.

        Returns
        -------
        ndarray of shape (n, n_features) or (n_chains, n / n_chains, n_features), or (ndarray, dict)
            A data frame with the words and types of the columns if the model was fitted to one, except with ``by_chain``.

        Notes
        -----
        Rows come draw by draw: first one row of every chain in the order of the chains, then the next row of every chain. With
        c chains, rows ``k``, ``k + c``, ``k + 2c``, … are chain k, in order. The last draw may be of some chains only. If
        ``n_chains`` is not given, there is one chain for 50 rows, at least 20 and at most 100; ``info["chains"]`` is their number.

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
            raise ValueError(f"start: {start!r} is not 'random', 'hidden' or an array")
        options = {
            "sampler": text("sampler", sampler),
            "n": _rows(n, n_samples),
            "steps": optional(whole, "steps", steps),
            "chains": optional(whole, "n_chains", n_chains),
            "temperatures": optional(whole, "temperatures", temperatures, 2),
            "burn_in": whole("burn_in", burn_in, 0),
            "thin": whole("thin", thin),
            "hidden_start": hidden_start,
            "means": bool(means),
            "temperature": number("temperature", temperature),
            "by_chain": bool(by_chain),
            "seed": seed_of(self.random_state if random_state is None else random_state),
        }
        rows = None if isinstance(start, str) else known_rows(self, start)
        clamped = None if clamp is None else self._clamped(clamp)
        if clamped is not None and clamped.shape[0] != 1:
            raise ValueError(f"clamp: has {clamped.shape[0]} rows, but must be a single row")
        drawn, info = _harmonium.sample(self.model_, json.dumps(options), rows, clamped, threads(self.n_threads))
        if by_chain:
            drawn = drawn.reshape(-1, info["chains"], drawn.shape[1]).swapaxes(0, 1)
        elif self._origin() is not None:
            drawn = made(self.model_, drawn, self._origin(), drawn=not means)
        for warning in info["warnings"]:
            warnings.warn(warning, stacklevel=2)
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
        probabilities=False,
        draws=None,
        random_state=None,
    ):
        """Fill missing cells from their distribution given the known cells of the row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows; NaN marks missing cells, in a data frame also None, NA and words such as "?".
        fill : {"mean", "best", "draw"}, default="mean"
            Fill with the mean, the most probable state or a draw. A categorical (Potts) cell has no mean and gets its most
            probable state, and so do words.
        method : {"auto", "exact", "chains"}, default="auto"
            "auto" takes the cheaper of the exact sum and Gibbs sampling.
        n_chains, burn_in, steps : int
            Chains per row, burn-in sweeps, and sweeps that are averaged.
        interval : float, default=None
            Also return intervals with this probability, and standard deviations.
        probabilities : bool, default=False
            Also return the probabilities of the states of every cell.
        draws : int, default=None
            Multiple imputation: return this many tables instead, whose missing cells are independent draws. Analyse each of
            them and combine the results by Rubin's rules.
        random_state : int, RandomState, Generator or None, default=None
            None: that of the estimator.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or a tuple, or an ndarray of shape (draws, n_samples, n_features)
            Filled rows; a data frame if X is one (with ``draws`` a list of them), with all of its columns. With ``interval``
            a tuple: filled rows, lower ends, upper ends and standard deviations, as arrays of codes and numbers. With
            ``probabilities`` their array (a data frame if X is one) is the last of the tuple: one column per row of
            ``weights_``, of a category the probability of each state, of a binary unit that of a 1, of a real-valued unit the mean.

        Examples
        --------
        >>> import numpy as np
        >>> from harmonium import RBM
        >>> rbm = RBM.from_arrays([[9.0], [9.0]], [-4.5, -4.5], [-9.0])
        >>> rbm.impute([[1, np.nan]]).round(2)
        array([[1.  , 0.98]])
        >>> rbm.impute([[1, np.nan]], draws=5, random_state=0).shape
        (5, 1, 2)
        >>> rbm = RBM.from_arrays([[0.0], [0.0], [0.0]], [0.0, 1.0, 0.0], [0.0], visible="potts", states=3)
        >>> filled, p = rbm.impute([[np.nan]], probabilities=True)
        >>> filled, p.round(3)
        (array([[1.]]), array([[0.212, 0.576, 0.212]]))
        """
        self._fitted()
        rows = known_rows(self, X)
        options = {
            "fill": text("fill", fill),
            "method": text("method", method),
            "chains": whole("n_chains", n_chains),
            "burn_in": whole("burn_in", burn_in, 0),
            "steps": whole("steps", steps),
            "interval": optional(number, "interval", interval),
            "probabilities": switch("probabilities", probabilities),
            "seed": seed_of(self.random_state if random_state is None else random_state),
        }
        if draws is not None:
            return self._completed(rows, options, whole("draws", draws))
        values, _, *others = _harmonium.impute(self.model_, rows, json.dumps(options), threads(self.n_threads))
        is_frame = isinstance(rows, Frame)
        values = filled(self.model_, values, rows) if is_frame else like(rows, values)
        others = [like(rows, other) for other in others]
        if is_frame and options["probabilities"]:
            others[-1] = named(others[-1], state_names(self.model_), rows.library, rows.X)
        return (values, *others) if others else values

    def _completed(self, rows, options, draws):
        """Tables whose missing cells are drawn."""
        if options["interval"] is not None or options["probabilities"] or options["fill"] != "mean":
            raise ValueError("draws cannot be used together with fill, interval or probabilities: every cell is a draw")
        tables = _harmonium.complete(self.model_, rows, json.dumps(options), draws, threads(self.n_threads))
        if isinstance(rows, Frame):
            return [filled(self.model_, table, rows, drawn=True) for table in tables]
        return like(rows, np.stack(tables))

    def _clamped(self, clamp):
        """The row that samples keep, with NaN or None where a cell is to be drawn."""
        if self._has_schema() and hasattr(clamp, "items") and library_of(clamp) is None:
            return one_row(dict(clamp), [name for name, *_ in self.model_.columns()])
        return known_rows(self, clamp if library_of(clamp) else np.atleast_2d(clamp))

    def recenter(self, visible=None, hidden=None):
        """Change the offsets α and β. The distribution stays the same; biases and log Z are adjusted.

        Parameters
        ----------
        visible, hidden : array, default=None
            New offsets, one per column of the layer; None keeps the old ones.

        Returns
        -------
        RBM
            The estimator itself.

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


def _rows(n, n_samples):
    """Number of rows, by the one name or the other."""
    if n is not None and n_samples is not None:
        raise ValueError(f"n is {n!r} and n_samples is {n_samples!r}, but they are two names of one number; give one of them")
    return whole("n", 1 if n is None else n) if n_samples is None else whole("n_samples", n_samples)
