"""What the columns of a data frame are learned as, and how that is printed."""

import warnings
from typing import NamedTuple

#: Columns that are printed, and characters of a name and of values.
MOST_SHOWN = 40
NAME, VALUES = 24, 40


class Column(NamedTuple):
    """A column of the data that a model was fitted to.

    ``kind`` is the kind of its unit, or "ignore" if it is left out; ``categories`` are the words of the unit's states, in their
    order. ``missing`` cells, ``values`` and ``why`` were found in the data; a model from a file does not have them.
    """

    name: str
    kind: str
    categories: list[str]
    missing: int | None
    values: str
    why: str


def columns_of(described):
    """Return the columns that the library describes."""
    return [Column(**{name: column[name] for name in Column._fields}) for column in described]


def in_words(columns):
    """Return the columns as a table: name, kind, values, missing cells, and why."""
    rows = [("column", "kind", "values", "missing", "why"), *map(_row, columns[:MOST_SHOWN])]
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    more = len(columns) - MOST_SHOWN
    return "\n".join(lines + ([f"… and {more} more, see schema_"] if more > 0 else []))


def _row(column):
    states = f" {len(column.categories)}" if len(column.categories) > 2 else ""
    return _cut(column.name, NAME), column.kind + states, _cut(column.values, VALUES), str(column.missing or ""), column.why


def _cut(text, most):
    return text if len(text) <= most else text[: most - 1] + "…"


def warn(described, asked):
    """Warn of columns that were left out without being asked to, and of one that may be a label."""
    asked = {str(name) for name in asked or ()}
    left_out = [c for c in described if c["kind"] == "ignore" and c["name"] not in asked]
    if left_out:
        named = ", ".join(f"{c['name']!r} ({c['why']})" for c in left_out[:MOST_SHOWN])
        more = f" and {len(left_out) - MOST_SHOWN} more" if len(left_out) > MOST_SHOWN else ""
        text = f"left out: {named}{more}. columns={{{left_out[0]['name']!r}: 'gaussian'}} gives a column a kind, 'ignore' accepts this."
        warnings.warn(text, stacklevel=5)
    for label in (c["name"] for c in described if c["may_be_label"]):
        warnings.warn(f"the column {label!r} may be a label: columns={{{label!r}: 'ignore'}} leaves it out", stacklevel=5)
