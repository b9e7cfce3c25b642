"""Data frames of pandas, polars and pyarrow as columns of numbers and words. No library is imported that is not in use already."""

import datetime
import numbers
import sys
from typing import NamedTuple

import numpy as np

#: Libraries of data frames, and the names of their tables.
LIBRARIES = {"pandas": ("DataFrame",), "polars": ("DataFrame",), "pyarrow": ("Table", "RecordBatch")}

#: How booleans are written in files.
TRUTH = ["false", "true"]


class Cells(NamedTuple):
    """The cells of a column: numbers (NaN is missing), codes of words (-1 is none), the words, and what else the column holds."""

    numbers: np.ndarray | None = None
    codes: np.ndarray | None = None
    words: list = []
    other: str | None = None


class Frame:
    """A data frame that the library reads block by block, words as words."""

    #: Results for frames are in double precision.
    dtype = np.dtype(np.float64)

    def __init__(self, X, unseen="error"):
        self.library, self.X = library_of(X), X
        self.unseen = unseen
        read = READERS[self.library]
        self.labels, self.dtypes, columns = zip(*read(X), strict=True) if len(_labels(X)) else ((), (), ())
        self.columns = [tuple(cells) for cells in columns]
        self.names = [str(label) for label in self.labels]
        self.shape = (len(X) if self.library != "pyarrow" else X.num_rows, len(self.names))
        if 0 in self.shape:
            raise ValueError(f"X is a data frame of {self.shape[0]} rows and {self.shape[1]} columns, but must have at least one of each")


def library_of(X):
    """Return the name of the library that X is a data frame of, or None."""
    for cls in type(X).__mro__:
        root = cls.__module__.partition(".")[0]
        if root == "polars" and cls.__name__ == "LazyFrame":
            raise ValueError("X is a polars LazyFrame, whose rows are not there yet: pass X.collect()")
        if cls.__name__ in LIBRARIES.get(root, ()):
            return root
    return None


def as_frame(X):
    """Return X, or a pyarrow table of it if it is some other library's data frame that hands out Arrow streams."""
    known = type(X).__module__.partition(".")[0] in LIBRARIES
    if known or not hasattr(X, "__arrow_c_stream__"):
        return X
    try:
        import pyarrow
    except ImportError as missing:
        raise ImportError(f"reading a {type(X).__name__} needs pyarrow: pip install pyarrow") from missing
    return pyarrow.table(X)


def _labels(X):
    """The names of the columns, as the library has them."""
    return X.column_names if hasattr(X, "column_names") else list(X.columns)


def _pandas(X):
    for place, label in enumerate(X.columns):
        series = X.iloc[:, place]
        cells = _pandas_cells(series)
        # Numbers among objects come back as numbers, not as words.
        is_numbers = series.dtype == object and cells.numbers is not None and (cells.codes is None or (cells.codes < 0).all())
        yield label, np.dtype(np.float64) if is_numbers else series.dtype, cells


def _pandas_cells(series):
    pandas, dtype = sys.modules["pandas"], series.dtype
    types = pandas.api.types
    if isinstance(dtype, pandas.CategoricalDtype):
        return _words(series.cat.codes.to_numpy(), list(series.cat.categories), True)
    if types.is_bool_dtype(dtype):
        return _truth(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
        return Cells(np.ascontiguousarray(series.to_numpy(dtype=np.float64, na_value=np.nan)))
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype) or isinstance(dtype, pandas.PeriodDtype):
        return Cells(other="dates")
    try:
        codes, values = pandas.factorize(series)
    except TypeError:
        return Cells(other="objects")
    return _words(codes, list(values), False)


def _polars(X):
    for series in X.get_columns():
        yield series.name, series.dtype, _polars_cells(series)


