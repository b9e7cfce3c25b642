"""Results of a model as data frames: codes become words again, in the types of the columns that the model was fitted to."""

from typing import Any, NamedTuple

import numpy as np

from ._frames import TRUTH, category_word


class Origin(NamedTuple):
    """The data frame that a model was fitted to: its library, and for every column its label and type."""

    library: str
    columns: dict[str, tuple[Any, Any]]

    @classmethod
    def of(cls, frame):
        """What is remembered of a frame."""
        return cls(frame.library, dict(zip(frame.names, zip(frame.labels, frame.dtypes, strict=True), strict=True)))


def made(model, values, origin, *, drawn, X=None):
    """Return values, a column per learned column, as a data frame of the library of ``origin``.

    ``drawn`` values are states, so that whole numbers stay whole; others may be means. With ``X`` the columns replace those of
    this data frame.
    """
    columns = {}
    for (name, codes, words, states, _), numbers in zip(model.columns(), values.T, strict=True):
        label, dtype = origin.columns.get(name, (name, None))
        columns[label] = _column(origin.library, dtype, numbers, codes, words, drawn and bool(states))
    return BUILDERS[origin.library](columns, X)


def named(values, names, library, X=None):
    """Return numbers as a data frame with these names, on the index of X if it has one."""
    result = BUILDERS[library](dict(zip(names, np.ascontiguousarray(values.T), strict=True)), None)
    return _on_index(result, X)


def state_names(model):
    """The names of the columns of states: of a category such as city=Paris, of a number the name of its column."""
    names = []
    for name, _, words, states, width in model.columns():
        if width > 1:
            names += [f"{name}={state}" for state in states or range(width)]
        else:
            # The unit gives the probability of the second of two words.
            names.append(f"{name}={words[1]}" if len(words) == 2 else name)
    return names


def _on_index(result, X):
    """A result on the index of pandas rows."""
    if hasattr(result, "index") and hasattr(X, "index"):
        result.index = X.index
    return result


def _column(library, dtype, numbers, codes, words, is_whole):
    """The values of a column: words or numbers, in its type if they are of that type."""
    if words:
        nearest = np.abs(numbers[:, None] - np.asarray(codes)).argmin(axis=1)
        return WORDS[library](dtype, nearest, words)
    return NUMBERS[library](dtype, numbers) if is_whole else np.ascontiguousarray(numbers)


def _plain(words):
    """Words as the values they are the names of: booleans, numbers, or themselves."""
    if words == TRUTH:
        return np.array([False, True])
    try:
        return np.array([float(word) for word in words])
    except ValueError:
        return np.array(words, dtype=object)


def _pandas_words(dtype, nearest, words):
    import pandas

    types = pandas.api.types
    if dtype is None:
        return pandas.Categorical.from_codes(nearest, categories=words)
    if isinstance(dtype, pandas.CategoricalDtype):
        known = {category_word(value): value for value in dtype.categories}
        values = [known.get(word, word) for word in words]
        # The categories of other rows may be fewer than those of the model.
        all_ = [*dtype.categories, *(value for value in values if value not in dtype.categories)]
        return pandas.Categorical([values[k] for k in nearest], categories=all_, ordered=dtype.ordered)
    # Text has a type of its own; objects that are false or true are booleans beside missing cells.
    if types.is_numeric_dtype(dtype) or (types.is_object_dtype(dtype) and words == TRUTH):
        return pandas.Series(_plain(words)[nearest], dtype=dtype)
    return pandas.Series(np.array(words, dtype=object)[nearest], dtype=dtype)


def _pandas_numbers(dtype, numbers):
    import pandas

    return pandas.Series(np.ascontiguousarray(numbers), dtype=dtype)


def _polars_words(dtype, nearest, words):
    import polars

    if dtype is None:
        return polars.Series(np.array(words, dtype=object)[nearest].tolist(), dtype=polars.Enum(words))
    if isinstance(dtype, polars.Enum) and not set(words) <= set(dtype.categories):
        # The categories of other rows may be fewer than those of the model.
        dtype = polars.Enum([*dtype.categories, *(word for word in words if word not in dtype.categories)])
    is_plain = dtype == polars.Boolean or dtype.is_numeric()
    values = _plain(words) if is_plain else np.array(words, dtype=object)
    return polars.Series(values[nearest].tolist()).cast(dtype)


def _polars_numbers(dtype, numbers):
    import polars

    series = polars.Series(np.ascontiguousarray(numbers))
    return series if dtype is None else series.cast(dtype)


def _pyarrow_words(dtype, nearest, words):
    import pyarrow

    if dtype is None or pyarrow.types.is_dictionary(dtype):
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(nearest.astype(np.int32)), pyarrow.array(words)).cast(
            dtype or pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        )
    is_text = pyarrow.types.is_string(dtype) or pyarrow.types.is_large_string(dtype) or pyarrow.types.is_string_view(dtype)
    values = np.array(words, dtype=object) if is_text else _plain(words)
    return pyarrow.array(values[nearest].tolist()).cast(dtype)


def _pyarrow_numbers(dtype, numbers):
    import pyarrow

    array = pyarrow.array(np.ascontiguousarray(numbers))
    return array if dtype is None else array.cast(dtype)


WORDS = {"pandas": _pandas_words, "polars": _polars_words, "pyarrow": _pyarrow_words}
NUMBERS = {"pandas": _pandas_numbers, "polars": _polars_numbers, "pyarrow": _pyarrow_numbers}


def _pandas_frame(columns, X):
    import pandas

    if X is None:
        return pandas.DataFrame(columns)
    X = X.copy()
    for label, values in columns.items():
        X[label] = values.set_axis(X.index) if hasattr(values, "set_axis") else values
    return X


def _polars_frame(columns, X):
    import polars

    series = [polars.Series(label, values) for label, values in columns.items()]
    return polars.DataFrame(series) if X is None else X.with_columns(series)


def _pyarrow_frame(columns, X):
    import pyarrow

    if X is None:
        return pyarrow.table(columns)
    for label, values in columns.items():
        X = X.set_column(X.column_names.index(label), label, pyarrow.array(values) if isinstance(values, np.ndarray) else values)
    return X


BUILDERS = {"pandas": _pandas_frame, "polars": _polars_frame, "pyarrow": _pyarrow_frame}


def filled(model, values, frame, drawn=False):
    """Return a data frame with the values of its learned columns replaced; the other columns stay."""
    return made(model, values, Origin.of(frame), drawn=drawn, X=frame.X)


def rebuilt(model, values, frame):
    """Return the learned columns of a data frame with other values, on its index."""
    return _on_index(made(model, values, Origin.of(frame), drawn=False), frame.X)

