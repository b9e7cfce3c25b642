from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Random = int | np.random.RandomState | np.random.Generator | None

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
    evidence: list[dict[str, Any]]
    work: float | None

class DrawsMixin:
    def log_z(
        self,
        method: str = "auto",
        *,
        tolerance: float = 0.5,
        n_chains: int | None = None,
        temperatures: int | None = None,
        budget: float | None = None,
        time: float | None = None,
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
        temperature: float = 1.0,
        clamp: ArrayLike | None = None,
        by_chain: bool = False,
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
        temperature: float = 1.0,
        clamp: ArrayLike | None = None,
        by_chain: bool = False,
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
    def recenter(self, visible: ArrayLike | None = None, hidden: ArrayLike | None = None) -> Self: ...