def _polars_cells(series):
    polars, dtype = sys.modules["polars"], series.dtype
    if dtype == polars.Boolean:
        return _truth(series.cast(polars.Float64).to_numpy())
    if dtype.is_numeric() or dtype == polars.Null:
        return Cells(np.array(series.cast(polars.Float64).to_numpy()))
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        texts = series.cast(polars.String)
        words = texts.drop_nulls().unique().sort()
        codes = texts.cast(polars.Enum(words)).to_physical().cast(polars.Int64).fill_null(-1).to_numpy()
        return _words(codes, words.to_list(), True)
    return Cells(other="dates" if dtype.is_temporal() else "objects")


def _pyarrow(X):
    for name, column in zip(X.column_names, X.columns, strict=True):
        yield name, column.type, _pyarrow_cells(column)


def _pyarrow_cells(column):
    arrow = sys.modules["pyarrow"]
    kinds = arrow.types
    if kinds.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    dtype = column.type
    if kinds.is_boolean(dtype):
        return _truth(_numbers(column.cast(arrow.int8())))
    if kinds.is_integer(dtype) or kinds.is_floating(dtype) or kinds.is_decimal(dtype) or kinds.is_null(dtype):
        return Cells(_numbers(column))
    if kinds.is_string(dtype) or kinds.is_large_string(dtype) or kinds.is_string_view(dtype):
        encoded = column.cast(arrow.large_string()).dictionary_encode()
        encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
        return _words(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist(), True)
    return Cells(other="dates" if kinds.is_temporal(dtype) else "objects")


def _numbers(column):
    """An arrow column of numbers as an array, NaN where it is null."""
    floats = column.cast(sys.modules["pyarrow"].float64(), safe=False)
    chunks = floats.chunks if hasattr(floats, "chunks") else [floats]
    return np.concatenate([np.empty(0), *(chunk.to_numpy(zero_copy_only=False) for chunk in chunks)])


READERS = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}


def _truth(values):
    """The cells of a column of booleans, NaN where one is missing."""
    return Cells(codes=np.where(np.isnan(values), -1, values).astype(np.int32), words=TRUTH)


def _words(codes, values, is_category):
    """The cells of a column that lists its different values. Numbers are numbers, unless they are categories of their own."""
    kinds = [_kind(value) for value in values]
    for what in ("dates", "objects"):
        if what in kinds:
            return Cells(other=what)
    is_number = np.array([kind == "number" and not is_category for kind in kinds] + [True])
    floats = np.array([float(v) if n else np.nan for v, n in zip(values, is_number[:-1], strict=True)] + [np.nan])
    words = [_word(value, kind) for value, kind in zip(values, kinds, strict=True)]
    codes = np.asarray(codes, dtype=np.int64)
    return Cells(floats[codes], np.where(is_number[codes], -1, codes).astype(np.int32), words)


def _kind(value):
    """What a value of an object column is."""
    if isinstance(value, (str, bool, np.bool_)):
        return "word"
    if isinstance(value, (numbers.Real, np.number)) or type(value).__name__ == "Decimal":
        return "number" if not isinstance(value, np.complexfloating) else "objects"
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
        return "dates"
    return "objects"


def _word(value, kind):
    """A value as a category; numbers as the library names them."""
    if isinstance(value, (bool, np.bool_)):
        return TRUTH[bool(value)]
    return np.format_float_positional(float(value), trim="-") if kind == "number" else str(value)


def category_word(value):
    """The word that stands for a category."""
    return _word(value, _kind(value))


def one_row(cells, names):
    """Return a row of a data frame: cells by the names of their columns, None in the others."""
    unknown = [name for name in cells if str(name) not in names]
    if unknown:
        raise ValueError(f"clamp: the model has no column {unknown[0]!r}; its columns are {', '.join(names)}")
    cells = {str(name): value for name, value in cells.items()}
    return Row([(name, cells.get(name)) for name in names])


class Row:
    """A single row by name, read like a frame."""

    unseen = "error"
    dtype = np.dtype(np.float64)

    def __init__(self, cells):
        self.names = [name for name, _ in cells]
        self.columns = [tuple(_one(value)) for _, value in cells]
        self.shape = (1, len(cells))


def _one(value):
    """A column of one cell."""
    is_missing = value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
    return Cells(np.array([np.nan])) if is_missing else _words([0], [value], False)
