"""From the parameters of ``RBM`` to the library's table of settings."""

import json

import numpy as np

from . import _harmonium

#: The library's rows, by the name of the parameter.
SETTINGS = {row["python"]: row for row in json.loads(_harmonium.setting_table()) if row["python"]}

#: Measurements without improvement that ``early_stopping=True`` waits for.
PATIENCE = 10


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


def _plain(name, value, default):
    """A value as the library reads it: numbers of the right type, or an error that names the parameter."""
    if isinstance(default, bool):
        return bool(value)
    if isinstance(default, int) or name in ("n_hidden", "updates", "states", "hidden_states", "early_stopping"):
        return whole(name, value, 0 if name == "updates" else 2 if "states" in name else 1)
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: is {value!r}, but must be a number")
    if isinstance(value, (int, float, np.number)):
        return float(value)
    if isinstance(default, float):
        raise ValueError(f"{name}: is {value!r}, but must be a number")
    return str(value)


def asked(estimator):
    """The settings that an estimator asks for, by their keys; what is "auto" or None is left to the library."""
    settings = {"train.seed": estimator.seed_}
    for name, row in SETTINGS.items():
        if name == "random_state":
            continue
        value = getattr(estimator, name)
        if name == "early_stopping" and isinstance(value, (bool, np.bool_)):
            value = PATIENCE if value else None
        if name == "early_stopping" and not isinstance(value, str) and value == 0:
            value = None
        if name == "validation_fraction" and not isinstance(value, str) and value == 0:
            value = None
        if value is None or (isinstance(value, str) and value == "auto"):
            continue
        settings[row["key"]] = _plain(name, value, row["default"])
    # The default coupling is for units that have one.
    for kind, coupling in [("visible", "coupling"), ("hidden", "hidden_coupling")]:
        if getattr(estimator, kind) != "gaussian" and getattr(estimator, coupling) == "cho":
            settings.pop(f"model.{coupling}", None)
    # A model to start from has its own units.
    if estimator.init is not None:
        for name in ("visible", "hidden", "coupling", "hidden_coupling"):
            settings.pop(f"model.{name}", None)
    return settings
