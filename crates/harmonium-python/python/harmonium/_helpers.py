"""What the parts of ``RBM`` share."""

import numpy as np


def whole(name, value, least=1):
    """A whole number, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}: is {value!r}, but must be a whole number, at least {least}")
    return int(value)


def options_of(kind, coupling, states):
    """Options of a kind of units; the default coupling is for those that have one."""
    options = {}
    if kind == "gaussian" or coupling != "cho":
        options["coupling"] = coupling
    if states is not None:
        options["states"] = str(whole("states", states, 2))
    return options


def like(X, result):
    """A result in the precision of the rows."""
    return result.astype(np.float32) if X.dtype == np.float32 else result
