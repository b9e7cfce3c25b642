from os import PathLike
from typing import Any, Literal, Self

from numpy.typing import ArrayLike, NDArray

from ._units import _Units

class FilesMixin:
    def save(self, path: str | PathLike[str]) -> None: ...
    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self: ...
    @classmethod
    def from_arrays(
        cls,
        weights: ArrayLike,
        visible_bias: ArrayLike,
        hidden_bias: ArrayLike,
        *,
        visible: _Units = "bernoulli",
        coupling: Literal["cho", "krizhevsky", "goodfellow"] = "cho",
        hidden: _Units = "bernoulli",
        hidden_coupling: Literal["cho", "krizhevsky"] = "cho",
        states: int | None = None,
        hidden_states: int | None = None,
        visible_log_variance: ArrayLike | None = None,
        hidden_log_variance: ArrayLike | None = None,
        visible_offset: ArrayLike | None = None,
        hidden_offset: ArrayLike | None = None,
    ) -> Self: ...
    @classmethod
    def from_sklearn(cls, rbm: Any) -> Self: ...
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
