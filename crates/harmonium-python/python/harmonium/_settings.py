"""Translation of the parameters of ``RBM`` to the library's settings; values of another type are refused by name."""

import json
import os

import numpy as np

from . import _harmonium

#: The library's settings, by the name of the parameter.
SETTINGS = {row["python"]: row for row in json.loads(_harmonium.setting_table()) if row["python"]}

#: Measurements without improvement before ``early_stopping=True`` stops.
PATIENCE = 10

#: The largest count that the library takes.
MOST = SETTINGS["updates"]["most"]

#: More threads than this are a mistake.
MOST_THREADS = 1024

#: What a parameter that is text may be, in words.
TEXTS = {
    "binarize": "'auto', 'none', 'sample' or 'threshold:T', such as 'threshold:0.5'",
    "image": "text, such as '28x28'",
    "init": "the path of a model file",
}

#: Words that some numbers may be.
WORDS = {"early_stopping": "True, False or 'auto', or "}


def refused(name, value, what):
    """Return the error for a value that is not what it must be."""
    return ValueError(f"{name} is {value!r}, but must be {what}")


def _is_whole(value):
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole(name, value, least=1, most=MOST):
    """Return a whole number, or raise an error with the name of the parameter."""
    if not _is_whole(value) or not least <= value <= most:
        unlimited = most == MOST and not (_is_whole(value) and value > most)
        limits = f"of at least {least}" if unlimited else f"from {least} to {most}"
        raise refused(name, value, f"{WORDS.get(name, '')}a whole number {limits}")
    return int(value)


def number(name, value):
    """Return a finite number, or raise an error with the name of the parameter."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise refused(name, value, f"{WORDS.get(name, '')}a number")
    if not abs(value) <= np.finfo(np.float64).max:
        raise refused(name, value, "a finite number")
    return float(value)


def switch(name, value):
    """Return whether a parameter is on, or raise an error with its name."""
    if not isinstance(value, (bool, np.bool_)) and not (_is_whole(value) and value in (0, 1)):
        raise refused(name, value, "True or False")
    return bool(value)


def text(name, value, what="text"):
    """Return text, or raise an error with the name of the parameter."""
    if not isinstance(value, (str, os.PathLike)):
        raise refused(name, value, what)
    return os.fspath(value)


def optional(check, name, value, *limits):
    """Return None, or what the check returns."""
    return None if value is None else check(name, value, *limits)


def threads(n_threads):
    """Return the number of threads, or None for all cores, which scikit-learn's users write as -1."""
    if n_threads is None or (_is_whole(n_threads) and n_threads == -1):
        return None
    if not _is_whole(n_threads) or not 1 <= n_threads <= MOST_THREADS:
        raise refused("n_threads", n_threads, f"1 to {MOST_THREADS}, or None or -1 for all cores")
    return int(n_threads)


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
    choices = ", ".join(row["choices"])
    words = text(name, value, TEXTS.get(name, f"one of {choices}"))
    if takes == "choice" and words not in row["choices"]:
        raise ValueError(f"{name}: {words!r} is not one of {choices}")
    return words


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
        for name in ("visible", "hidden", "coupling", "hidden_coupling"):
            settings.pop(f"model.{name}", None)
    return settings
