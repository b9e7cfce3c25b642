"""What scikit-learn asks of an estimator, without importing scikit-learn: it takes a second to load, and only its own tools need it."""

import inspect
import sys

import numpy as np

#: Methods that take sample weights.
WEIGHTED = ("fit", "partial_fit", "score")


def contained(estimator, X, result):
    """Return a result in the container that ``set_output`` or scikit-learn's configuration asks for."""
    if sys.modules.get("sklearn") is None:
        # Then nobody has configured it.
        return result
    from sklearn.utils._set_output import _wrap_data_with_container

    return _wrap_data_with_container("transform", result, X, estimator)


class Estimator:
    """Parameters, output and tags of an estimator whose parameters are the arguments of its constructor."""

    _sklearn_auto_wrap_output_keys = frozenset({"transform"})

    def get_params(self, deep=True):
        """Return the parameters by name.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM(n_hidden=7).get_params()["n_hidden"]
        7
        """
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params):
        """Set parameters by name.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM().set_params(n_hidden=7)
        RBM(n_hidden=7)
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                known = ", ".join(known)
                raise ValueError(f"{name!r} is not a parameter of {type(self).__name__}; they are {known}")
            setattr(self, name, value)
        return self

    def __repr__(self):
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (f"{k}={v!r}" for k, v in self.get_params().items() if not _same(v, defaults[k].default))
        return f"{type(self).__name__}({', '.join(changed)})"

    def fit_transform(self, X, y=None, **fit_params):
        """Fit to X, then transform X.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM(2, epochs=1).fit_transform([[0, 1], [1, 0]]).shape
        (2, 2)
        """
        return self.fit(X, y, **fit_params).transform(X)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the transformed columns: ``rbm0``, ``rbm1``, …

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0, 0.0]], [0.0], [0.0, 0.0]).get_feature_names_out()
        array(['rbm0', 'rbm1'], dtype=object)
        """
        self._fitted()
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)

    def set_output(self, *, transform=None):
        """Set the container of transformed rows; it needs scikit-learn.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            "default": an array. None changes nothing.

        Examples
        --------
        >>> from harmonium import RBM
        >>> rbm = RBM.from_arrays([[0.0, 0.0]], [0.0], [0.0, 0.0]).set_output(transform="pandas")
        >>> list(rbm.transform([[1]]).columns)
        ['rbm0', 'rbm1']
        """
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(f"transform is {transform!r}, but must be 'default', 'pandas' or 'polars'")
        if transform is not None:
            import sklearn  # noqa: F401  # it makes the container

            self._sklearn_output_config = {"transform": transform}
        return self

    def get_metadata_routing(self):
        """Return what scikit-learn's metadata routing should pass on to this estimator.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM().set_fit_request(sample_weight=True).get_metadata_routing().fit.requests
        {'sample_weight': True}
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        requests = getattr(self, "_metadata_request", None)
        if requests is None:
            requests = MetadataRequest(owner=type(self).__name__)
            for method in WEIGHTED:
                getattr(requests, method).add_request(param="sample_weight", alias=None)
        return requests

    def _request(self, method, sample_weight):
        requests = self.get_metadata_routing()
        getattr(requests, method).add_request(param="sample_weight", alias=sample_weight)
        self._metadata_request = requests
        return self

    def set_fit_request(self, *, sample_weight=None):
        """Set whether scikit-learn's metadata routing passes sample weights to ``fit``.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM().set_fit_request(sample_weight=True)
        RBM()
        """
        return self._request("fit", sample_weight)

    def set_partial_fit_request(self, *, sample_weight=None):
        """Set whether scikit-learn's metadata routing passes sample weights to ``partial_fit``.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM().set_partial_fit_request(sample_weight=True)
        RBM()
        """
        return self._request("partial_fit", sample_weight)

    def set_score_request(self, *, sample_weight=None):
        """Set whether scikit-learn's metadata routing passes sample weights to ``score``.

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM().set_score_request(sample_weight=True)
        RBM()
        """
        return self._request("score", sample_weight)

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float64", "float32"]),
            input_tags=InputTags(sparse=True, allow_nan=self.missing is True),
        )


def _same(value, default):
    """Whether a parameter has its default; arrays and other types are never equal to one."""
    return value is default or (type(value) is type(default) and bool(value == default))
