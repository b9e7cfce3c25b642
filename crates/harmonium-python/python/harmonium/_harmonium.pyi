"""The compiled module: one call of the library each. Use harmonium instead."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FittedRun",
    "Model",
    "Pcd",
    "Trainer",
    "__version__",
    "blocks",
    "complete",
    "fit",
    "free_energies",
    "gradient",
    "impute",
    "log_z",
    "means",
    "pseudo_log_likelihoods",
    "reconstructions",
    "sample",
    "setting_table",
    "visible_means",
]
__version__: str

class _Table(Protocol):
    shape: tuple[int, int]
    def read(self, first: int, last: int) -> NDArray[np.float64]: ...

@final
class Model:
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def read(path: str | PathLike[str]) -> Model: ...
    def write(self, path: str | PathLike[str]) -> None: ...
    @staticmethod
    def from_tensors(
        metadata: Mapping[str, str], tensors: Mapping[str, NDArray[np.float64]], single: bool
    ) -> Model: ...
    def tensors(self) -> dict[str, NDArray[Any]]: ...
    def metadata(self) -> dict[str, str]: ...
    def n_visible(self) -> int: ...
    def n_hidden(self) -> int: ...
    def units(self) -> list[tuple[str, dict[str, str]]]: ...
    def schema(self) -> str | None: ...
    def columns(self) -> list[tuple[str, list[float], list[str], list[str], int]]: ...
    def is_finite(self) -> bool: ...
    def recentered(self, visible: NDArray[np.float64] | None, hidden: NDArray[np.float64] | None) -> Model: ...
    def __eq__(self, value: object, /) -> bool: ...

@final
class Pcd:
    def __new__(
        cls,
        table: _Table,
        components: NDArray[np.float64],
        hidden: NDArray[np.float64],
        visible: NDArray[np.float64],
        chains: NDArray[np.float64],
        single: bool,
        batch: int,
        rate: float,
        seed: int,
    ) -> Pcd: ...
    def epoch(self) -> None: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...

@final
class FittedRun:
    def conclude(self, threads: int | None) -> tuple[str, str]: ...

@final
class Trainer:
    @staticmethod
    def start(
        table: _Table, asked: str, init: Model | None, checkpoint: bytes | None, threads: int | None
    ) -> tuple[Trainer, list[str]]: ...
    def step(
        self,
        table: _Table,
        weights: NDArray[np.float64] | None,
        callback: Callable[[str], bool],
        threads: int | None,
    ) -> None: ...
    def model(self) -> Model: ...
    def checkpoint(self) -> bytes: ...

def fit(
    table: _Table,
    asked: str,
    weights: NDArray[np.float64] | None,
    valid: _Table | None,
    present: Model | None,
    output: str | None,
    resume: bool,
    callback: Callable[[str], bool],
    threads: int | None,
) -> tuple[Model, int, FittedRun, list[str], tuple[str, str] | None, BaseException | None]: ...
def blocks(text: str) -> list[tuple[str, int, dict[str, str]]]: ...
def setting_table() -> str: ...
def log_z(
    model: Model,
    method: str,
    tolerance: float,
    chains: int | None,
    temperatures: int | None,
    budget: float | None,
    time: float | None,
    seed: int,
    data: _Table | None,
    threads: int | None,
) -> dict[str, Any]: ...
def means(model: Model, table: _Table, missing: bool, seed: int, threads: int | None) -> NDArray[np.float64]: ...
def reconstructions(
    model: Model, table: _Table, missing: bool, seed: int, threads: int | None
) -> NDArray[np.float64]: ...
def visible_means(
    model: Model, hidden: NDArray[np.float64], states: bool, threads: int | None
) -> NDArray[np.float64]: ...
def free_energies(
    model: Model, table: _Table, missing: bool, seed: int, threads: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
def pseudo_log_likelihoods(
    model: Model, table: _Table, missing: bool, seed: int, threads: int | None
) -> NDArray[np.float64]: ...
def gradient(
    model: Model, table: _Table, weights: NDArray[np.float64] | None, seed: int, threads: int | None
) -> dict[str, NDArray[np.float64]]: ...
def sample(
    model: Model, asked: str, start: _Table | None, clamp: _Table | None, threads: int | None
) -> tuple[NDArray[np.float64], dict[str, Any]]: ...
def complete(
    model: Model, table: _Table, asked: str, draws: int, threads: int | None
) -> list[NDArray[np.float64]]: ...
def impute(model: Model, table: _Table, asked: str, threads: int | None) -> list[NDArray[np.float64]]: ...
