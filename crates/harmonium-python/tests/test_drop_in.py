"""BernoulliRBM against scikit-learn's rule, scikit-learn's class and scikit-learn's own tests."""

import importlib.resources
import re

import numpy as np
import pytest
from scipy.special import expit
from sklearn.neural_network import BernoulliRBM as Theirs

from harmonium import RBM, _harmonium
from harmonium._compat import Table
from harmonium.sklearn import BernoulliRBM

#: Compares components with numbers that scikit-learn drew from NumPy's generator ("very seed-dependent!", says its comment).
#: Ours come from the library's counter-based generator.
OTHER_RANDOM_NUMBERS = {"test_fit_gibbs"}


def scikit_learn_s_tests():
    """Their test file with our class in the place of theirs."""
    source = importlib.resources.files("sklearn.neural_network.tests").joinpath("test_rbm.py").read_text()
    old = "from sklearn.neural_network import BernoulliRBM\n"
    assert source.count(old) == 1
    module = {"__name__": "theirs"}
    exec(compile(source.replace(old, "from harmonium.sklearn import BernoulliRBM\n"), "test_rbm.py", "exec"), module)
    return {name: f for name, f in module.items() if name.startswith("test_") and name not in OTHER_RANDOM_NUMBERS}


globals().update({f"{name}_of_scikit_learn": f for name, f in scikit_learn_s_tests().items()})


def test_nearly_all_of_their_tests_are_run():
    assert len(scikit_learn_s_tests()) >= 13


@pytest.mark.parametrize("single, tolerance", [(False, 1e-12), (True, 1e-6)])
def test_an_update_is_scikit_learn_s_formula(single, tolerance):
    """Visible biases so large that the chains' visible states are certain: the update has nothing random."""
    rng = np.random.default_rng(0)
    n, m, chains, rate = 7, 4, 5, 0.3
    W, b, h = rng.normal(0, 0.3, (m, n)), rng.normal(size=m), rng.integers(2, size=(chains, m)).astype(float)
    a = np.where(np.arange(n) % 2 == 0, 60.0, -60.0)
    v = rng.uniform(-1, 2, (3, n))
    learner = _harmonium.Pcd(Table(v), W, b, a, h, single, 3, rate, 1)
    learner.epoch()
    found = learner.arrays()
    seen = np.tile((a > 0).astype(float), (chains, 1))
    up, down = expit(v @ W.T + b), expit(seen @ W.T + b)
    expected = {
        "components": W + rate / 3 * (up.T @ v - down.T @ seen),
        "intercept_hidden": b + rate / 3 * (up.sum(axis=0) - down.sum(axis=0)),
        "intercept_visible": a + rate / 3 * (v.sum(axis=0) - seen.sum(axis=0)),
    }
    for name, numbers in expected.items():
        np.testing.assert_allclose(found[name], numbers, rtol=tolerance, atol=tolerance, err_msg=name)
    assert found["components"].dtype == (np.float32 if single else np.float64)
    assert set(np.unique(found["h_samples"])) <= {0, 1}


def test_rows_are_taken_in_their_order_and_the_last_batch_is_smaller():
    """Chains that are certain again: five rows in batches of two are three updates, each by its own number of rows."""
    rng = np.random.default_rng(1)
    W, a, b, h = np.zeros((2, 3)), np.full(3, -60.0), np.full(2, -60.0), np.zeros((2, 2))
    v = rng.uniform(size=(5, 3))
    learner = _harmonium.Pcd(Table(v), W, b, a, h, False, 2, 0.1, 1)
    learner.epoch()
    expected = a + 0.1 * (v[:2].mean(axis=0) + v[2:4].mean(axis=0) + v[4])
    np.testing.assert_allclose(learner.arrays()["intercept_visible"], expected, atol=1e-12)


def test_it_learns_as_well_as_theirs():
    """Mean exact log likelihood after 20 passes, of eight seeds each: they spread by about 0.05 nats, so 0.2 is far out."""
    X = np.repeat([[1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1], [1, 0, 1, 0, 1, 1]], 20, axis=0).astype(float)
    mean = {}
    for cls in (BernoulliRBM, Theirs):
        fits = [cls(4, n_iter=50, batch_size=10, random_state=seed).fit(X) for seed in range(8)]
        mean[cls] = np.mean([RBM.from_sklearn(f).score(X) for f in fits])
    assert abs(mean[BernoulliRBM] - mean[Theirs]) < 0.2, mean


def test_from_sklearn_is_the_same_model(digits):
    theirs = Theirs(8, n_iter=1, random_state=0).fit(digits)
    rbm = RBM.from_sklearn(theirs)
    np.testing.assert_allclose(rbm.transform(digits), theirs.transform(digits.astype(float)), atol=1e-12)
    np.testing.assert_allclose(rbm.free_energy(digits), theirs._free_energy(digits.astype(float)), atol=1e-9)


def test_either_precision_learns_the_same(digits):
    rng = np.random.default_rng(3)
    W, a, b, h = rng.normal(0, 0.01, (8, 64)), np.zeros(64), np.zeros(8), np.zeros((10, 8))
    found = []
    for single in (True, False):
        learner = _harmonium.Pcd(Table(digits.astype(float)), W, b, a, h, single, 10, 0.1, 1)
        learner.epoch()
        found.append(learner.arrays())
    np.testing.assert_allclose(found[0]["components"], found[1]["components"], atol=1e-4)
    np.testing.assert_array_equal(found[0]["h_samples"], found[1]["h_samples"])


def test_what_is_learned_has_the_precision_of_the_rows(digits):
    fits = [BernoulliRBM(8, n_iter=2, random_state=3).fit(digits.astype(t)) for t in (np.float32, np.float64)]
    for name in ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_"):
        assert [getattr(f, name).dtype for f in fits] == [np.float32, np.float64]
    np.testing.assert_allclose(fits[0].components_, fits[1].components_, atol=1e-6)


def test_the_verbose_line(digits, capsys):
    BernoulliRBM(4, n_iter=2, verbose=1, random_state=0).fit(digits)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"\[BernoulliRBM\] Iteration 2, pseudo-likelihood = -\d+\.\d\d, time = \d+\.\d\ds", lines[1])
