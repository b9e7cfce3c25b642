"""Methods of ``RBM`` that read and write models: files, arrays, scikit-learn."""

import numpy as np

from . import _harmonium
from ._asked import options_of
from ._units import as_metadata, blocks, has_gaussian, is_list


class FilesMixin:
    """Reading and writing models, and their parameters as arrays."""

    def save(self, path):
        """Write the model to a safetensors file, which the command line and other safetensors libraries can read.

        Parameters
        ----------
        path : str or Path
            Output file, usually with the extension .safetensors.

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
        """Load a fitted model from a model file.

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
        """Create a fitted model from its parameters.

        Parameters
        ----------
        weights : array of shape (n_visible, n_hidden)
            W. Potts layers have one row or column per state of a site. float32 is kept, everything else becomes float64.
        visible_bias, hidden_bias : array
            Biases a and b.
        visible, coupling, hidden, hidden_coupling, states, hidden_states
            As in the constructor.
        visible_log_variance, hidden_log_variance : array, default=None
            log σ² of Gaussian units; 0 at the columns of other units. None: 0.
        visible_offset, hidden_offset : array, default=None
            Offsets α and β. None: 0.

        Returns
        -------
        RBM

        Examples
        --------
        >>> from harmonium import RBM
        >>> RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0], visible="gaussian").visible_log_variance_
        array([0., 0.])
        >>> RBM.from_arrays([[0.0], [0.0]], [0.0, 0.0], [0.0], visible=[("bernoulli", 1), ("gaussian", 1)]).visible
        'bernoulli*1,gaussian(coupling=cho)*1'
        """
        weights = np.asarray(weights)
        tensors = {"weights": weights, "visible.bias": visible_bias, "hidden.bias": hidden_bias}
        layers = {
            "visible": (visible, options_of(visible, coupling, states), visible_log_variance, visible_offset),
            "hidden": (hidden, options_of(hidden, hidden_coupling, hidden_states), hidden_log_variance, hidden_offset),
        }
        listed, metadata = {}, {}
        for layer, (units, options, log_variance, offset) in layers.items():
            bias = np.asarray(tensors[f"{layer}.bias"], dtype=np.float64)
            listed[layer] = blocks(layer, units, options, bias.size)
            metadata |= {f"{layer}.kind": units, **{f"{layer}.{name}": value for name, value in options.items()}}
            if has_gaussian(listed[layer]) and log_variance is None:
                log_variance = np.zeros(bias.shape)
            if log_variance is not None:
                tensors[f"{layer}.log_variance"] = log_variance
            if offset is not None:
                tensors[f"{layer}.offset"] = offset
        if is_list(visible) or is_list(hidden):
            metadata = as_metadata(listed)
        numbers = {name: np.ascontiguousarray(array, dtype=np.float64) for name, array in tensors.items()}
        return cls._of(_harmonium.Model.from_tensors(metadata, numbers, weights.dtype == np.float32))

    @classmethod
    def from_sklearn(cls, rbm):
        """Convert a fitted BernoulliRBM of scikit-learn or of this package.

        Parameters
        ----------
        rbm : BernoulliRBM
            The fitted estimator.

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
        """Return an estimator fitted with a model."""
        (visible, options), (hidden, hidden_options) = model.units()
        counts = {"states": options.get("states"), "hidden_states": hidden_options.get("states")}
        self = cls(
            model.n_hidden(),
            visible=visible,
            coupling=options.get("coupling", "cho"),
            hidden=hidden,
            hidden_coupling=hidden_options.get("coupling", "cho"),
            binarize=model.metadata().get("data.binarize", "auto"),
            **{name: None if count is None else int(count) for name, count in counts.items()},
        )
        self._model = model
        self.history_ = []
        self.n_updates_ = 0
        self.seed_ = 0
        self.n_features_in_ = model.n_visible()
        if model.schema() is not None:
            self.feature_names_in_ = np.array([name for name, *_ in model.columns()], dtype=object)
        self._n_features_out = int(self.weights_.shape[1])
        return self

    def _tensor(self, name):
        self._fitted()
        tensors = self.model_.tensors()
        if name in tensors:
            return tensors[name]
        layer = name.split(".")[0]
        if name.endswith("offset"):
            return np.zeros_like(tensors[f"{layer}.bias"])
        raise AttributeError(f"{layer} units have no {name.split('.')[1]}")

    @property
    def weights_(self):
        """Weights W, visible × hidden."""
        return self._tensor("weights")

    @property
    def visible_bias_(self):
        """Visible biases a."""
        return self._tensor("visible.bias")

    @property
    def hidden_bias_(self):
        """Hidden biases b."""
        return self._tensor("hidden.bias")

    @property
    def visible_log_variance_(self):
        """log σ² of Gaussian visible units; 0 for other units of the layer."""
        return self._tensor("visible.log_variance")

    @property
    def hidden_log_variance_(self):
        """log σ² of Gaussian hidden units; 0 for other units of the layer."""
        return self._tensor("hidden.log_variance")

    @property
    def visible_offset_(self):
        """Visible offsets α."""
        return self._tensor("visible.offset")

    @property
    def hidden_offset_(self):
        """Hidden offsets β."""
        return self._tensor("hidden.offset")
