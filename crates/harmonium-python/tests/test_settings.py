"""The signature, the documentation and the stubs follow the library's table of settings."""

import ast
import inspect
import json
import pathlib
import re

import numpy as np
import pytest

import harmonium
from harmonium import RBM, _harmonium

ROWS = json.loads(_harmonium.setting_table())
BY_NAME = {row["python"]: row for row in ROWS if row["python"]}
#: Parameters that are not settings of a run.
OWN = {"n_threads", "verbose", "callbacks", "warm_start"}
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


def literals(node, known):
    """The words of every Literal in an annotation; names of the stub stand for their own."""
    if isinstance(node, ast.Name):
        return literals(known[node.id], known) if node.id in known else set()
    if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
        values = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return {value.value for value in values}
    if isinstance(node, ast.BinOp):
        return literals(node.left, known) | literals(node.right, known)
    return set()


def stubs():
    """Every method of the stubs with its annotations, as sets of words."""
    folder, known, found = pathlib.Path(harmonium.__file__).parent, {}, {}
    trees = [ast.parse(path.read_text()) for path in sorted(folder.glob("_*.pyi"))]
    for node in (node for tree in trees for node in tree.body if isinstance(node, ast.Assign)):
        known[node.targets[0].id] = node.value
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef) and re.search("^RBM$|Mixin$", node.name)]
    for method in (node for cls in classes for node in cls.body if isinstance(node, ast.FunctionDef)):
        arguments = method.args.args + method.args.kwonlyargs
        found[method.name] = {a.arg: literals(a.annotation, known) for a in arguments if a.annotation}
    return found


@pytest.mark.parametrize("name", [n for n, row in BY_NAME.items() if row["choices"]])
def test_the_stubs_have_every_choice_of_the_table(name):
    assert stubs()["__init__"][name] - {"auto"} == set(BY_NAME[name]["choices"])
    assert ("auto" in stubs()["__init__"][name]) == (PARAMETERS[name].default == "auto")


def test_the_stubs_have_every_word_that_the_documentation_lists():
    """Lines such as: sampler : {"auto", "gibbs"}, default="auto"."""
    methods = stubs()
    seen = 0
    for method, arguments in methods.items():
        text = inspect.getdoc(RBM if method == "__init__" else getattr(RBM, method, None)) or ""
        for name, listed in re.findall(r"^(\w+) : \{(.*?)\}", text, re.MULTILINE):
            words = {word for word in re.findall(r'"([^"]+)"', listed) if not word.endswith(":T")}
            assert arguments[name] == words, (method, name)
            seen += 1
    assert seen > 15


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
