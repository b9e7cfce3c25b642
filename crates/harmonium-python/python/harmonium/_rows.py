"""Methods of ``RBM`` for rows: hidden means, reconstructions, likelihoods, gradients."""

import warnings

import numpy as np

from . import _harmonium
from ._estimator import contained
from ._frames import Frame
from ._helpers import like
from ._made import made, named, rebuilt, state_names
from ._settings import switch, threads


class RowsMixin:
    """Hidden means, reconstructions, likelihoods and gradients of rows."""

    def transform(self, X):
        """Compute the hidden means ⟨h | v⟩ of every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows. With ``missing=True``, the means are given the known cells: missing cells are summed over, or averaged over
            by Gibbs sampling where that takes too long.

        Returns
        -------
        ndarray of shape (n_samples, n_hidden)
            float32 if the rows are float32, otherwise float64; a table if ``set_output`` asks for one.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0, 0.0]], [0.0], [0.0, 0.0]).transform([[1]])
        array([[0.5, 0.5]])
        """
        rows, missing, seed = self._rows(X)
        means = _harmonium.means(self.model_, rows, missing, seed, threads(self.n_threads))
        return contained(self, X, like(rows, means))

    def reconstruct(self, X):
        """Reconstruct rows: visible → hidden means → visible means, in the units of the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows. With ``missing=True``, the hidden means are given the known cells.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            A data frame with the words of the columns if X is one; a categorical cell gets its most probable state.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0]], [0.0], [0.0]).reconstruct([[1]])
        array([[0.5]])
        """
        rows, missing, seed = self._rows(X)
        found = _harmonium.reconstructions(self.model_, rows, missing, seed, threads(self.n_threads))
        return rebuilt(self.model_, found, rows) if isinstance(rows, Frame) else like(rows, found)

    def inverse_transform(self, H, *, probabilities=False):
        """Compute the visible means ⟨v | h⟩ given hidden values, in the units of the data; the way back from ``transform``.

        Parameters
        ----------
        H : array of shape (n_samples, n_hidden)
            Values of the hidden units: means, as ``transform`` returns them, or states. Potts hidden units have one column per
            state.
        probabilities : bool, default=False
            False: one column per visible unit; a categorical (Potts) unit gets its most probable state. True: a categorical
            unit gets the probabilities of its states, one column each, in the order of the rows of ``weights_``.

        Returns
        -------
        ndarray of shape (n_samples, n_features), or with probabilities (n_samples, number of rows of ``weights_``)
            A data frame if the model was fitted to one; columns of probabilities are named ``city=Paris``.

        Notes
        -----
        ``inverse_transform(transform(X))`` is ``reconstruct(X)``.

        Examples
        --------
        >>> from harmonium import RBM
        >>> rbm = RBM.from_arrays([[0.0], [0.0], [0.0]], [0.0, 1.0, 0.0], [0.0], visible="potts", states=3)
        >>> rbm.inverse_transform([[1.0]])
        array([[1.]])
        >>> rbm.inverse_transform([[1.0]], probabilities=True).round(3)
        array([[0.212, 0.576, 0.212]])
        """
        self._fitted()
        hidden = _hidden_values(H, self._n_features_out)
        probabilities = switch("probabilities", probabilities)
        found = _harmonium.visible_means(self.model_, hidden, probabilities, threads(self.n_threads))
        origin = self._origin()
        if origin is None:
            return found
        if probabilities:
            return named(found, state_names(self.model_), origin.library)
        return made(self.model_, found, origin, drawn=False)

    def free_energy(self, X):
        """Compute the free energy F(v) of every row in nats; log p(v) = −F(v) − log Z.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows. With ``missing=True``, missing cells are summed over.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0]], [1.0], [0.0]).free_energy([[0], [1]]).round(3)
        array([-0.693, -1.693])
        """
        rows, missing, seed = self._rows(X)
        return _harmonium.free_energies(self.model_, rows, missing, seed, threads(self.n_threads))[0]

    def score_samples(self, X):
        """Compute the log likelihood of every row in nats: of a probability, or of a density in the units of the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows. With ``missing=True``, the likelihood is that of the known cells.

        Returns
        -------
        ndarray of shape (n_samples,)

        Notes
        -----
        log Z is computed once: exactly if that is affordable, otherwise as an estimate. ``log_z`` returns its error.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0]).score_samples([[0, 1]]).round(3)
        array([-1.386])
        """
        rows, missing, seed = self._rows(X)
        energy, _, jacobian = _harmonium.free_energies(self.model_, rows, missing, seed, threads(self.n_threads))
        return jacobian - energy - self.log_z().value

    def score(self, X, y=None, sample_weight=None):
        """Compute the mean log likelihood, in nats per row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows.
        y : ignored
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts in the mean.

        Returns
        -------
        float
            NaN, with a warning, if the rows show that an estimate of log Z is too low.

        Examples
        --------
        >>> from harmonium import RBM
        >>> round(RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0]).score([[0, 1]]), 3)
        -1.386
        """
        mean = _mean(self.score_samples(X), sample_weight)
        if mean > 1e-6 and self.model_.is_finite():
            # Probabilities are at most 1.
            text = "the likelihood is unknown: the estimate of log Z is too low, since it makes rows more probable than 1"
            warnings.warn(text, stacklevel=2)
            return float("nan")
        return mean

    def pseudo_log_likelihood(self, X):
        """Compute the log pseudo-likelihood Σ_i log p(v_i | all other v) of every row, in nats. It needs no log Z.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows. With ``missing=True``, the sum is over the known cells, each given the other known ones; rows with so many
            missing cells that they cannot be summed over are refused.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0]).pseudo_log_likelihood([[0, 1]]).round(3)
        array([-1.386])
        """
        rows, missing, seed = self._rows(X)
        return _harmonium.pseudo_log_likelihoods(self.model_, rows, missing, seed, threads(self.n_threads))

    def gradient(self, X, sample_weight=None, method="exact"):
        """Compute the gradient of the mean log likelihood with respect to every parameter.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Rows without missing cells; ``impute`` fills them.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row.
        method : {"exact"}, default="exact"
            By enumeration, for models with a small finite layer or with two Gaussian layers.

        Returns
        -------
        dict of str to ndarray
            Keys are the names of the tensors in a model file: ``weights``, ``visible.bias``, …

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0]], [0.0], [0.0]).gradient([[1]])["visible.bias"]
        array([0.5])
        """
        if method != "exact":
            raise ValueError(f"method: {method!r} is not supported, only 'exact' is")
        rows, _, seed = self._rows(X)
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        return _harmonium.gradient(self.model_, rows, weights, seed, threads(self.n_threads))


def _hidden_values(H, columns):
    """Hidden values as an array of numbers, one column per column of the hidden layer."""
    values = np.ascontiguousarray(H.toarray() if hasattr(H, "toarray") else H, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != columns:
        raise ValueError(f"H has shape {values.shape}, but must have {columns} columns, one per column of the hidden layer")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"H: row {row + 1}, column {column + 1}: {values[row, column]} is not a finite number")
    return values


def _mean(scores, sample_weight):
    """The mean of scores, each as often as its row counts."""
    if sample_weight is None:
        return float(np.mean(scores))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != scores.shape:
        raise ValueError(f"sample_weight has shape {weights.shape}, but must have one number for each of {len(scores)} rows")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be 0 or more, and not 0 for all rows")
    return float(np.average(scores, weights=weights))
