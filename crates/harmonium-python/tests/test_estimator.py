"""Both classes among scikit-learn's tools: checks, clones, pickles, pipelines, searches."""

import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from harmonium import RBM
from harmonium.sklearn import BernoulliRBM

#: Rows are drawn into batches at random, and every update draws its chains: repeating a row three times is another run than
#: counting it three times. Both learn the same distribution, which the tests of numbers look at.
STOCHASTIC = "learning is stochastic: a row that counts twice and a row that stands there twice give other random numbers"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": STOCHASTIC,
    "check_sample_weight_equivalence_on_sparse_data": STOCHASTIC,
}


#: As scikit-learn's own list says of its class: score_samples draws a column for every row.
DRAWN = "score_samples draws one column for each row, as scikit-learn's does: rows in another order draw others"
EXPECTED_OF_DROP_IN = {"check_methods_subset_invariance": DRAWN, "check_methods_sample_order_invariance": DRAWN}


def expected(estimator):
    return EXPECTED if isinstance(estimator, RBM) else EXPECTED_OF_DROP_IN


#: RBM is no subclass of BaseEstimator, so that scikit-learn is loaded only when it is needed; its checks warn of that and pass.
@pytest.mark.filterwarnings("ignore:Estimator RBM does not inherit")
@parametrize_with_checks(
    [BernoulliRBM(), RBM(4, visible="gaussian", epochs=2, n_chains=10)], expected_failed_checks=expected
)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


def through_pickle(x):
    return pickle.loads(pickle.dumps(x))


def through_joblib(x):
    file = io.BytesIO()
    joblib.dump(x, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("through", [through_pickle, through_joblib])
def test_pickles_are_the_same_model_and_go_on_learning(digits, through):
    rbm = RBM(4, learning_rate=0.01, random_state=0)
    for first in range(0, 500, 100):
        rbm.partial_fit(digits[first : first + 100])
    again = through(rbm)
    assert again.model_ == rbm.model_ and again.get_params() == rbm.get_params()
    np.testing.assert_array_equal(again.transform(digits), rbm.transform(digits))
    assert again.partial_fit(digits[:100]).model_ == rbm.partial_fit(digits[:100]).model_
    drop_in = BernoulliRBM(4, n_iter=1, random_state=0).fit(digits)
    np.testing.assert_array_equal(through(drop_in).transform(digits), drop_in.transform(digits))


def test_clones_are_unfitted_and_learn_the_same(digits):
    rbm = RBM(4, epochs=2, random_state=0).fit(digits)
    copy = clone(rbm)
    assert not hasattr(copy, "model_")
    assert copy.fit(digits).model_ == rbm.model_


def test_pipelines_and_searches(digits):
    from sklearn.datasets import load_digits

    labels = load_digits().target
    line = make_pipeline(RBM(32, epochs=80, random_state=0), LogisticRegression(max_iter=300))
    assert line.fit(digits, labels).score(digits, labels) > 0.85
    assert list(line[:-1].get_feature_names_out()[:2]) == ["rbm0", "rbm1"]
    search = GridSearchCV(RBM(epochs=10, random_state=0), {"n_hidden": [2, 10]}, cv=3, n_jobs=2).fit(digits[:600])
    assert search.best_params_ == {"n_hidden": 10} and search.best_score_ < 0


def test_every_function_has_documentation_with_an_example():
    import inspect

    import harmonium

    public = [harmonium.plot_filters, harmonium.plot_learning, harmonium.plot_density_2d]
    for cls in (RBM, BernoulliRBM):
        public.append(cls)
        own = [f for base in cls.__mro__ if base.__module__.startswith("harmonium") for n, f in vars(base).items() if n[0] != "_"]
        public += [f for f in (getattr(f, "__func__", f) for f in own) if inspect.isfunction(f)]
    assert len(public) > 25
    for thing in public:
        text = inspect.getdoc(thing) or ""
        assert ">>>" in text and "Examples\n--------" in text, thing
