"""Everything that rows can be, and what is refused by name."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from harmonium import RBM
from harmonium.sklearn import BernoulliRBM


def quick(**more):
    return RBM(**{"n_hidden": 4, "epochs": 3, "random_state": 0, **more})


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64, np.float16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders_give_the_same_model(digits, dtype, order):
    expected = quick().fit(digits)
    found = quick().fit(np.array(digits, dtype=dtype, order=order))
    assert found.model_ == expected.model_
    assert found.transform(digits.astype(np.float32)).dtype == np.float32
    assert found.transform(digits).dtype == np.float64


@pytest.mark.parametrize("binarize", ["auto", "none", "sample", "threshold:0.3"])
def test_rows_that_are_looked_at_in_place_are_rows_that_are_copied(binarize):
    # Longer than a block: two-valued rows, then grey ones. Only C order is looked at in place.
    X = (np.random.default_rng(0).random((20_000, 6)) < 0.4).astype(float)
    X[-1000:] *= 0.7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_place, copied = (quick(binarize=binarize, updates=20, epochs=None).fit(np.array(X, order=o)) for o in "CF")
    assert in_place.model_ == copied.model_


def test_spins_of_any_type_and_parts_of_arrays_give_the_same_model(digits):
    spins = 2 * digits.astype(np.int8) - 1
    expected = quick(visible="spin").fit(np.asfortranarray(spins))
    wide = np.repeat(spins, 2, axis=1)
    for X in (spins, spins.astype(np.int32), spins.astype(np.float32), wide[:, ::2], spins.astype(">f8")):
        assert quick(visible="spin").fit(X).model_ == expected.model_
    spins[3, 5] = 0
    for X in (spins, np.asfortranarray(spins)):
        with pytest.raises(ValueError, match="row 4, column 6: 0 is not"):
            quick(visible="spin").fit(X)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_matrix, sp.lil_matrix, sp.coo_array, sp.csr_array])
@pytest.mark.parametrize("make", [quick, lambda: BernoulliRBM(4, n_iter=2, random_state=0)])
def test_sparse_rows_are_dense_rows(digits, container, make):
    X = digits[:200].astype(float)
    dense, sparse = make().fit(X), make().fit(container(X))
    np.testing.assert_array_equal(dense.transform(X), sparse.transform(X))
    np.testing.assert_allclose(sparse.transform(container(X)), dense.transform(X), atol=1e-12)


def test_nan_is_refused_by_row_and_column_unless_it_is_an_unknown_cell(digits):
    X = digits[:300].astype(float)
    X[4, 7] = np.nan
    with pytest.raises(ValueError, match=r"data row 5, column 8: NaN .*missing=True"):
        quick().fit(X)
    rbm = quick(missing=True).fit(X)
    assert np.isfinite(rbm.score(X))
    assert not np.isnan(rbm.impute(X)).any()
    assert np.isfinite(rbm.transform(X)).all()
    with pytest.raises(ValueError, match="row 5, column 8"):
        rbm.set_params(missing=False).transform(X)


def test_grey_values_are_binarised_with_a_warning_or_taken_for_probabilities(digits):
    grey = digits * 0.75
    with pytest.warns(UserWarning, match="binarised by threshold:0.5"):
        by_default = quick().fit(grey)
    assert by_default.model_ == quick(binarize="threshold:0.5").fit(grey).model_
    assert quick(binarize="none").fit(grey).model_ != by_default.model_
    np.testing.assert_array_equal(by_default.transform(grey), by_default.transform(digits))


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"nesterov": True}, "nesterov has no effect with optimizer='adam'"),
        ({"method": "cd", "n_chains": 7}, "n_chains has no effect with method='cd'"),
        ({"sparsity_cost": 0.5}, "sparsity_cost has no effect without sparsity"),
    ],
)
def test_parameters_without_effect_are_a_warning(digits, arguments, words):
    with pytest.warns(UserWarning, match=words):
        quick(**arguments).fit(digits)


@pytest.mark.parametrize(
    "arguments, X, words",
    [
        ({}, [[0, 255]], "255 is not .*binarize='threshold:T'"),
        ({"visible": "spin"}, [[0, 1]], "row 1, column 1: 0 is not"),
        ({"visible": "unknown"}, [[0, 1]], "visible: 'unknown' is not one of bernoulli"),
        ({"method": "magic"}, [[0, 1]], "method: 'magic' is not one of pcd"),
        ({"optimizer": "magic"}, [[0, 1]], "optimizer: 'magic' is not one of"),
        ({"learning_rate": -1.0}, [[0, 1]], "learning_rate is -1, but must be a number above 0"),
        ({"n_hidden": 0}, [[0, 1]], "n_hidden is 0"),
        ({"n_chains": 2.5}, [[0, 1]], "n_chains is 2.5"),
        ({"epochs": -1}, [[0, 1]], "epochs is -1"),
        ({"early_stopping": True}, [[0, 1]], "early_stopping needs held-out rows; give validation_data or validation_fraction"),
        ({"validation_fraction": 0.1}, [[0, 1]], "validation_fraction is 0.1, which holds out 0 of 1 rows"),
        ({"validation_fraction": 1.5}, [[0, 1]], "validation_fraction is 1.5"),
        ({"coupling": "goodfellow"}, [[0, 1]], "coupling is for gaussian units, but the visible units are bernoulli"),
        ({"visible": "gaussian", "binarize": "sample"}, [[0, 1]], "binarize needs units with the values 0 and 1"),
        ({"visible": "gaussian", "coupling": "magic"}, [[0.5, 1]], "magic"),
        ({"n_threads": 0}, [[0, 1]], "n_threads is 0, but must be 1 to 1024"),
        ({"random_state": -1}, [[0, 1]], "random_state is -1"),
        ({}, [0, 1], "1D array"),
        ({}, [["a", "b"]], "a|string|numeric"),
    ],
)
def test_nonsense_is_refused_by_name(arguments, X, words):
    with pytest.raises(ValueError, match=words):
        quick(**arguments).fit(X)


def test_wrong_shapes_and_early_questions_are_refused(digits):
    rbm = quick().fit(digits)
    with pytest.raises(ValueError, match="63 features"):
        rbm.transform(digits[:, :63])
    with pytest.raises(ValueError, match="not fitted"):
        RBM().transform(digits)
    with pytest.raises(ValueError, match="visible.bias"):
        RBM.from_arrays(np.zeros((3, 2)), np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="weights"):
        RBM.from_arrays(np.zeros(3), np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="hidden offset"):
        rbm.recenter(hidden=[1.0])
    with pytest.raises(ValueError, match="no unknown cells"):
        rbm.sample(1, clamp=digits[0])
    with pytest.raises(ValueError, match="'magic' is not one of auto"):
        rbm.sample(1, sampler="magic")
    with pytest.raises(ValueError, match="unknown log Z method 'magic'"):
        rbm.log_z("magic")


def test_an_error_while_reading_is_the_one_that_was_raised():
    class Trap(np.ndarray):
        def __getitem__(self, key):
            raise RuntimeError("the disk is gone")

    from harmonium import _harmonium
    from harmonium._compat import Table

    model = RBM.from_arrays([[0.0]], [0.0], [0.0]).model_
    with pytest.raises(RuntimeError, match="the disk is gone"):
        _harmonium.means(model, Table(np.zeros((2, 1)).view(Trap)), False, 0, None)
