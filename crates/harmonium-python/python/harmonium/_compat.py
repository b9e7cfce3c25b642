"""Rows and seeds as Python gives them. scikit-learn checks what is not simply an array, if it is installed."""

import sys

import numpy as np


class NotFitted(ValueError, AttributeError):
    """Raised when an estimator is used before it is fitted."""


def not_fitted(text):
    """Return the exception for an estimator that is not fitted: scikit-learn's, if someone uses scikit-learn."""
    if sys.modules.get("sklearn") is None:
        return NotFitted(text)
    from sklearn.exceptions import NotFittedError

    return NotFittedError(text)


def _is_plain(X):
    """Whether X is a table of real numbers that needs no conversion."""
    if type(X) is not np.ndarray and not hasattr(X, "tocsr"):
        return False
    return X.ndim == 2 and X.dtype.kind in "biuf" and X.shape[0] > 0 and X.shape[1] > 0


def checked(estimator, X, reset):
    """Check that X is a 2D array or sparse matrix of numbers. The library itself checks for NaN."""
    if isinstance(X, (list, tuple)) and sys.modules.get("sklearn") is None:
        X = np.asarray(X)
    if _is_plain(X):
        if reset:
            estimator.n_features_in_ = int(X.shape[1])
            estimator.__dict__.pop("feature_names_in_", None)
            return X
        if X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_"):
            return X
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return _checked_here(estimator, X, reset)
    return validate_data(estimator, X, reset=reset, accept_sparse=True, dtype="numeric", ensure_all_finite=False)


def plain_rows(X, columns=None):
    """Return X as an array or sparse matrix of numbers with this number of columns; scikit-learn is not asked."""
    if not hasattr(X, "tocsr"):
        X = np.asarray(X)
        X = X.astype(np.float64) if X.dtype.kind == "O" else X
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions, but must have 2 (rows and columns)")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X has dtype {X.dtype}, but must contain real numbers")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"X has shape {X.shape}, but must have at least one row and one column")
    if columns is not None and X.shape[1] != columns:
        raise ValueError(f"X has {X.shape[1]} features, but the model was fitted with {columns}")
    return X


def _checked_here(estimator, X, reset):
    """The checks without scikit-learn."""
    X = plain_rows(X, None if reset else estimator.n_features_in_)
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    return X


def seed_of(random_state):
    """Return a seed: the number itself, or one drawn from a random number generator."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**63:
            raise ValueError(f"random_state is {random_state}, but must be between 0 and 2**63 - 1")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand
    if not isinstance(random_state, np.random.RandomState):
        kinds = "a whole number, a RandomState, a Generator or None"
        raise ValueError(f"random_state is {random_state!r}, but must be {kinds}")
    return int(random_state.randint(2**31 - 1))


class Table:
    """Rows that the library reads block by block, never all at once."""

    def __init__(self, X):
        # Only CSR gives blocks of rows quickly; converting copies the nonzero entries.
        self._X = X.tocsr() if hasattr(X, "tocsr") else X
        self.shape = tuple(int(n) for n in X.shape)
        self.dtype = X.dtype
        # Rows that the library can look at without a copy.
        plain = isinstance(X, np.ndarray) and X.flags.c_contiguous and X.flags.aligned
        self.array = (X.view(np.uint8) if X.dtype == bool else X) if plain else None

    def read(self, first, last):
        """Return rows ``first`` to ``last`` as a float64 array."""
        block = self._X[first:last]
        if hasattr(block, "toarray"):
            block = block.toarray()
        return np.ascontiguousarray(block, dtype=np.float64)
