"""What is imported, and when: scikit-learn takes a second to load, and only its own tools need it."""

import subprocess
import sys

import numpy as np
import pytest

from harmonium import RBM


def child(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_scikit_learn_is_loaded_only_when_it_is_needed():
    done = child(
        """
import sys
import numpy as np
from harmonium import RBM
X = np.repeat([[1, 1, 0], [0, 0, 1]], 20, axis=0)
rbm = RBM(2, epochs=5, random_state=0).fit(X)
rbm.transform(X), rbm.sample(3), rbm.score(X), rbm.partial_fit(X), rbm.get_params(), repr(rbm), rbm.transform([[1, 0, 1]])
loaded = {"sklearn", "scipy", "pandas", "matplotlib"} & set(sys.modules)
assert not loaded, loaded
rbm.set_output(transform="default")
assert "sklearn" in sys.modules
"""
    )
    assert done.returncode == 0, done.stderr


def test_the_drop_in_without_scikit_learn_is_a_plain_import_error():
    done = child('import sys; sys.modules["sklearn"] = None; import harmonium.sklearn')
    last = done.stderr.strip().splitlines()[-1]
    assert last == (
        "ImportError: harmonium.sklearn needs scikit-learn 1.6 or later: pip install 'harmonium[sklearn]' "
        "(harmonium.RBM does without)"
    )


def test_transform_gives_the_container_that_was_set():
    pandas = pytest.importorskip("pandas")
    from sklearn import config_context
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    X = np.eye(4)
    table = pandas.DataFrame(X, columns=list("abcd"), index=[3, 1, 4, 2])
    rbm = RBM(2, updates=5, random_state=0)
    plain = rbm.fit(table).transform(table)
    assert type(plain) is np.ndarray
    for found in (
        rbm.set_output(transform="pandas").transform(table),
        clone(rbm).fit_transform(table),
        make_pipeline(RBM(2, updates=5, random_state=0)).set_output(transform="pandas").fit_transform(table),
    ):
        assert list(found.columns) == ["rbm0", "rbm1"] and list(found.index) == [3, 1, 4, 2]
        np.testing.assert_array_equal(found, plain)
    assert type(rbm.set_output(transform="default").transform(table)) is np.ndarray
    with config_context(transform_output="pandas"):
        assert isinstance(RBM(2, updates=5).fit_transform(table), pandas.DataFrame)


def test_metadata_routing_passes_weights_on():
    from sklearn import config_context
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline

    X, weight = np.repeat(np.eye(4), 10, axis=0), np.repeat([1.0, 0.0, 0.0, 0.0], 10)
    with config_context(enable_metadata_routing=True):
        rbm = clone(RBM(2, updates=50, random_state=0).set_fit_request(sample_weight=True))
        line = make_pipeline(rbm).fit(X, sample_weight=weight)
    assert line[-1].model_ == RBM(2, updates=50, random_state=0).fit(X, sample_weight=weight).model_
    assert "RBM" in line._repr_html_()
