"""The verdict on a run with its evidence, and the report."""

import html
import json
import pathlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run; ``str`` gives a short paragraph.

    Attributes
    ----------
    outcome : str
        "learned", "still-rising", "overfitting", "not-mixed", "little", "failed", "unfinished" or "unknown".
    text : str
        The verdict and its evidence in words.
    advice : str or None
        What to do next, if anything.
    evidence : dict
        The numbers the verdict rests on.
    summary : dict
        All numbers of the run, as in summary.json: log_likelihood, valid_log_likelihood, baseline, …
    """

    outcome: str
    text: str
    advice: str | None
    evidence: dict[str, Any]
    summary: dict[str, Any]

    @classmethod
    def from_json(cls, text):
        """Create a verdict from the JSON that the library returns."""
        all_ = json.loads(text)
        return cls(all_["outcome"], all_["summary"], all_["advice"], all_["evidence"], all_)

    def __str__(self):
        return self.text


@dataclass(frozen=True)
class Report:
    """The report of a run: a self-contained HTML page."""

    html: str

    def save(self, path):
        """Write the page to a file."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="900" style="border: 0"></iframe>'
