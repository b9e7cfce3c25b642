"""Layers of several kinds of units against sums over all their states, written with NumPy."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from harmonium import RBM, plot_density_2d, plot_filters
from harmonium._units import layer_text

VISIBLE = [("bernoulli", 2), ("potts", 1, {"states": 3}), ("gaussian", 1)]
HIDDEN = "bernoulli*1,spin*1"


def one_hot(k):
    return np.eye(3)[k]


class Reference:
    """Two bits, a category of three, a real number x; a bit and a spin hidden.

    E = (x − a)²/2σ² − Σ a_i v_i − Σ b_j h_j − Σ v_i W_ij h_j − x Σ W_xj h_j / σ².
    """

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.weights, self.a, self.b = rng.normal(0, 0.6, (6, 2)), rng.normal(0, 0.5, 6), rng.normal(0, 0.5, 2)
        self.log_variance = np.array([0.0] * 5 + [0.3])
        self.variance = np.exp(0.3)
        self.hidden = np.array(list(itertools.product([0, 1], [-1, 1])), dtype=float)
        self.finite = [(*bits, k) for *bits, k in itertools.product([0, 1], [0, 1], [0, 1, 2])]
        #: log of the weight of every finite visible state and hidden state, the number x integrated out.
        columns = np.array([[*bits, *one_hot(k)] for *bits, k in self.finite])
        pull = self.hidden @ self.weights[5]
        self.log_weight = (
            columns @ self.a[:5]
            + (self.hidden @ self.b)[:, None]
            + (columns @ self.weights[:5] @ self.hidden.T).T
            + (np.log(2 * np.pi * self.variance) / 2 + (2 * self.a[5] * pull + pull**2) / (2 * self.variance))[:, None]
        ).T
        self.log_z = np.log(np.exp(self.log_weight).sum())
        #: Mean of x given a hidden state.
        self.mean = self.a[5] + pull

    def columns(self, rows):
        return np.array([[r[0], r[1], *one_hot(int(r[2])), r[3]] for r in rows])

    def scaled(self, columns):
        return columns / np.array([1] * 5 + [self.variance])

    def log_p(self, rows):
        v = self.columns(rows)
        inputs = self.scaled(v) @ self.weights @ self.hidden.T + self.hidden @ self.b
        own = v[:, :5] @ self.a[:5] - (v[:, 5] - self.a[5]) ** 2 / (2 * self.variance)
        return own + np.log(np.exp(inputs).sum(axis=1)) - self.log_z

    def means(self, rows):
        inputs = self.scaled(self.columns(rows)) @ self.weights + self.b
        return np.column_stack([1 / (1 + np.exp(-inputs[:, 0])), np.tanh(inputs[:, 1])])

    def visible_means(self, h):
        field = h @ self.weights.T + self.a
        states = np.exp(field[:, 2:5])
        states /= states.sum(axis=1, keepdims=True)
        return np.column_stack([1 / (1 + np.exp(-field[:, :2])), states, field[:, 5]])

    def rbm(self):
        return RBM.from_arrays(
            self.weights, self.a, self.b, visible=VISIBLE, hidden=HIDDEN, visible_log_variance=self.log_variance
        )


@pytest.fixture(scope="module")
def mixed():
    return Reference()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return np.column_stack([rng.integers(2, size=(40, 2)), rng.integers(3, size=40), rng.normal(size=40)]).astype(float)


def test_log_z_and_likelihoods_are_sums_over_states(mixed, rows):
    rbm = mixed.rbm()
    assert rbm.log_z().value == pytest.approx(mixed.log_z, abs=1e-12) and rbm.log_z().verdict == "exact"
    np.testing.assert_allclose(rbm.score_samples(rows), mixed.log_p(rows), atol=1e-12)
    np.testing.assert_allclose(rbm.free_energy(rows), -mixed.log_p(rows) - mixed.log_z, atol=1e-12)


def test_means_in_both_directions_are_the_formulas(mixed, rows):
    rbm, h = mixed.rbm(), mixed.means(rows)
    np.testing.assert_allclose(rbm.transform(rows), h, atol=1e-12)
    v = mixed.visible_means(h)
    np.testing.assert_allclose(rbm.inverse_transform(h, probabilities=True), v, atol=1e-12)
    values = np.column_stack([v[:, :2], v[:, 2:5].argmax(axis=1), v[:, 5]])
    np.testing.assert_allclose(rbm.inverse_transform(h), values, atol=1e-12)
    np.testing.assert_allclose(rbm.reconstruct(rows), values, atol=1e-12)
    assert list(rbm.get_feature_names_out()) == ["rbm0", "rbm1"]


def test_pseudo_likelihoods_are_conditionals(mixed, rows):
    def one(row):
        total = 0.0
        for i, values in enumerate([[0, 1], [0, 1], [0, 1, 2]]):
            others = np.array([[*row[:i], x, *row[i + 1 :]] for x in values])
            total += mixed.log_p([row])[0] - np.log(np.exp(mixed.log_p(others)).sum())
        grid = np.linspace(-14, 14, 4001)
        density = np.exp(mixed.log_p([[*row[:3], x] for x in grid]))
        return total + mixed.log_p([row])[0] - np.log(np.trapezoid(density, grid))

    np.testing.assert_allclose(mixed.rbm().pseudo_log_likelihood(rows[:5]), [one(r) for r in rows[:5]], atol=1e-9)


def test_the_gradient_is_the_derivative_of_the_score(mixed, rows):
    parts = {"weights": mixed.weights, "visible_bias": mixed.a, "hidden_bias": mixed.b, "visible_log_variance": mixed.log_variance}
    gradient = mixed.rbm().gradient(rows)
    for name, numbers in parts.items():
        tensor = name.replace("visible_", "visible.").replace("hidden_", "hidden.")
        for index in np.ndindex(numbers.shape):
            if name == "visible_log_variance" and index != (5,):
                assert gradient[tensor][index] == 0
                continue
            scores = []
            for sign in (1, -1):
                moved = {k: v.copy() for k, v in parts.items()}
                moved[name][index] += sign * 1e-5
                scores.append(RBM.from_arrays(**moved, visible=VISIBLE, hidden=HIDDEN).score(rows))
            assert gradient[tensor][index] == pytest.approx((scores[0] - scores[1]) / 2e-5, abs=1e-8), (tensor, index)


def test_missing_cells_are_summed_over(mixed):
    rbm = mixed.rbm().set_params(missing=True)
    nan = np.nan
    x = np.array([[1, nan, nan, nan], [nan, 0, 2, nan]])
    filled = rbm.impute(x)
    for row, found, score in zip(x, filled, rbm.score_samples(x), strict=True):
        fits = [all(np.isnan(k) or k == s for k, s in zip(row[:3], state, strict=True)) for state in mixed.finite]
        weight = np.where(np.array(fits)[:, None], np.exp(mixed.log_weight), 0)
        p, states = weight.sum(axis=1) / weight.sum(), np.array(mixed.finite)
        assert score == pytest.approx(np.log(weight.sum()) - mixed.log_z, abs=1e-10)
        expected = [p @ states[:, 0], p @ states[:, 1], np.bincount(states[:, 2], p).argmax(), weight.sum(axis=0) @ mixed.mean / weight.sum()]
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_samples_have_the_model_s_frequencies(mixed):
    """20,000 exact samples: a frequency has a standard error of at most 0.0036; 0.02 is 5.6 of them. x: 0.06 is 7."""
    drawn = mixed.rbm().sample(n_samples=20_000, random_state=5)
    p = np.exp(mixed.log_weight).sum(axis=1) / np.exp(mixed.log_z)
    found = np.array([(drawn[:, :3] == state).all(axis=1).mean() for state in mixed.finite])
    assert np.abs(found - p).max() < 0.02
    mean = np.exp(mixed.log_weight).sum(axis=0) @ mixed.mean / np.exp(mixed.log_z)
    assert abs(drawn[:, 3].mean() - mean) < 0.06


def test_moving_the_offsets_does_not_move_the_distribution(mixed, rows):
    moved = mixed.rbm().recenter(visible=np.linspace(-0.5, 0.5, 6), hidden=[0.2, -0.4])
    assert moved.log_z().value != pytest.approx(mixed.log_z, abs=1e-3)
    np.testing.assert_allclose(moved.score_samples(rows), mixed.log_p(rows), atol=1e-12)


def test_files_pickles_and_arrays_are_the_same_model(mixed, rows, tmp_path):
    rbm = mixed.rbm()
    rbm.save(tmp_path / "model.safetensors")
    loaded = RBM.load(tmp_path / "model.safetensors")
    assert loaded.model_ == rbm.model_ == pickle.loads(pickle.dumps(rbm)).model_
    assert loaded.visible == "bernoulli*2,potts(states=3)*1,gaussian(coupling=cho)*1"
    again = RBM.from_arrays(
        loaded.weights_, loaded.visible_bias_, loaded.hidden_bias_, visible=loaded.visible, hidden=loaded.hidden,
        visible_log_variance=loaded.visible_log_variance_,
    )  # fmt: skip
    assert again.model_ == rbm.model_
    with pytest.raises(AttributeError, match="hidden units have no log_variance"):
        rbm.hidden_log_variance_


QUICK = {"updates": 60, "random_state": 0, "method": "pcd", "likelihood": False}


def test_blocks_may_be_a_list_or_text_and_learn_the_same(rows):
    text = "bernoulli*2,potts(states=3)*1,gaussian*1"
    first = RBM(visible=VISIBLE, hidden=[("bernoulli", 2), ("spin", 1)], **QUICK).fit(rows)
    second = RBM(visible=text, hidden="bernoulli*2,spin*1", n_threads=2, **QUICK).fit(rows)
    assert first.model_ == second.model_ and first.transform(rows).shape == (40, 3)
    assert clone(first).fit(rows).model_ == first.model_
    assert RBM(3, visible=(("bernoulli", 2), ["potts", 1, {"states": "3"}], ("gaussian", np.int64(1))), hidden="bernoulli*2,spin*1",
               **QUICK).fit(rows).model_ == first.model_  # fmt: skip


@pytest.mark.parametrize("method", ["pcd", "cd", "pt", "wpcd", "exact"])
def test_every_method_learns_mixed_layers(rows, method):
    """From independent columns, at rest, the likelihood rises."""
    X = rows.copy()
    X[:, 1] = X[:, 0]
    X[:, 3] += 2 * X[:, 0]
    rbm = RBM(visible=VISIBLE, hidden="bernoulli*2,spin*1", method=method, updates=400, learning_rate=0.02, random_state=0).fit(X)
    assert rbm.score(X) > rbm.verdict_.summary["baseline"] + 0.1
    assert rbm.sample(3, random_state=0).shape == (3, 4) and "mean log likelihood" in str(rbm.verdict_)


def test_partial_fit_goes_on_and_pickles_go_on(rows):
    rbm = RBM(visible=VISIBLE, hidden="bernoulli*2,spin*1", learning_rate=0.01, random_state=0)
    for _ in range(3):
        rbm.partial_fit(rows)
    again = pickle.loads(pickle.dumps(rbm))
    assert rbm.n_updates_ == 3 and again.partial_fit(rows).model_ == rbm.partial_fit(rows).model_


def test_visible_means_are_in_the_units_of_the_data_with_and_without_probabilities(rows):
    X = rows * [1, 1, 1, 1000] + [0, 0, 0, 5000]
    rbm = RBM(visible=VISIBLE, hidden="bernoulli*2,spin*1", **QUICK).fit(X)
    h = rbm.transform(X)
    values, states = rbm.inverse_transform(h), rbm.inverse_transform(h, probabilities=True)
    np.testing.assert_allclose(states[:, [0, 1, 5]], values[:, [0, 1, 3]], rtol=1e-12)
    np.testing.assert_array_equal(states[:, 2:5].argmax(axis=1), values[:, 2])
    np.testing.assert_allclose(states[:, 2:5].sum(axis=1), 1, atol=1e-12)
    assert 3000 < values[:, 3].mean() < 7000


def test_filters_of_mixed_layers_are_plotted_and_densities_of_two_columns_need_numbers(mixed):
    assert plot_filters(mixed.rbm(), shape=(2, 3)).get_title() == "2 of 2 hidden units"
    rbm = RBM.from_arrays(np.zeros((2, 1)), np.zeros(2), [0], visible=[("bernoulli", 1), ("gaussian", 1)])
    with pytest.raises(ValueError, match="bernoulli.*gaussian.*, but must be real-valued"):
        plot_density_2d(rbm, bounds=(0, 1, -1, 1))


@pytest.mark.parametrize(
    "units, words",
    [
        (("gaussian", 4), "a block in the name of a kind|must be a block"),
        ([], r"visible is \[\], but must be the name of a kind"),
        ([("bernoulli", 2), "gaussian"], "visible is 'gaussian', but must be a block"),
        ([("bernoulli", 0)], "visible: the number of bernoulli units is 0, but must be a whole number from 1"),
        ([("bernoulli", 2.5)], "visible: the number of bernoulli units is 2.5"),
        ([("potts", 4, 3)], r"visible: the options of potts are 3, but must be a dict such as \{'states': 5\}"),
        ([("potts", 4, {"states": "3)*9,spin(a=1"})], "visible: the options of potts are"),
        ([("magic", 4)], "visible: .*magic"),
        ("bernoulli*3", "visible: lists 3 units, but the data has 4 columns"),
        ("bernoulli*x", "visible: .*number of units"),
        ([("potts", 4)], "visible: .*states"),
        (["potts(states=3)*4"], "visible is 'potts"),
    ],
)
def test_lists_that_are_wrong_are_refused_by_name(rows, units, words):
    with pytest.raises(ValueError, match=words):
        RBM(2, visible=units, **QUICK).fit(rows)


def test_a_list_and_its_options_or_number_must_agree(rows):
    with pytest.raises(ValueError, match="hidden: lists 3 units, but n_hidden is 2"):
        RBM(2, visible=VISIBLE, hidden="bernoulli*2,spin*1", **QUICK).fit(rows)
    with pytest.raises(ValueError, match="visible is a list of blocks, so that the options"):
        RBM.from_arrays(np.zeros((4, 1)), np.zeros(4), [0], visible="bernoulli*4", states=3)
    with pytest.raises(ValueError, match="visible layer: .*blocks have 5"):
        RBM.from_arrays(np.zeros((4, 1)), np.zeros(4), [0], visible="bernoulli*5")


def test_lists_become_text():
    assert layer_text("visible", VISIBLE) == "bernoulli*2,potts(states=3)*1,gaussian*1"
