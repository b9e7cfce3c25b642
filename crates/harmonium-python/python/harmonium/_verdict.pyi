from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

@dataclass(frozen=True)
class Verdict:
    outcome: str
    text: str
    advice: str | None
    evidence: dict[str, Any]
    summary: dict[str, Any]
    @classmethod
    def from_json(cls, text: str) -> Self: ...

@dataclass(frozen=True)
class Report:
    html: str
    def save(self, path: str | PathLike[str]) -> None: ...
    def _repr_html_(self) -> str: ...
