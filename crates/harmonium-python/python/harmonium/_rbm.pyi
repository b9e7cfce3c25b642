from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._harmonium import Machine

PATIENCE: int

_Random = int | np.random.RandomState | np.random.Generator | None
_Callback = Callable[[dict[str, Any]], object]

class LogZ(NamedTuple):
    value: float
    std_err: float
    lower: float
    upper: float
    ess: float | None
    method: str
    verdict: str
    how: str
    advice: str

class RBM:
    machine_: Machine
    history_: list[dict[str, Any]]
    n_updates_: int
    n_features_in_: int
    seed_: int
    def __init__(
        self,
        n_hidden: int = 256,
        *,
        visible: str = "bernoulli",
        coupling: str = "cho",
        hidden: str = "bernoulli",
        hidden_coupling: str = "cho",
        states: int | None = None,
        hidden_states: int | None = None,
        method: str = "pcd",
        gibbs_steps: int = 1,
        n_chains: int = 100,
        batch_size: int = 100,
        learning_rate: float | None = None,
        schedule: str | None = None,
        epochs: float | None = None,
        optimizer: str = "adam",
        momentum: float = 0.9,
        centering: bool = True,
        l1: float = 0.0,
        l2: float = 0.0,
        validation_fraction: float = 0.0,
        early_stopping: bool | int = False,
        binarize: str = "auto",
        missing: bool = False,
        likelihood: bool = True,
        random_state: _Random = None,
        n_threads: int | None = None,
        verbose: bool = False,
        callbacks: _Callback | Sequence[_Callback] | None = None,
    ) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> RBM: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...
    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> RBM: ...
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> RBM: ...
    def fit_transform(self, X: Any, y: object = None, **fit_params: Any) -> NDArray[Any]: ...
    def transform(self, X: Any) -> NDArray[Any]: ...
    def reconstruct(self, X: Any) -> NDArray[Any]: ...
    def free_energy(self, X: Any) -> NDArray[np.float64]: ...
    def score_samples(self, X: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: object = None) -> float: ...
    def pseudo_log_likelihood(self, X: Any) -> NDArray[np.float64]: ...
    def gradient(
        self, X: Any, sample_weight: ArrayLike | None = None, method: str = "exact"
    ) -> dict[str, NDArray[np.float64]]: ...
    def log_z(
        self,
        method: str = "auto",
        *,
        tolerance: float = 0.5,
        n_chains: int | None = None,
        temperatures: int | None = None,
        budget: float | None = None,
        data: Any = None,
        random_state: _Random = 0,
    ) -> LogZ: ...
    @overload
    def sample(
        self,
        n: int = 1,
        *,
        steps: int | None = None,
        sampler: str = "auto",
        n_chains: int | None = None,
        temperatures: int | None = None,
        burn_in: int = 1000,
        thin: int = 10,
        start: Any = "random",
        means: bool = False,
        clamp: ArrayLike | None = None,
        random_state: _Random = None,
        return_info: Literal[False] = False,
    ) -> NDArray[np.float64]: ...
    @overload
    def sample(
        self,
        n: int = 1,
        *,
        steps: int | None = None,
        sampler: str = "auto",
        n_chains: int | None = None,
        temperatures: int | None = None,
        burn_in: int = 1000,
        thin: int = 10,
        start: Any = "random",
        means: bool = False,
        clamp: ArrayLike | None = None,
        random_state: _Random = None,
        return_info: Literal[True],
    ) -> tuple[NDArray[np.float64], dict[str, Any]]: ...
    @overload
    def impute(
        self,
        X: Any,
        *,
        fill: str = "mean",
        method: str = "auto",
        n_chains: int = 20,
        burn_in: int = 100,
        steps: int = 200,
        interval: None = None,
        random_state: _Random = None,
    ) -> NDArray[Any]: ...
    @overload
    def impute(
        self,
        X: Any,
        *,
        fill: str = "mean",
        method: str = "auto",
        n_chains: int = 20,
        burn_in: int = 100,
        steps: int = 200,
        interval: float,
        random_state: _Random = None,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
    def recenter(self, visible: ArrayLike | None = None, hidden: ArrayLike | None = None) -> RBM: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @classmethod
    def load(cls, path: str | PathLike[str]) -> RBM: ...
    @classmethod
    def from_arrays(
        cls,
        weights: ArrayLike,
        visible_bias: ArrayLike,
        hidden_bias: ArrayLike,
        *,
        visible: str = "bernoulli",
        coupling: str = "cho",
        hidden: str = "bernoulli",
        hidden_coupling: str = "cho",
        states: int | None = None,
        hidden_states: int | None = None,
        visible_log_variance: ArrayLike | None = None,
        hidden_log_variance: ArrayLike | None = None,
        visible_offset: ArrayLike | None = None,
        hidden_offset: ArrayLike | None = None,
    ) -> RBM: ...
    @classmethod
    def from_sklearn(cls, rbm: Any) -> RBM: ...
    @property
    def weights_(self) -> NDArray[Any]: ...
    @property
    def visible_bias_(self) -> NDArray[Any]: ...
    @property
    def hidden_bias_(self) -> NDArray[Any]: ...
    @property
    def visible_log_variance_(self) -> NDArray[Any]: ...
    @property
    def hidden_log_variance_(self) -> NDArray[Any]: ...
    @property
    def visible_offset_(self) -> NDArray[Any]: ...
    @property
    def hidden_offset_(self) -> NDArray[Any]: ...
