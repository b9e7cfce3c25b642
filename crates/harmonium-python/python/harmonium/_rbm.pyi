from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._draws import DrawsMixin
from ._files import FilesMixin
from ._harmonium import Model
from ._rows import RowsMixin
from ._schema import Column
from ._units import _Units
from ._verdict import Report, Verdict

_Random = int | np.random.RandomState | np.random.Generator | None
_Callback = Callable[[dict[str, Any]], object]
_Auto = Literal["auto"]

class RBM(RowsMixin, DrawsMixin, FilesMixin):
    history_: list[dict[str, Any]]
    n_updates_: int
    n_features_in_: int
    seed_: int
    def __init__(
        self,
        n_hidden: int | _Auto = "auto",
        *,
        visible: _Auto | _Units = "auto",
        coupling: Literal["cho", "krizhevsky", "goodfellow"] = "cho",
        hidden: _Auto | _Units = "auto",
        hidden_coupling: Literal["cho", "krizhevsky"] = "cho",
        states: int | None = None,
        hidden_states: int | None = None,
        start: Literal["auto", "independent", "factors"] = "auto",
        init: str | PathLike[str] | None = None,
        method: Literal["auto", "pcd", "cd", "pt", "wpcd", "exact"] = "auto",
        gibbs_steps: int | _Auto = "auto",
        n_chains: int | _Auto = "auto",
        n_temperatures: int = 10,
        batch_size: int | _Auto = "auto",
        epochs: float | None = None,
        time: float | None = None,
        updates: int | None = None,
        learning_rate: float | _Auto = "auto",
        max_drift: float | _Auto = "auto",
        quick_start: int | _Auto = "auto",
        schedule: Literal["auto", "constant", "step", "cosine", "inverse"] = "auto",
        optimizer: Literal["sgd", "adam"] = "adam",
        momentum: float = 0.9,
        nesterov: bool = False,
        variance_rate: float = 0.3,
        centering: bool = True,
        average: float | _Auto = "auto",
        keep: Literal["auto", "best", "last"] = "auto",
        early_stopping: bool | int | _Auto = "auto",
        l1: float = 0.0,
        l2: float | _Auto = "auto",
        max_norm: float | None = None,
        sparsity: float | None = None,
        sparsity_cost: float | _Auto = "auto",
        clip: float | None = None,
        validation_fraction: float | _Auto = "auto",
        binarize: Literal["auto", "none", "sample"] | str = "auto",
        standardize: bool | _Auto = "auto",
        columns: Mapping[Any, str] | None = None,
        schema: str | PathLike[str] | None = None,
        unseen: Literal["error", "missing"] = "error",
        missing: bool | _Auto = "auto",
        image: str | None = None,
        likelihood: bool = True,
        report_every: int = 200,
        checkpoint_every: int = 1000,
        random_state: _Random = None,
        n_threads: int | None = None,
        verbose: bool = False,
        callbacks: _Callback | Sequence[_Callback] | None = None,
        warm_start: bool = False,
    ) -> None: ...
    @property
    def model_(self) -> Model: ...
    @property
    def verdict_(self) -> Verdict: ...
    @property
    def schema_(self) -> list[Column]: ...
    def to_frame(self, X: Any, library: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any: ...
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
    def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self: ...
    def get_metadata_routing(self) -> Any: ...
    def set_fit_request(self, *, sample_weight: bool | str | None = None) -> Self: ...
    def set_partial_fit_request(self, *, sample_weight: bool | str | None = None) -> Self: ...
    def set_score_request(self, *, sample_weight: bool | str | None = None) -> Self: ...
    def report(self, path: str | PathLike[str] | None = None) -> Report: ...
    def __getstate__(self) -> dict[str, Any]: ...
