from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._draws import DrawsMixin
from ._files import FilesMixin
from ._harmonium import Model
from ._rows import RowsMixin
from ._verdict import Report, Verdict

_Random = int | np.random.RandomState | np.random.Generator | None
_Callback = Callable[[dict[str, Any]], object]

class RBM(RowsMixin, DrawsMixin, FilesMixin):
    history_: list[dict[str, Any]]
    n_updates_: int
    n_features_in_: int
    seed_: int
    def __init__(
        self,
        n_hidden: int | str = "auto",
        *,
        visible: str = "bernoulli",
        coupling: str = "cho",
        hidden: str = "bernoulli",
        hidden_coupling: str = "cho",
        states: int | None = None,
        hidden_states: int | None = None,
        start: str = "auto",
        init: str | PathLike[str] | None = None,
        method: str = "auto",
        gibbs_steps: int | str = "auto",
        n_chains: int | str = "auto",
        n_temperatures: int = 10,
        batch_size: int | str = "auto",
        epochs: float | None = None,
        time: float | None = None,
        updates: int | None = None,
        learning_rate: float | str = "auto",
        max_drift: float | str = "auto",
        quick_start: int | str = "auto",
        schedule: str = "auto",
        optimizer: str = "adam",
        momentum: float = 0.9,
        nesterov: bool = False,
        variance_rate: float = 0.3,
        centering: bool = True,
        average: float | str = "auto",
        keep: str = "auto",
        early_stopping: bool | int | str = "auto",
        l1: float = 0.0,
        l2: float | str = "auto",
        max_norm: float | None = None,
        sparsity: float | None = None,
        sparsity_cost: float | str = "auto",
        clip: float | None = None,
        validation_fraction: float | str = "auto",
        binarize: str = "auto",
        standardize: bool | str = "auto",
        missing: bool = False,
        image: str | None = None,
        likelihood: bool = True,
        report_every: int = 200,
        checkpoint_every: int = 1000,
        random_state: _Random = None,
        n_threads: int | None = None,
        verbose: bool = False,
        callbacks: _Callback | Sequence[_Callback] | None = None,
    ) -> None: ...
    @property
    def model_(self) -> Model: ...
    @property
    def verdict_(self) -> Verdict: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...
    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        validation_data: Any = None,
        output: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self: ...
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self: ...
    def fit_transform(self, X: Any, y: object = None, **fit_params: Any) -> NDArray[Any]: ...
    def set_output(self, *, transform: str | None = None) -> Self: ...
    def get_metadata_routing(self) -> Any: ...
    def set_fit_request(self, *, sample_weight: bool | str | None = None) -> Self: ...
    def set_partial_fit_request(self, *, sample_weight: bool | str | None = None) -> Self: ...
    def report(self, path: str | PathLike[str] | None = None) -> Report: ...
    def __getstate__(self) -> dict[str, Any]: ...
