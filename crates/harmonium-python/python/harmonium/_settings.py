"""Translation of the parameters of ``RBM`` to the library's settings."""

import json

import numpy as np

from . import _harmonium

#: The library's settings, by the name of the parameter.
SETTINGS = {row["python"]: row for row in json.loads(_harmonium.setting_table()) if row["python"]}

#: Measurements without improvement before ``early_stopping=True`` stops.
PATIENCE = 10


def whole(name, value, least=1):
    """Return a whole number, or raise an error with the name of the parameter."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}, but must be a whole number of at least {least}")
    return int(value)


def options_of(kind, coupling, states):
    """Return the options of a kind of units; only Gaussian units have a coupling by default."""
    options = {}
    if kind == "gaussian" or coupling != "cho":
        options["coupling"] = coupling
    if states is not None:
        options["states"] = str(whole("states", states, 2))
    return options


def _plain(name, value, default):
    """Convert a value to the type the library expects, or raise an error with the name of the parameter."""
    if isinstance(default, bool):
        return bool(value)
    if isinstance(default, int) or name in ("n_hidden", "updates", "states", "hidden_states", "early_stopping"):
        return whole(name, value, 0 if name == "updates" else 2 if "states" in name else 1)
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is {value!r}, but must be a number")
    if isinstance(value, (int, float, np.number)):
        return float(value)
    if isinstance(default, float):
        raise ValueError(f"{name} is {value!r}, but must be a number")
    return str(value)


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
        settings[row["key"]] = _plain(name, value, row["default"])
    # Only Gaussian units have a coupling.
    for kind, coupling in [("visible", "coupling"), ("hidden", "hidden_coupling")]:
        if getattr(estimator, kind) != "gaussian" and getattr(estimator, coupling) == "cho":
            settings.pop(f"model.{coupling}", None)
    # A model to start from has its own units.
    if estimator.init is not None:
        for name in ("visible", "hidden", "coupling", "hidden_coupling"):
            settings.pop(f"model.{name}", None)
    return settings
