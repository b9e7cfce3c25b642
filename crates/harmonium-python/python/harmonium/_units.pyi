from collections.abc import Mapping, Sequence
from typing import Any, Literal

_Blocks = list[tuple[str, int, dict[str, str]]]
_Kind = Literal["bernoulli", "spin", "gaussian", "potts"]
_Block = tuple[_Kind, int] | tuple[_Kind, int, Mapping[str, object]]
# Text may also be a list of blocks, such as "bernoulli*10,gaussian*4".
_Units = _Kind | str | Sequence[_Block]

WORDS: str
MOST_UNITS: int

def layer_text(name: str, value: Any) -> str: ...
def is_list(value: Any) -> bool: ...
def blocks(name: str, value: Any, options: dict[str, str], columns: int) -> _Blocks: ...
def as_metadata(layers: Mapping[str, _Blocks]) -> dict[str, str]: ...
def has_gaussian(listed: _Blocks) -> bool: ...
