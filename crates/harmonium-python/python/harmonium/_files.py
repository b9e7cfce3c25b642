"""Models from files and numbers, and back."""

import numpy as np

from . import _harmonium
from ._settings import options_of


class FilesMixin:
    """Files, and the numbers in them."""

    def save(self, path):
        """Writes a model file, which the command line and anyone's safetensors library read.

        Parameters
        ----------
        path : str or Path
            Where to; ends with .safetensors by custom.

        Examples
        --------
        >>> import os, tempfile
        >>> from harmonium import RBM
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> RBM.from_arrays([[1.0]], [0.0], [0.0]).save(path)
        >>> RBM.load(path).weights_
        array([[1.]])
        """
        self._fitted()
        self.model_.write(path)

    @classmethod
    def load(cls, path):
        """The model of a model file, fitted.

        Parameters
        ----------
        path : str or Path
            A file written by ``save`` or by the command line.

        Returns
        -------
        RBM

        Examples
        --------
        >>> import os, tempfile
        >>> from harmonium import RBM
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> RBM.from_arrays([[1.0]], [0.0], [0.0], visible="spin").save(path)
        >>> RBM.load(path).visible
        'spin'
        """
        return cls._of(_harmonium.Model.read(path))

    @classmethod
    def from_arrays(
        cls,
        weights,
        visible_bias,
        hidden_bias,
        *,
        visible="bernoulli",
        coupling="cho",
        hidden="bernoulli",
        hidden_coupling="cho",
        states=None,
        hidden_states=None,
        visible_log_variance=None,
        hidden_log_variance=None,
        visible_offset=None,
        hidden_offset=None,
    ):
        """A fitted model from its numbers.

        Parameters
        ----------
        weights : array of shape (n_visible, n_hidden)
            W; Potts layers have as many rows or columns per site as states. float32 is kept, everything else is float64.
        visible_bias, hidden_bias : array
            a and b.
        visible, coupling, hidden, hidden_coupling, states, hidden_states
            As in the constructor.
        visible_log_variance, hidden_log_variance : array, default=None
            log σ² of Gaussian layers; 0 if None.
        visible_offset, hidden_offset : array, default=None
            α and β; 0 if None.

        Returns
        -------
        RBM

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0], visible="gaussian").visible_log_variance_
        array([0., 0.])
        """
        weights = np.asarray(weights)
        metadata, tensors = {}, {"weights": weights, "visible.bias": visible_bias, "hidden.bias": hidden_bias}
        layers = {
            "visible": (visible, options_of(visible, coupling, states), visible_log_variance, visible_offset),
            "hidden": (hidden, options_of(hidden, hidden_coupling, hidden_states), hidden_log_variance, hidden_offset),
        }
        for side, (kind, options, log_variance, offset) in layers.items():
            metadata |= {f"{side}.kind": kind, **{f"{side}.{name}": value for name, value in options.items()}}
            if kind == "gaussian" and log_variance is None:
                log_variance = np.zeros(np.shape(tensors[f"{side}.bias"]))
            if log_variance is not None:
                tensors[f"{side}.log_variance"] = log_variance
            if offset is not None:
                tensors[f"{side}.offset"] = offset
        numbers = {name: np.ascontiguousarray(array, dtype=np.float64) for name, array in tensors.items()}
        return cls._of(_harmonium.Model.from_tensors(metadata, numbers, weights.dtype == np.float32))

    @classmethod
    def from_sklearn(cls, rbm):
        """The model of a fitted BernoulliRBM, scikit-learn's or this package's.

        Parameters
        ----------
        rbm : BernoulliRBM
            Fitted.

        Returns
        -------
        RBM

        Examples
        --------
        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> from harmonium import RBM
        >>> fitted = SimpleNamespace(components_=np.eye(2), intercept_hidden_=np.zeros(2), intercept_visible_=np.zeros(2))
        >>> RBM.from_sklearn(fitted).n_features_in_
        2
        """
        return cls.from_arrays(np.asarray(rbm.components_).T, rbm.intercept_visible_, rbm.intercept_hidden_)

    @classmethod
    def _of(cls, model):
        """An estimator that has a model."""
        known = model.metadata()
        whole = {name: int(known[key]) for name, key in [("states", "visible.states"), ("hidden_states", "hidden.states")] if key in known}
        self = cls(
            model.n_hidden(),
            visible=known["visible.kind"],
            coupling=known.get("visible.coupling", "cho"),
            hidden=known["hidden.kind"],
            hidden_coupling=known.get("hidden.coupling", "cho"),
            binarize=known.get("data.binarize", "auto"),
            **whole,
        )
        self._model = model
        self.history_ = []
        self.n_updates_ = 0
        self.seed_ = 0
        self.n_features_in_ = model.n_visible()
        self._n_features_out = int(self.weights_.shape[1])
        return self

    def _tensor(self, name):
        self._fitted()
        tensors = self.model_.tensors()
        if name in tensors:
            return tensors[name]
        side = name.split(".")[0]
        if name.endswith("offset"):
            return np.zeros_like(tensors[f"{side}.bias"])
        raise AttributeError(f"{side} units have no {name.split('.')[1]}")

    @property
    def weights_(self):
        """W, visible × hidden."""
        return self._tensor("weights")

    @property
    def visible_bias_(self):
        """The visible layer's bias a."""
        return self._tensor("visible.bias")

    @property
    def hidden_bias_(self):
        """The hidden layer's bias b."""
        return self._tensor("hidden.bias")

    @property
    def visible_log_variance_(self):
        """log σ² of Gaussian visible units."""
        return self._tensor("visible.log_variance")

    @property
    def hidden_log_variance_(self):
        """log σ² of Gaussian hidden units."""
        return self._tensor("hidden.log_variance")

    @property
    def visible_offset_(self):
        """The visible layer's offset α."""
        return self._tensor("visible.offset")

    @property
    def hidden_offset_(self):
        """The hidden layer's offset β."""
        return self._tensor("hidden.offset")
