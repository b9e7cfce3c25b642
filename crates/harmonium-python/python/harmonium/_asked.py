"""Translation of the parameters of ``RBM`` to the library's settings."""

from collections.abc import Mapping

import numpy as np

from ._settings import SETTINGS, number, refused, switch, text, whole
from ._units import layer_text

#: Measurements without improvement before ``early_stopping=True`` stops.
PATIENCE = 10

#: What a parameter that is text may be, in words.
TEXTS = {
    "binarize": "'auto', 'none', 'sample' or 'threshold:T', such as 'threshold:0.5'",
    "image": "text, such as '28x28'",
    "init": "the path of a model file",
    "schema": "the path of a file that harmonium schema wrote",
}


def options_of(kind, coupling, states):
    """Return the options of a kind of units; only Gaussian units have a coupling by default."""
    options = {}
    if kind == "gaussian" or coupling != "cho":
        options["coupling"] = text("coupling", coupling)
    if states is not None:
        options["states"] = str(whole("states", states, 2))
    return options


def _plain(name, value, row):
    """Convert a value to the type that the library's table has for it."""
    takes = row["takes"]
    if takes == "whole":
        return whole(name, value, row["least"], row["most"])
    if takes == "number":
        return number(name, value)
    if takes == "switch":
        return switch(name, value)
    if takes == "units":
        return layer_text(name, value)
    if takes == "texts":
        return _pairs(name, value)
    choices = ", ".join(row["choices"])
    words = text(name, value, TEXTS.get(name, f"one of {choices}"))
    if takes == "choice" and words not in row["choices"]:
        raise ValueError(f"{name}: {words!r} is not one of {choices}")
    return words


def _pairs(name, value):
    """A dict as texts: NAME=KIND."""
    if not isinstance(value, Mapping) or not all(isinstance(kind, str) for kind in value.values()):
        raise refused(name, value, "a dict of kinds by the names of columns, such as {'age': 'gaussian', 'zip': 'ignore'}")
    return [f"{column}={kind}" for column, kind in value.items()]


#: Settings that a model to start from has already.
UNITS = ("visible", "hidden", "coupling", "hidden_coupling")


def asked(estimator):
    """Return the settings of an estimator by their keys. The library chooses those that are "auto" or None."""
    settings = {"train.seed": estimator.seed_}
    for name, row in SETTINGS.items():
        if name == "random_state":
            continue
        value = getattr(estimator, name)
        if name == "early_stopping" and isinstance(value, (bool, np.bool_)):
            value = PATIENCE if value else None
        if name == "early_stopping" and not isinstance(value, str) and value == 0:
            value = None
        if value is None or (isinstance(value, str) and value == "auto"):
            continue
        settings[row["key"]] = _plain(name, value, row)
    # Only Gaussian units have a coupling.
    for kind, coupling in [("visible", "coupling"), ("hidden", "hidden_coupling")]:
        if getattr(estimator, kind) != "gaussian" and getattr(estimator, coupling) == "cho":
            settings.pop(f"model.{coupling}", None)
    # A model to start from has its own units.
    if estimator.init is not None:
        for name in UNITS:
            settings.pop(f"model.{name}", None)
    return settings


def continued(estimator, model):
    """Return the settings of a fit that goes on from a fitted model, which has its own units."""
    settings = asked(estimator)
    if estimator.n_hidden not in ("auto", model.n_hidden()):
        n, hidden = estimator.n_hidden, model.n_hidden()
        raise ValueError(f"n_hidden is {n}, but warm_start goes on from a model with {hidden} hidden units; fit it with warm_start=False")
    for name in (*UNITS, "states", "hidden_states", "n_hidden", "init"):
        settings.pop(f"model.{name}", None)
    return settings
