"""What a model says about rows: features, likelihoods, gradients."""

import numpy as np

from . import _harmonium
from ._compat import Table
from ._helpers import like


class RowsMixin:
    """Questions about rows."""

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
        return like(X, _harmonium.means(self.model_, Table(X), seed, self.n_threads))

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
        return like(X, _harmonium.reconstructions(self.model_, Table(X), seed, self.n_threads))

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
        return _harmonium.free_energies(self.model_, Table(X), bool(self.missing), seed, self.n_threads)[0]

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
            self.model_, Table(X), bool(self.missing), seed, self.n_threads
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
        return _harmonium.pseudo_log_likelihoods(self.model_, Table(X), seed, self.n_threads)

    def gradient(self, X, sample_weight=None, method="exact"):
        """Gradient of the mean log likelihood with respect to every parameter.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts.
        method : {"exact"}, default="exact"
            By enumeration, for models with a small finite layer or two Gaussian ones.

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
        return _harmonium.gradient(self.model_, Table(X), weights, seed, self.n_threads)
