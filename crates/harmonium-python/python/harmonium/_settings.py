"""The library's table of settings, and checks of values, which refuse them by the name of the parameter."""

import json
import os

import numpy as np

from . import _harmonium

#: The library's settings, by the name of the parameter.
SETTINGS = {row["python"]: row for row in json.loads(_harmonium.setting_table()) if row["python"]}

#: The largest count that the library takes.
MOST = SETTINGS["updates"]["most"]

#: More threads than this are a mistake.
MOST_THREADS = 1024

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
