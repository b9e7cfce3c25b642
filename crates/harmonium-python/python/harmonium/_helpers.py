"""Functions shared by the parts of ``RBM``."""

import numpy as np

from ._compat import Table, checked, plain_rows
from ._frames import Frame, as_frame, library_of


def like(table, result):
    """Convert a result to the precision of the rows."""
    return result.astype(np.float32) if table.dtype == np.float32 else result


def new_rows(estimator, X):
    """Return rows to fit: a data frame whose columns are described one by one, or an array."""
    X = as_frame(X)
    by_column = isinstance(estimator.visible, str) and estimator.visible == "auto"
    if by_column and library_of(X) is not None:
        frame = Frame(X, estimator.unseen)
        _remember(estimator, frame)
        return frame
    for name in ("columns", "schema"):
        if getattr(estimator, name):
            what = "visible='auto'" if library_of(X) else "a data frame"
            raise ValueError(f"{name} describes the columns of a data frame one by one, which needs {what}")
    return Table(checked(estimator, X, True))


def _remember(estimator, frame):
    """Set what scikit-learn's tools ask of a fitted estimator."""
    estimator.n_features_in_ = len(frame.names)
    estimator.__dict__.pop("feature_names_in_", None)
    if all(isinstance(label, str) for label in frame.labels):
        estimator.feature_names_in_ = np.array(frame.labels, dtype=object)


def known_rows(estimator, X):
    """Return rows for the present model: a data frame if it knows names and words, an array of codes otherwise."""
    if not estimator._has_schema():
        return Table(checked(estimator, as_frame(X), False))
    X = as_frame(X)
    if library_of(X) is not None:
        return Frame(X, estimator.unseen)
    return Table(plain_rows(X, estimator.model_.n_visible()))
