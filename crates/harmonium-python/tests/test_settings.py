"""The signature, the documentation and the stubs follow the library's table of settings."""

import inspect
import json
import re

import numpy as np
import pytest

from harmonium import RBM, _harmonium

ROWS = json.loads(_harmonium.setting_table())
BY_NAME = {row["python"]: row for row in ROWS if row["python"]}
#: Parameters that are not settings of a run.
OWN = {"n_threads", "verbose", "callbacks"}
PARAMETERS = {name: p for name, p in inspect.signature(RBM).parameters.items() if name not in OWN}


def documented():
    """The first sentence of every parameter's documentation."""
    text = inspect.getdoc(RBM).split("Attributes\n")[0]
    found = re.findall(r"^(\w+) : .*\n    (.*)", text, re.MULTILINE)
    return {name: sentence for name, sentence in found}


def test_every_setting_is_a_parameter_and_every_parameter_a_setting():
    assert set(PARAMETERS) == set(BY_NAME)


@pytest.mark.parametrize("name", PARAMETERS)
def test_defaults_are_those_of_the_table(name):
    default, row = PARAMETERS[name].default, BY_NAME[name]
    if default in (None, "auto"):
        assert row["default"] in (None, "auto", False) or row["usual"] or name in ("learning_rate", "random_state"), row
    elif "coupling" in name:
        assert row["usual"] == default
    else:
        assert default == row["default"], row


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_documentation_says_what_the_table_says(name):
    about = BY_NAME[name]["about"]
    assert documented()[name].startswith(about), (documented()[name], about)


@pytest.mark.parametrize("name", [n for n, row in BY_NAME.items() if row["choices"]])
def test_the_documentation_has_every_choice(name):
    line = next(line for line in inspect.getdoc(RBM).splitlines() if line.startswith(f"{name} : "))
    assert set(re.findall(r'"(\w+)"', line)) - {"auto"} == set(BY_NAME[name]["choices"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_hidden": 0},
        {"n_hidden": 2.5},
        {"gibbs_steps": True},
        {"learning_rate": -1.0},
        {"momentum": 1.0},
        {"method": "guess"},
        {"optimizer": "magic"},
        {"schedule": "linear"},
        {"validation_fraction": 1.5},
        {"early_stopping": True},
        {"n_temperatures": 1},
        {"clip": 0.0},
        {"image": "3by3"},
        {"standardize": True},
        {"hidden_coupling": "goodfellow"},
        {"epochs": -1},
    ],
)
def test_nonsense_is_refused_by_name(wrong):
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=name if name != "hidden_coupling" else "hidden"):
        RBM(**wrong, random_state=0).fit(np.eye(9))
