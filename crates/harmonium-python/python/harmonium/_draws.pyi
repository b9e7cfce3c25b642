from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike

_LogZMethod = Literal["auto", "exact", "modes", "bar", "ais", "reverse-ais", "tempering"]
_Sampler = Literal["auto", "gibbs", "tempering", "exact"]
_Fill = Literal["mean", "best", "draw"]
_Filling = Literal["auto", "exact", "chains"]
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

# Rows are arrays, or data frames of the library that the model was fitted with.
class DrawsMixin:
    def log_z(
        self,
        method: _LogZMethod = "auto",
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
        n: int | None = None,
        *,
        n_samples: int | None = None,
        steps: int | None = None,
        sampler: _Sampler = "auto",
        n_chains: int | None = None,
        temperatures: int | None = None,
        burn_in: int = 1000,
        thin: int = 10,
        start: Literal["random", "hidden"] | ArrayLike = "random",
        means: bool = False,
        temperature: float = 1.0,
        clamp: ArrayLike | Mapping[str, Any] | None = None,
        by_chain: bool = False,
        random_state: _Random = None,
        return_info: Literal[False] = False,
    ) -> Any: ...
    @overload
    def sample(
        self,
        n: int | None = None,
        *,
        n_samples: int | None = None,
        steps: int | None = None,
        sampler: _Sampler = "auto",
        n_chains: int | None = None,
        temperatures: int | None = None,
        burn_in: int = 1000,
        thin: int = 10,
        start: Literal["random", "hidden"] | ArrayLike = "random",
        means: bool = False,
        temperature: float = 1.0,
        clamp: ArrayLike | Mapping[str, Any] | None = None,
        by_chain: bool = False,
        random_state: _Random = None,
        return_info: Literal[True],
    ) -> tuple[Any, dict[str, Any]]: ...
    def impute(
        self,
        X: Any,
        *,
        fill: _Fill = "mean",
        method: _Filling = "auto",
        n_chains: int = 20,
        burn_in: int = 100,
        steps: int = 200,
        interval: float | None = None,
        probabilities: bool = False,
        draws: int | None = None,
        random_state: _Random = None,
    ) -> Any: ...
    def recenter(self, visible: ArrayLike | None = None, hidden: ArrayLike | None = None) -> Self: ...
