"""scikit-learn's base classes and checks, or replacements for them if it is not installed."""

import inspect

import numpy as np

try:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        DensityMixin,
        TransformerMixin,
    )
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import validate_data

    def checked(estimator, X, reset):
        """Check that X is a 2D array or sparse matrix of numbers. The library itself checks for NaN."""
        # Skip the checks for arrays that clearly fit: they take longer than a small update.
        if not reset and type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf" and len(X) > 0:
            if X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_"):
                return X
        return validate_data(
            estimator, X, reset=reset, accept_sparse=True, dtype="numeric", ensure_all_finite=False
        )

except ImportError:

    class NotFittedError(ValueError, AttributeError):
        """Raised when an estimator is used before it is fitted."""

    class BaseEstimator:
        """Base class whose parameters are the arguments of the constructor."""

        def get_params(self, deep=True):
            """Return the parameters by name."""
            names = list(inspect.signature(type(self).__init__).parameters)[1:]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params):
            """Set parameters by name."""
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"{name!r} is not a parameter of {type(self).__name__}")
                setattr(self, name, value)
            return self

        def __repr__(self):
            defaults = inspect.signature(type(self).__init__).parameters
            changed = (f"{k}={v!r}" for k, v in self.get_params().items() if v is not defaults[k].default)
            return f"{type(self).__name__}({', '.join(changed)})"

    class TransformerMixin:
        """Adds ``fit_transform`` to ``fit`` and ``transform``."""

        def fit_transform(self, X, y=None, **fit_params):
            """Fit to X, then transform X."""
            return self.fit(X, y, **fit_params).transform(X)

    class DensityMixin:
        """Does nothing without scikit-learn."""

    class ClassNamePrefixFeaturesOutMixin:
        """Adds the names of the transformed columns."""

        def get_feature_names_out(self, input_features=None):
            """Return ``rbm0``, ``rbm1``, …"""
            prefix = type(self).__name__.lower()
            return np.asarray([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)

    def check_random_state(seed):
        """Return a random number generator for a seed, a generator or None."""
        if seed is None:
            return np.random.mtrand._rand
        if isinstance(seed, (np.random.RandomState, np.random.Generator)):
            return seed
        return np.random.RandomState(seed)

    def checked(estimator, X, reset):
        """Check that X is a 2D array or sparse matrix of numbers. The library itself checks for NaN."""
        if not hasattr(X, "tocsr"):
            X = np.asarray(X)
            X = X.astype(np.float64) if X.dtype.kind == "O" else X
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions, but must have 2 (rows and columns)")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X has dtype {X.dtype}, but must contain real numbers")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"X has shape {X.shape}, but must have at least one row and one column")
        if reset:
            estimator.n_features_in_ = X.shape[1]
        elif X.shape[1] != estimator.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but the model was fitted with {estimator.n_features_in_}")
        return X


def seed_of(random_state):
    """Return a seed: the number itself, or one drawn from a random number generator."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**63:
            raise ValueError(f"random_state is {random_state}, but must be between 0 and 2**63 - 1")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31 - 1))


class Table:
    """Rows that the library reads block by block, never all at once."""

    def __init__(self, X):
        # Only CSR gives blocks of rows quickly; converting copies the nonzero entries.
        self._X = X.tocsr() if hasattr(X, "tocsr") else X
        self.shape = tuple(int(n) for n in X.shape)
        # Rows that the library can look at without a copy.
        plain = isinstance(X, np.ndarray) and X.flags.c_contiguous and X.flags.aligned
        self.array = (X.view(np.uint8) if X.dtype == bool else X) if plain else None

    def read(self, first, last):
        """Return rows ``first`` to ``last`` as a float64 array."""
        block = self._X[first:last]
        if hasattr(block, "toarray"):
            block = block.toarray()
        return np.ascontiguousarray(block, dtype=np.float64)
