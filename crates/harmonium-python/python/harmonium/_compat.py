"""scikit-learn's base classes and checks where it is installed, the few that are needed where it is not."""

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
        """X as an array or sparse matrix of numbers with two dimensions; the library refuses NaN itself."""
        # Plain arrays that fit need no further look: the checks take longer than a small update.
        if not reset and type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf" and len(X) > 0:
            if X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_"):
                return X
        return validate_data(
            estimator, X, reset=reset, accept_sparse=True, dtype="numeric", ensure_all_finite=False
        )

except ImportError:

    class NotFittedError(ValueError, AttributeError):
        """Raised when an estimator is used before it was fitted."""

    class BaseEstimator:
        """Parameters are the arguments of the constructor."""

        def get_params(self, deep=True):
            """Parameters by name."""
            names = list(inspect.signature(type(self).__init__).parameters)[1:]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params):
            """Sets parameters by name."""
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
        """``fit_transform`` from ``fit`` and ``transform``."""

        def fit_transform(self, X, y=None, **fit_params):
            """Fits to X and transforms it."""
            return self.fit(X, y, **fit_params).transform(X)

    class DensityMixin:
        """Nothing without scikit-learn."""

    class ClassNamePrefixFeaturesOutMixin:
        """Names of the transformed columns."""

        def get_feature_names_out(self, input_features=None):
            """``rbm0``, ``rbm1``, …"""
            prefix = type(self).__name__.lower()
            return np.asarray([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)

    def check_random_state(seed):
        """A source of random numbers from a seed, a source, or none."""
        if seed is None:
            return np.random.mtrand._rand
        if isinstance(seed, (np.random.RandomState, np.random.Generator)):
            return seed
        return np.random.RandomState(seed)

    def checked(estimator, X, reset):
        """X as an array or sparse matrix of numbers with two dimensions; the library refuses NaN itself."""
        if not hasattr(X, "tocsr"):
            X = np.asarray(X)
            X = X.astype(np.float64) if X.dtype.kind == "O" else X
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions, but rows and columns are expected")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X holds {X.dtype}, but real numbers are expected")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"X has shape {X.shape}, but at least one row and one column are needed")
        if reset:
            estimator.n_features_in_ = X.shape[1]
        elif X.shape[1] != estimator.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {estimator.n_features_in_} were fitted")
        return X


def seed_of(random_state):
    """A seed: the number itself, or one drawn from a source of random numbers."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**63:
            raise ValueError(f"random_state is {random_state}, but must be 0 or more and below 2**63")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31 - 1))


class Table:
    """Rows as the library reads them: block by block, never the whole at once."""

    def __init__(self, X):
        # Only compressed rows give blocks of rows quickly; that is a copy of what is not zero.
        self._X = X.tocsr() if hasattr(X, "tocsr") else X
        self.shape = tuple(int(n) for n in X.shape)

    def read(self, first, last):
        """Rows ``first`` to ``last`` as an array of float64."""
        block = self._X[first:last]
        if hasattr(block, "toarray"):
            block = block.toarray()
        return np.ascontiguousarray(block, dtype=np.float64)
