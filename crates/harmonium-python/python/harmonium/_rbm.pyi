from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._draws import DrawsMixin
from ._files import FilesMixin
from ._harmonium import Model
from ._rows import RowsMixin

PATIENCE: int

_Random = int | np.random.RandomState | np.random.Generator | None
_Callback = Callable[[dict[str, Any]], object]

class RBM(RowsMixin, DrawsMixin, FilesMixin):
    model_: Model
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
    def set_params(self, **params: Any) -> Self: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...
    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self: ...
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self: ...
    def fit_transform(self, X: Any, y: object = None, **fit_params: Any) -> NDArray[Any]: ...
