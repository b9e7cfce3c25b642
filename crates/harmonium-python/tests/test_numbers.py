"""Numbers of the package against sums over all states, formulas and numerical derivatives."""

import warnings

import numpy as np
import pytest

from harmonium import RBM


def test_log_z_and_likelihoods_are_sums_over_states(small, reference):
    z = small.log_z()
    assert (z.value, z.std_err, z.method, z.verdict) == (pytest.approx(reference.log_z, abs=1e-12), 0.0, "exact", "exact")
    np.testing.assert_allclose(small.score_samples(reference.v), reference.log_p(reference.v), atol=1e-12)
    assert small.score(reference.v) == pytest.approx(reference.log_p(reference.v).mean(), abs=1e-12)


def test_the_score_is_the_mean_of_rows_as_often_as_they_count(small, reference):
    X, weight = reference.v[:4], [0.0, 1.0, 2.5, 0.5]
    expected = (reference.log_p(X) * weight).sum() / 4.0
    assert small.score(X, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    assert small.score(X, None, [1, 0, 0, 0]) == pytest.approx(reference.log_p(X)[0], abs=1e-12)
    for bad, word in [([1.0], "must have one number for each of 4 rows"), ([-1, 1, 1, 1], "0 or more"), ([0] * 4, "not 0 for all"),
                      ([np.nan, 1, 1, 1], "0 or more")]:  # fmt: skip
        with pytest.raises(ValueError, match=f"sample_weight .*{word}"):
            small.score(X, sample_weight=bad)


def test_visible_means_given_hidden_values_are_the_formula(small, reference):
    expected = 1 / (1 + np.exp(-(reference.h @ reference.weights.T + reference.a)))
    np.testing.assert_allclose(small.inverse_transform(reference.h), expected, atol=1e-12)
    again = small.inverse_transform(small.transform(reference.v))
    np.testing.assert_allclose(again, small.reconstruct(reference.v), atol=1e-12)
    for bad, word in [(reference.v, "must have 3 columns"), (reference.h[0], "must have 3 columns"), ([[0, 1, np.nan]], "row 1, column 3: nan")]:
        with pytest.raises(ValueError, match=f"H.*{word}"):
            small.inverse_transform(bad)


def test_the_number_of_samples_has_two_names(small):
    np.testing.assert_array_equal(small.sample(n_samples=7, random_state=1), small.sample(7, random_state=1))
    assert small.sample(random_state=1).shape == (1, 5)
    with pytest.raises(ValueError, match="n is 3 and n_samples is 3, but they are two names of one number"):
        small.sample(3, n_samples=3)
    with pytest.raises(ValueError, match="n_samples is 0"):
        small.sample(n_samples=0)


def test_an_estimate_of_log_z_has_an_interval_that_holds_it(small, reference):
    z = small.log_z("bar", tolerance=0.2, random_state=3)
    assert z.std_err > 0 and z.lower <= reference.log_z <= z.upper and z.upper - z.lower < 0.2
    other = small.log_z("bar", tolerance=0.2, random_state=4)
    assert other.value != z.value and abs(other.value - z.value) < 0.2
    assert small.log_z("bar", tolerance=0.2, random_state=3) == z


def test_free_energies_and_means_are_the_formulas(small, reference):
    inputs = reference.v @ reference.weights + reference.b
    energy = -reference.v @ reference.a - np.log1p(np.exp(inputs)).sum(axis=1)
    np.testing.assert_allclose(small.free_energy(reference.v), energy, atol=1e-12)
    means = 1 / (1 + np.exp(-inputs))
    np.testing.assert_allclose(small.transform(reference.v), means, atol=1e-12)
    again = 1 / (1 + np.exp(-(means @ reference.weights.T + reference.a)))
    np.testing.assert_allclose(small.reconstruct(reference.v), again, atol=1e-12)


def test_pseudo_likelihoods_are_conditionals(small, reference):
    def one(x):
        flips = np.tile(x, (len(x), 1))
        flips[np.diag_indices(len(x))] = 1 - x
        p, other = np.exp(reference.log_p([x]))[0], np.exp(reference.log_p(flips))
        return np.log(p / (p + other)).sum()

    expected = [one(x) for x in reference.v]
    np.testing.assert_allclose(small.pseudo_log_likelihood(reference.v), expected, atol=1e-10)


@pytest.mark.parametrize("visible", ["bernoulli", "spin", "gaussian"])
def test_the_gradient_is_the_derivative_of_the_score(visible):
    rng = np.random.default_rng(2)
    parts = {"weights": rng.normal(0, 0.4, (3, 2)), "visible_bias": rng.normal(size=3), "hidden_bias": rng.normal(size=2)}
    if visible == "gaussian":
        parts["visible_log_variance"] = rng.normal(0, 0.3, 3)
    X = {"bernoulli": rng.integers(2, size=(6, 3)), "spin": 2 * rng.integers(2, size=(6, 3)) - 1}.get(visible)
    X = rng.normal(size=(6, 3)) if X is None else X
    weight = np.arange(1.0, 7.0)
    gradient = RBM.from_arrays(**parts, visible=visible).gradient(X, sample_weight=weight)
    assert set(gradient) >= {"weights", "visible.bias", "hidden.bias"}
    for name in parts:
        tensor = name.replace("visible_", "visible.").replace("hidden_", "hidden.")
        for index in np.ndindex(parts[name].shape):
            scores = []
            for sign in (1, -1):
                moved = {k: v.copy() for k, v in parts.items()}
                moved[name][index] += sign * 1e-5
                scores.append(np.average(RBM.from_arrays(**moved, visible=visible).score_samples(X), weights=weight))
            assert gradient[tensor][index] == pytest.approx((scores[0] - scores[1]) / 2e-5, abs=1e-8), (tensor, index)


def test_imputed_means_are_conditional_means(small, reference):
    rows = np.array([[1, np.nan, 0, np.nan, 1], [np.nan] * 5, [0, 1, 1, 0, 1]])
    filled = small.impute(rows)
    np.testing.assert_allclose(filled, [reference.conditional_mean(x) for x in rows], atol=1e-10)
    values, low, high, spread = small.impute(rows, interval=0.9, random_state=0)
    assert (low <= high).all() and (spread[2] == 0).all() and (values[2] == rows[2]).all()
    drawn = small.impute(rows, fill="draw", random_state=0)
    assert set(np.unique(drawn)) <= {0, 1}
    assert set(np.unique(small.impute(rows, fill="best"))) <= {0, 1}


def test_the_likelihood_of_known_cells_is_summed_over_the_others(small, reference):
    x = np.array([[1, np.nan, 0, np.nan, 1]])
    fits = (reference.v[:, [0, 2, 4]] == [1, 0, 1]).all(axis=1)
    asking = RBM.from_arrays(reference.weights, reference.a, reference.b).set_params(missing=True)
    assert asking.score_samples(x)[0] == pytest.approx(np.log(reference.p[fits].sum()), abs=1e-10)


def test_hidden_means_and_reconstructions_of_known_cells_are_summed_over_the_others(reference):
    """The missing cells of complete rows are added up, weighted by their probability."""
    asking = RBM.from_arrays(reference.weights, reference.a, reference.b).set_params(missing=True)
    rows = np.array([[1, np.nan, 0, np.nan, 1], [0, 1, 1, 0, 1], [np.nan] * 5])
    means = 1 / (1 + np.exp(-(reference.v @ reference.weights + reference.b)))
    expected = []
    for x in rows:
        known = ~np.isnan(x)
        fits = (reference.v[:, known] == x[known]).all(axis=1)
        expected.append(reference.p[fits] @ means[fits] / reference.p[fits].sum())
    np.testing.assert_allclose(asking.transform(rows), expected, atol=1e-12)
    again = 1 / (1 + np.exp(-(np.array(expected) @ reference.weights.T + reference.a)))
    np.testing.assert_allclose(asking.reconstruct(rows), again, atol=1e-12)


def test_the_pseudo_likelihood_of_known_cells_leaves_each_of_them_out(reference):
    asking = RBM.from_arrays(reference.weights, reference.a, reference.b).set_params(missing=True)
    x = np.array([1, np.nan, 0, np.nan, 1])

    def p(x):
        known = ~np.isnan(x)
        return reference.p[(reference.v[:, known] == x[known]).all(axis=1)].sum()

    without = [np.where(np.arange(5) == i, np.nan, x) for i in (0, 2, 4)]
    expected = sum(np.log(p(x) / p(y)) for y in without)
    found = asking.pseudo_log_likelihood([x, [1, 0, 0, 1, 1]])
    assert found[0] == pytest.approx(expected, abs=1e-10)
    assert found[1] == pytest.approx(asking.set_params(missing=False).pseudo_log_likelihood([[1, 0, 0, 1, 1]])[0], abs=1e-10)


def test_rows_with_too_many_missing_cells_for_a_sum_are_averaged_over_or_refused():
    """Independent columns of probability one half: hidden means are known; 20 chains of 200 sweeps are off by less than 0.05."""
    rbm = RBM.from_arrays(np.full((60, 60), 1e-9), np.zeros(60), np.zeros(60)).set_params(missing=True)
    x = np.where(np.arange(60) < 2, 1.0, np.nan)[None, :]
    np.testing.assert_allclose(rbm.transform(x), np.full((1, 60), 0.5), atol=0.05)
    with pytest.raises(ValueError, match="data row 1: a sum over 58 cells .* takes too long; fill missing cells first with impute"):
        rbm.pseudo_log_likelihood(x)


def test_rows_of_samples_are_the_chains_in_the_order_that_arviz_takes(small):
    """ArviZ takes (chain, draw, shape of the quantity)."""
    options = {"sampler": "gibbs", "n_chains": 5, "burn_in": 10, "thin": 1, "random_state": 7}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = small.sample(40, **options)
        chains = small.sample(40, by_chain=True, **options)
    assert chains.shape == (5, 8, 5)
    for chain in range(5):
        np.testing.assert_array_equal(chains[chain], rows[chain::5])
    # A chain of its own shows that these are chains: with means so far apart rows of one chain stay on one side.
    stuck = RBM.from_arrays(np.full((6, 1), 40.0), np.full(6, -20.0), [-120.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sides = stuck.sample(40, by_chain=True, start=[[0.0] * 6, [1.0] * 6], **options | {"n_chains": 2})
    assert (sides[0] == 0).all() and (sides[1] == 1).all()
    with pytest.raises(ValueError, match="n is 41, but by_chain needs as many rows from each of 5 chains; use n=45"):
        small.sample(41, by_chain=True, **options)


def test_samples_have_the_model_s_frequencies(small, reference):
    """20,000 exact samples: a frequency has a standard error of at most 0.0036, and 0.02 is 5.6 of them (2e-8 each)."""
    rows, info = small.sample(20_000, random_state=5, return_info=True)
    counts = np.bincount([reference.row(x) for x in rows], minlength=32) / len(rows)
    assert np.abs(counts - reference.p).max() < 0.02
    assert info["sampler"] == "exact" and info["ess"] == 20_000


def test_clamped_samples_keep_what_is_given(small, reference):
    """4,000 samples: a standard error of at most 0.008; 0.05 is 6 of them."""
    x = np.array([1, np.nan, 0, np.nan, 1])
    rows = small.sample(4000, clamp=x, random_state=6)
    assert (rows[:, [0, 2, 4]] == [1, 0, 1]).all()
    assert np.abs(rows.mean(axis=0) - reference.conditional_mean(x)).max() < 0.05


def test_gibbs_chains_can_be_asked_for(small):
    rows, info = small.sample(200, sampler="gibbs", steps=50, start="hidden", random_state=7, return_info=True)
    assert rows.shape == (200, 5) and info["chains"] == 200
    again = small.sample(200, sampler="gibbs", steps=50, start="hidden", random_state=7)
    assert (rows == again).all()
    with pytest.warns(UserWarning, match="draw more rows, or use a smaller n_chains"):
        begun = small.sample(10, sampler="gibbs", burn_in=0, thin=1, n_chains=5, start=np.ones((2, 5)), random_state=7)
    assert begun.shape == (10, 5)


def test_moving_the_offsets_moves_log_z_and_not_the_distribution(reference):
    moved = RBM.from_arrays(reference.weights, reference.a, reference.b)
    moved.recenter(visible=np.full(5, 0.3), hidden=np.full(3, 0.7))
    assert (moved.visible_offset_ == 0.3).all() and (moved.hidden_offset_ == 0.7).all()
    assert moved.log_z().value != pytest.approx(reference.log_z, abs=1e-3)
    np.testing.assert_allclose(moved.score_samples(reference.v), reference.log_p(reference.v), atol=1e-12)


def test_a_gaussian_model_is_a_density(reference):
    rbm = RBM.from_arrays([[0.5, -1.0]], [0.2], [0.1, 0.4], visible="gaussian", visible_log_variance=[0.3])
    grid = np.linspace(-12, 12, 4001)
    assert np.trapezoid(np.exp(rbm.score_samples(grid[:, None])), grid) == pytest.approx(1.0, abs=1e-9)


def test_training_is_the_same_on_any_number_of_threads_and_learns(digits):
    make = lambda n: RBM(n_hidden=12, epochs=60, random_state=3, n_threads=n).fit(digits)  # noqa: E731
    one, two = make(1), make(2)
    assert one.model_ == two.model_
    p = digits.mean(axis=0).clip(1e-3, 1 - 1e-3)
    independent = (digits * np.log(p) + (1 - digits) * np.log(1 - p)).sum(axis=1).mean()
    assert one.score(digits) > independent + 3
    told = [e for e in one.history_ if e["event"] == "progress"][-1]
    # Measured on a sample of the rows along the run, so only about the same.
    assert told["train"]["log_likelihood"] == pytest.approx(one.score(digits), abs=1.0)


def test_sample_weights_count_rows(digits):
    weight = np.where(np.arange(len(digits)) < 900, 1.0, 0.0)
    weighted = RBM(n_hidden=8, epochs=30, random_state=0).fit(digits, sample_weight=weight)
    assert weighted.score(digits[:900]) > weighted.score(digits[900:])
    for bad, word in [(-weight, "must be 0 or more"), (weight[:-1], "1796 weights for 1797 rows"), (0 * weight, "all of them are zero")]:
        with pytest.raises(ValueError, match=word):
            RBM(n_hidden=2, epochs=1).fit(digits, sample_weight=bad)


def test_partial_fit_goes_on_with_its_chains(digits):
    rbm = RBM(n_hidden=8, learning_rate=0.01, random_state=0)
    for _ in range(20):
        for first in range(0, 1700, 100):
            rbm.partial_fit(digits[first : first + 100])
    assert rbm.n_updates_ == 340
    whole = RBM(n_hidden=8, learning_rate=0.01, epochs=20, random_state=0).fit(digits[:1700])
    assert rbm.score(digits) == pytest.approx(whole.score(digits), abs=1.5)


@pytest.mark.parametrize("method", ["pcd", "cd", "pt", "exact"])
@pytest.mark.parametrize("visible, hidden", [("spin", "bernoulli"), ("potts", "spin"), ("gaussian", "gaussian"), ("bernoulli", "potts")])
def test_every_pair_of_layers_learns_by_every_method(method, visible, hidden):
    rng = np.random.default_rng(0)
    X = {"spin": 2 * rng.integers(2, size=(40, 4)) - 1, "potts": rng.integers(3, size=(40, 4))}.get(visible)
    X = rng.integers(2, size=(40, 4)) if visible == "bernoulli" else rng.normal(size=(40, 4)) if X is None else X
    rbm = RBM(3, visible=visible, hidden=hidden, hidden_states=3 if hidden == "potts" else None, method=method,
              epochs=20, n_chains=10, batch_size=20, random_state=0).fit(X)  # fmt: skip
    assert np.isfinite(rbm.score(X)) and rbm.transform(X).shape == (40, 9 if hidden == "potts" else 3)
    assert rbm.sample(3, random_state=0).shape == (3, 4)


def test_imputed_draws_have_the_conditional_frequencies(small, reference):
    """4,000 exact draws: a standard error of at most 0.008; 0.05 is 6 of them."""
    rows = np.array([[1, np.nan, 0, np.nan, 1], [0, 1, 1, 0, 1], [np.nan] * 5])
    tables = small.impute(rows, draws=4000, random_state=3)
    assert tables.shape == (4000, 3, 5) and (tables[:, 1] == rows[1]).all() and (tables[:, 0, [0, 2, 4]] == [1, 0, 1]).all()
    assert np.abs(tables.mean(axis=0) - [reference.conditional_mean(x) for x in rows]).max() < 0.05
    states = np.bincount([reference.row(x) for x in tables[:, 2]], minlength=32) / 4000
    assert np.abs(states - reference.p).max() < 0.05
    np.testing.assert_array_equal(small.impute(rows, draws=4000, random_state=3), tables)
    with pytest.raises(ValueError, match="draws cannot be used together with fill, interval or probabilities"):
        small.impute(rows, draws=2, interval=0.9)
    with pytest.raises(ValueError, match="draws is 0"):
        small.impute(rows, draws=0)


def test_probabilities_of_imputed_cells_are_those_of_the_states():
    """Two categories of three states and a hidden bit, by sums over all 18 states."""
    rng = np.random.default_rng(4)
    weights, a, b = rng.normal(size=(6, 1)), rng.normal(size=6), rng.normal(size=1)
    rbm = RBM.from_arrays(weights, a, b, visible="potts", states=3)
    filled, p = rbm.impute([[2, np.nan], [np.nan, np.nan]], probabilities=True)
    weight = np.array([[sum(np.exp(a[i] + a[3 + j] + h * (b[0] + weights[i, 0] + weights[3 + j, 0])) for h in (0, 1)) for j in range(3)]
                       for i in range(3)])  # fmt: skip
    given = weight[2] / weight[2].sum()
    np.testing.assert_allclose(p[0], [0, 0, 1, *given], atol=1e-12)
    joint = weight / weight.sum()
    np.testing.assert_allclose(p[1], [*joint.sum(axis=1), *joint.sum(axis=0)], atol=1e-12)
    assert filled[0, 1] == given.argmax() and filled[1].tolist() == [joint.sum(axis=1).argmax(), joint.sum(axis=0).argmax()]
    _, low, high, spread, again = rbm.impute([[2, np.nan]], interval=0.9, probabilities=True, random_state=0)
    np.testing.assert_allclose(again[0], p[0], atol=1e-12)
    assert spread[0, 1] == pytest.approx(1 - given.max(), abs=1e-9) and low.shape == high.shape == (1, 2)
