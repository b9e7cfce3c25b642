"""Data frames in and out: the same cells in pandas, polars and pyarrow are the same model, and results have names and words."""

import json
import pickle
import subprocess
import warnings

import numpy as np
import pytest

from harmonium import RBM, Column

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N = 300
QUICK = {"n_hidden": 4, "updates": 60, "random_state": 0, "likelihood": False, "method": "pcd"}


def cells(seed=0):
    """Columns of every kind; None is a missing cell."""
    rng = np.random.default_rng(seed)
    holes = rng.random((N, 4)) < 0.1
    return {
        "id": [f"person {k}" for k in range(N)],
        "sex": [None if hole else ("f", "m")[k] for k, hole in zip(rng.integers(2, size=N), holes[:, 0], strict=True)],
        "city": [None if hole else ("Oslo", "Lima", "Rome")[k] for k, hole in zip(rng.integers(3, size=N), holes[:, 1], strict=True)],
        "member": [bool(k) for k in rng.integers(2, size=N)],
        "grade": [int(k) for k in rng.integers(1, 5, size=N)],
        "age": [None if hole else int(k) for k, hole in zip(rng.integers(18, 90, size=N), holes[:, 2], strict=True)],
        "income": [None if hole else float(x) for x, hole in zip(rng.normal(50_000, 9_000, size=N), holes[:, 3], strict=True)],
        "same": ["x"] * N,
    }


def in_pandas(data):
    table = pandas.DataFrame(data)
    return table.astype({"city": "category", "age": "Int64", "member": "boolean" if table["member"].isna().any() else "bool"})


def in_polars(data):
    return polars.DataFrame(data, schema_overrides={"city": polars.Categorical})


def in_pyarrow(data):
    table = pyarrow.table(data)
    return table.set_column(2, "city", table["city"].dictionary_encode())


LIBRARIES = {"pandas": in_pandas, "polars": in_polars, "pyarrow": in_pyarrow}
LEARNED = ["sex", "city", "member", "grade", "age", "income"]


def listed(frame):
    """The cells of a frame by column, None where one is missing."""
    if isinstance(frame, pandas.DataFrame):
        clean = frame.astype(object).where(frame.notna(), None)
        return {name: list(clean[name]) for name in frame.columns}
    return frame.to_dict(as_series=False) if isinstance(frame, polars.DataFrame) else frame.to_pydict()


def quietly(work, *arguments, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work(*arguments, **more)


@pytest.fixture(scope="module", params=LIBRARIES)
def fitted(request):
    frame = LIBRARIES[request.param](cells())
    return quietly(RBM(**QUICK).fit, frame), frame


def test_the_schema_is_what_the_columns_look_like(fitted):
    rbm, _ = fitted
    data = cells()
    found = {column.name: column for column in rbm.schema_}
    assert all(isinstance(column, Column) for column in rbm.schema_) and list(found) == list(data)
    assert {name: column.kind for name, column in found.items()} == {
        "id": "ignore", "sex": "bernoulli", "city": "potts", "member": "bernoulli", "grade": "potts", "age": "gaussian",
        "income": "gaussian", "same": "ignore",
    }  # fmt: skip
    assert found["city"].categories == ["Lima", "Oslo", "Rome"] and found["sex"].categories == ["f", "m"]
    assert found["member"].categories == ["false", "true"] and found["grade"].categories == ["1", "2", "3", "4"]
    for name in data:
        assert found[name].missing == sum(cell is None for cell in data[name]), name
    assert "identifier" in found["id"].why and "constant" in found["same"].why
    assert rbm.n_features_in_ == 8 and list(rbm.feature_names_in_) == list(data)
    assert "data.schema" in rbm.model_.metadata()


def test_every_library_gives_the_same_model_and_the_same_samples():
    models = [quietly(RBM(**QUICK).fit, make(cells())) for make in LIBRARIES.values()]
    assert models[0].model_ == models[1].model_ == models[2].model_
    drawn = [listed(rbm.sample(20, random_state=1)) for rbm in models]
    assert drawn[0] == drawn[1] == drawn[2]


def test_samples_are_a_frame_of_the_same_library_with_the_types_of_the_columns(fitted):
    rbm, frame = fitted
    drawn = quietly(rbm.sample, 50, random_state=2)
    assert type(drawn) is type(frame)
    columns = listed(drawn)
    assert list(columns) == LEARNED and len(columns["sex"]) == 50
    assert set(columns["sex"]) == {"f", "m"} and set(columns["city"]) == {"Oslo", "Lima", "Rome"}
    assert set(columns["member"]) == {False, True} and set(columns["grade"]) <= {1, 2, 3, 4}
    assert all(isinstance(x, float) for x in columns["income"])
    of = (lambda t, n: t.schema.field(n).type) if isinstance(frame, pyarrow.Table) else lambda t, n: t[n].dtype
    for name in ("sex", "city", "member", "grade", "income"):
        assert of(drawn, name) == of(frame, name), name
    assert quietly(RBM(**QUICK).fit, drawn).model_ is not None


def test_codes_are_those_of_the_categories(fitted):
    """An array of codes in the order of the categories is the same rows."""
    rbm, frame = fitted
    data = cells()
    full = [k for k in range(N) if all(data[name][k] is not None for name in LEARNED)][:40]
    codes = np.array([
        [{"f": 0, "m": 1}[data["sex"][k]], ["Lima", "Oslo", "Rome"].index(data["city"][k]), data["member"][k], data["grade"][k] - 1,
         data["age"][k], data["income"][k]]
        for k in full
    ], dtype=float)  # fmt: skip
    rows = frame.iloc[full] if isinstance(frame, pandas.DataFrame) else frame[full] if isinstance(frame, polars.DataFrame) else frame.take(full)
    np.testing.assert_array_equal(rbm.transform(rows), rbm.transform(codes))
    np.testing.assert_array_equal(rbm.score_samples(rows), rbm.score_samples(codes))
    np.testing.assert_array_equal(rbm.free_energy(rows), rbm.free_energy(codes))
    assert listed(rbm.to_frame(codes))["city"] == [data["city"][k] for k in full]
    with pytest.raises(ValueError, match="X has 5 features, but the model was fitted with 6"):
        rbm.transform(codes[:, :5])


def test_imputed_frames_keep_every_known_cell_and_every_other_column(fitted):
    rbm, frame = fitted
    before, after = listed(frame), listed(rbm.impute(frame))
    assert list(after) == list(before)
    for name in before:
        assert all(x is not None for x in after[name])
        assert all(new == old for new, old in zip(after[name], before[name], strict=True) if old is not None), name
    assert {after["city"][k] for k in range(N) if before["city"][k] is None} <= {"Oslo", "Lima", "Rome"}
    assert listed(frame) == before


def test_reconstructed_frames_have_words(fitted):
    rbm, frame = fitted
    found = rbm.reconstruct(frame)
    assert type(found) is type(frame) and list(listed(found)) == LEARNED
    assert set(listed(found)["city"]) <= {"Oslo", "Lima", "Rome"} and len(listed(found)["age"]) == N
    again = rbm.inverse_transform(rbm.transform(frame))
    assert listed(again)["city"] == listed(found)["city"]
    states = rbm.inverse_transform(rbm.transform(frame), probabilities=True)
    names = ["sex=m", "city=Lima", "city=Oslo", "city=Rome", "member=true", "grade=1", "grade=2", "grade=3", "grade=4", "age", "income"]
    assert list(listed(states)) == names
    total = sum(np.array(listed(states)[f"city={city}"]) for city in ("Lima", "Oslo", "Rome"))
    np.testing.assert_allclose(total, 1, atol=1e-12)


def test_other_orders_of_columns_are_fine_and_other_columns_are_named(fitted):
    rbm, frame = fitted
    table = pandas.DataFrame(listed(frame))
    expected = rbm.transform(frame)
    np.testing.assert_array_equal(rbm.transform(table[LEARNED[::-1]]), expected)
    for other, words in [
        (table.drop(columns="age"), "has no column 'age', which the model was trained on"),
        (table.rename(columns={"age": "agee"}), "has no column 'age', .* 'agee'"),
        (table.assign(extra=1), "has the column 'extra', which the model was not trained on"),
        (table.assign(age="old"), "data row 1, column 'age': 'old' is not a number"),
    ]:
        with pytest.raises(ValueError, match=words):
            rbm.transform(other)


def test_unseen_words_are_named_or_missing(fitted):
    rbm, frame = fitted
    table = pandas.DataFrame(listed(frame))
    table.loc[6, "city"] = "Paris"
    with pytest.raises(ValueError, match="data row 7, column 'city': 'Paris' is not one of the known values: 'Lima', 'Oslo', 'Rome'.*unseen='missing'"):
        rbm.score(table)
    tolerant = pickle.loads(pickle.dumps(rbm)).set_params(unseen="missing")
    expected = table.copy()
    expected.loc[6, "city"] = None
    np.testing.assert_array_equal(tolerant.transform(table), rbm.transform(expected))
    with pytest.raises(ValueError, match="unseen: 'guess' is not one of error, missing"):
        RBM(unseen="guess", **QUICK).fit(table)


def test_pickles_and_files_keep_the_schema(fitted, tmp_path):
    rbm, frame = fitted
    again = pickle.loads(pickle.dumps(rbm))
    assert again.schema_ == rbm.schema_ and listed(again.sample(5, random_state=3)) == listed(rbm.sample(5, random_state=3))
    rbm.save(tmp_path / "model.safetensors")
    loaded = RBM.load(tmp_path / "model.safetensors")
    assert [c[:3] for c in loaded.schema_] == [c[:3] for c in rbm.schema_] and loaded.schema_[1].missing is None
    np.testing.assert_array_equal(loaded.transform(frame), rbm.transform(frame))
    assert list(loaded.feature_names_in_) == LEARNED and loaded.n_features_in_ == 6
    codes = loaded.sample(5, random_state=3)
    assert type(codes) is np.ndarray
    words = listed(rbm.sample(5, random_state=3))
    for library in LIBRARIES:
        found = listed(loaded.to_frame(codes, library))
        assert {n: found[n] for n in ("sex", "city", "age", "income")} == {n: words[n] for n in ("sex", "city", "age", "income")}


def test_the_command_reads_the_model_and_its_words(fitted, tmp_path):
    import os

    rbm, frame = fitted
    rbm.save(tmp_path / "model.safetensors")
    # Booleans as Parquet and polars name them; the command computes no free energies of rows with missing cells.
    table = pandas.DataFrame(listed(frame)).dropna()
    expected = rbm.free_energy(table.astype({"member": bool}))
    table = table.assign(member=lambda t: t["member"].map({False: "false", True: "true"}))
    table.to_csv(tmp_path / "table.csv", index=False)
    done = subprocess.run(
        [os.environ.get("HARMONIUM_COMMAND", "harmonium"), "free-energy", "model.safetensors", "table.csv", "-o", "f.npy"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "f.npy"), expected, rtol=1e-12)


def test_some_cells_can_be_kept_by_name(fitted):
    rbm, frame = fitted
    drawn = listed(quietly(rbm.sample, 30, clamp={"city": "Rome", "age": 44}, random_state=4))
    assert set(drawn["city"]) == {"Rome"} and set(drawn["age"]) == {44.0} and set(drawn["sex"]) == {"f", "m"}
    with pytest.raises(ValueError, match="clamp: the model has no column 'town'"):
        rbm.sample(1, clamp={"town": "Rome"})
    with pytest.raises(ValueError, match="column 'city': 'Paris' is not one of"):
        rbm.sample(1, clamp={"city": "Paris"})


def test_partial_fit_takes_frames():
    rbm = RBM(4, learning_rate=0.01, random_state=0)
    frame = in_pandas(cells())
    for _ in range(3):
        rbm.partial_fit(frame)
    assert rbm.n_updates_ == 3 and list(rbm.sample(2, random_state=0).columns) == LEARNED
    again = pickle.loads(pickle.dumps(rbm))
    assert again.partial_fit(frame).model_ == rbm.partial_fit(frame).model_


def test_held_out_frames_and_warm_starts_are_read_by_the_same_schema():
    data = cells()
    frame = in_pandas(data)
    rbm = quietly(RBM(**{**QUICK, "likelihood": True}).fit, frame, validation_data=in_polars(cells(1))[:, ::-1])
    assert rbm.verdict_.summary["valid_rows"] == N
    before = rbm.schema_
    rbm.set_params(warm_start=True).fit(frame[frame.columns[::-1]])
    assert [c[:3] for c in rbm.schema_ if c.kind != "ignore"] == [c[:3] for c in before if c.kind != "ignore"]
    assert rbm.n_updates_ == 120


def test_kinds_are_asked_for_by_name():
    frame = in_pandas(cells())
    rbm = quietly(RBM(columns={"grade": "gaussian", "age": "ignore", "city": "ignore", "same": "ignore"}, **QUICK).fit, frame)
    kinds = {c.name: c.kind for c in rbm.schema_}
    assert (kinds["grade"], kinds["age"], kinds["city"]) == ("gaussian", "ignore", "ignore")
    assert list(rbm.sample(2, random_state=0).columns) == ["sex", "member", "grade", "income"]
    with pytest.raises(ValueError, match="columns: .*magic"):
        RBM(columns={"grade": "magic"}, **QUICK).fit(frame)
    with pytest.raises(ValueError, match="the table has no column 'gradee'; did you mean 'grade'"):
        RBM(columns={"gradee": "gaussian"}, **QUICK).fit(frame)
    with pytest.raises(ValueError, match=r"columns is \['grade'\], but must be a dict of kinds"):
        RBM(columns=["grade"], **QUICK).fit(frame)
    with pytest.raises(ValueError, match="columns describes the columns of a data frame one by one, which needs a data frame"):
        RBM(columns={"1": "gaussian"}, **QUICK).fit(np.eye(4))
    with pytest.raises(ValueError, match="which needs visible='auto'"):
        RBM(columns={"1": "gaussian"}, visible="gaussian", **QUICK).fit(frame[["income"]])


def test_a_schema_may_come_from_a_file(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text('[[column]]\nname = "city"\nkind = "potts"\ncategories = ["Rome", "Oslo", "Lima", "Kyiv"]\n')
    rbm = quietly(RBM(schema=path, **QUICK).fit, in_pandas(cells()))
    assert next(c for c in rbm.schema_ if c.name == "city").categories == ["Rome", "Oslo", "Lima", "Kyiv"]
    with pytest.raises(OSError, match="nowhere.toml"):
        RBM(schema=tmp_path / "nowhere.toml", **QUICK).fit(in_pandas(cells()))


def test_what_is_left_out_is_a_warning_and_verbose_runs_print_the_columns(capsys):
    frame = in_pandas(cells()).assign(label=np.arange(N) % 3)
    with pytest.warns(UserWarning) as found:
        RBM(verbose=True, **QUICK).fit(frame)
    texts = [str(w.message) for w in found]
    assert any(t.startswith("left out: 'id' (an identifier") and "'same' (constant: always 'x')" in t for t in texts), texts
    assert any(t.startswith("the column 'label' may be a label: columns={'label': 'ignore'}") for t in texts), texts
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["column", "kind", "values", "missing", "why"]
    assert any(line.startswith("city") and "potts 3" in line and "Lima, Oslo, Rome" in line for line in lines)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RBM(columns={"id": "ignore", "same": "ignore"}, **QUICK).fit(frame.drop(columns="label"))


def test_other_cells_of_pandas():
    """Objects of several kinds, nullable types, text that stands for nothing, labels that are no text."""
    n = 40
    frame = pandas.DataFrame({
        0: pandas.array([1, 2, 3, None] * 10, dtype="Int64"),
        1: pandas.Series(["a", "?", "b", None] * 10, dtype=object),
        2: pandas.Series([True, False, None, True] * 10, dtype=object),
        3: pandas.date_range("2020-01-01", periods=n),
        4: [[1], [2]] * 20,
        5: pandas.array([0.5, 1.5, 2.5, None] * 10, dtype="Float64"),
        6: pandas.Categorical([3, 1, 2, 10] * 10),
        7: pandas.Series(["x", "y"] * 20, dtype="string"),
    })  # fmt: skip
    rbm = quietly(RBM(**QUICK).fit, frame)
    found = {c.name: c for c in rbm.schema_}
    assert [found[str(k)].kind for k in range(8)] == [
        "potts", "bernoulli", "bernoulli", "ignore", "ignore", "gaussian", "potts", "bernoulli",
    ]  # fmt: skip
    assert found["3"].why == "dates or times" and found["4"].why == "objects"
    assert found["1"].missing == 20 and set(found["6"].categories) == {"1", "2", "3", "10"}
    drawn = quietly(rbm.sample, 30, random_state=0)
    assert list(drawn.columns) == [0, 1, 2, 5, 6, 7] and not hasattr(rbm, "feature_names_in_")
    assert [str(drawn[k].dtype) for k in (0, 1, 2, 6, 7)] == ["Int64", "object", "object", "category", "string"]
    assert set(drawn[2]) == {True, False} and set(drawn[6]) <= {1, 2, 3, 10} and set(drawn[1]) == {"a", "b"}


def test_words_among_numbers_are_refused_with_both_rows():
    frame = pandas.DataFrame({"x": pandas.Series([1, 2, "many", 4], dtype=object), "y": [0.5, 1.5, 2.5, 3.0]})
    with pytest.raises(ValueError, match="column 'x': data row 3 has the word 'many', but data row 1 the number 1.*columns="):
        RBM(**QUICK).fit(frame)
    rbm = quietly(RBM(columns={"x": "potts"}, **QUICK).fit, frame)
    assert rbm.schema_[0].categories == ["1", "2", "4", "many"]


def test_frames_that_are_no_tables_are_refused():
    frame = in_pandas(cells())
    for wrong, words in [
        (frame.iloc[:0], "a data frame of 0 rows and 8 columns"),
        (frame[[]], "0 columns"),
        (polars.LazyFrame({"a": [1]}), "LazyFrame.*collect"),
        (pandas.concat([frame["sex"], frame["sex"]], axis=1), "columns 1 and 2 are both named 'sex'"),
    ]:
        with pytest.raises(ValueError, match=words):
            RBM(**QUICK).fit(wrong)


def test_explicit_kinds_read_a_frame_as_an_array():
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=list("abc"))
    rbm = RBM(visible="gaussian", **QUICK).fit(frame)
    assert rbm.model_ == RBM(visible="gaussian", **QUICK).fit(frame.to_numpy()).model_
    assert type(rbm.sample(2, random_state=0)) is np.ndarray
    with pytest.raises(AttributeError, match="schema_: the model was not fitted to a data frame"):
        rbm.schema_
    with pytest.raises(ValueError, match="to_frame needs a model that knows its columns by name"):
        rbm.to_frame([[0, 0, 0]])


def test_frames_of_other_libraries_are_read_through_arrow():
    class Stream:
        """A data frame of a library that nobody knows."""

        def __init__(self, table):
            self.table = table

        def __arrow_c_stream__(self, requested_schema=None):
            return self.table.__arrow_c_stream__(requested_schema)

    table = in_pyarrow(cells())
    rbm = quietly(RBM(**QUICK).fit, Stream(table))
    assert rbm.model_ == quietly(RBM(**QUICK).fit, table).model_
    assert isinstance(rbm.sample(2, random_state=0), pyarrow.Table)


def test_indexes_stay_and_transform_follows_set_output(fitted):
    rbm, _ = fitted
    frame = in_pandas(cells()).set_index(np.arange(N)[::-1] * 2)
    assert rbm.reconstruct(frame).index.equals(frame.index) and rbm.impute(frame).index.equals(frame.index)
    assert type(rbm.transform(frame)) is np.ndarray
    found = pickle.loads(pickle.dumps(rbm)).set_output(transform="pandas").transform(frame)
    assert found.index.equals(frame.index) and list(found.columns) == ["rbm0", "rbm1", "rbm2", "rbm3"]
    found = pickle.loads(pickle.dumps(rbm)).set_output(transform="polars").transform(frame)
    assert isinstance(found, polars.DataFrame) and found.columns == ["rbm0", "rbm1", "rbm2", "rbm3"]


def test_a_frame_is_read_like_the_file_it_was_written_to(tmp_path):
    """The command infers the same schema from the same cells as text."""
    import os

    data = cells()
    del data["member"]
    in_pandas_ = pandas.DataFrame(data)
    in_pandas_.to_csv(tmp_path / "table.csv", index=False)
    done = subprocess.run(
        [os.environ.get("HARMONIUM_COMMAND", "harmonium"), "train", "table.csv", "-o", "run", "--n-hidden", "4", "--updates", "60",
         "--seed", "0", "--likelihood", "none", "--method", "pcd"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trained = RBM.load(tmp_path / "run" / "model.safetensors")
    rbm = quietly(RBM(**QUICK).fit, in_pandas_)
    assert [c[:3] for c in trained.schema_] == [c[:3] for c in rbm.schema_]
    np.testing.assert_array_equal(trained.weights_, rbm.weights_)


def test_the_description_is_the_library_s(fitted):
    rbm, _ = fitted
    assert [c["name"] for c in json.loads(rbm.model_.schema())] == [c.name for c in rbm.schema_]


def test_imputed_tables_are_drawn_with_words_and_types(fitted):
    rbm, frame = fitted
    before = listed(frame)
    tables = rbm.impute(frame, draws=3, random_state=1)
    assert [type(t) for t in tables] == [type(frame)] * 3
    drawn = [listed(t) for t in tables]
    for name in before:
        holes = [k for k in range(N) if before[name][k] is None]
        for table in drawn:
            assert all(table[name][k] == before[name][k] for k in range(N) if before[name][k] is not None)
        if holes:
            assert len({tuple(table[name][k] for k in holes) for table in drawn}) == 3, name
    assert listed(rbm.impute(frame, draws=3, random_state=1)[2]) == drawn[2]


def test_probabilities_of_imputed_cells_have_names(fitted):
    rbm, frame = fitted
    filled, p = rbm.impute(frame, probabilities=True)
    before, after, p = listed(frame), listed(filled), listed(p)
    cities = ("Lima", "Oslo", "Rome")
    for k in range(N):
        row = {city: p[f"city={city}"][k] for city in cities}
        assert sum(row.values()) == pytest.approx(1, abs=1e-9) and max(row, key=row.get) == after["city"][k]
        assert before["city"][k] is None or row[before["city"][k]] == 1.0
    assert list(p)[0] == "sex=m" and list(p)[-1] == "income"


def test_categories_that_other_rows_do_not_have_come_back_all_the_same():
    frame = pandas.DataFrame({"city": pandas.Categorical(["Oslo", "Rome", "Lima"] * 20), "x": np.arange(60) * 1.5})
    rbm = quietly(RBM(**QUICK).fit, frame)
    few = pandas.DataFrame({"city": pandas.Categorical([None, "Oslo"], categories=["Oslo"]), "x": [1.0, 2.0]})
    for seed in range(8):
        [filled] = rbm.impute(few, draws=1, random_state=seed)
        assert filled["city"].isna().sum() == 0 and set(filled["city"]) <= {"Oslo", "Rome", "Lima"}
    enum = polars.DataFrame({"city": polars.Series([None, "Oslo"], dtype=polars.Enum(["Oslo"])), "x": [1.0, 2.0]})
    assert set(rbm.impute(enum)["city"]) <= {"Oslo", "Rome", "Lima"}


def test_categories_that_are_their_own_codes_are_numbers():
    """0, 1, 2 as categories: the codes name themselves; their states still have names."""
    frame = pandas.DataFrame({"stage": np.arange(60) % 3, "on": np.arange(60) % 2, "x": np.arange(60) ** 2 * 0.7})
    rbm = quietly(RBM(**QUICK).fit, frame)
    drawn = quietly(rbm.sample, 20, random_state=0)
    assert drawn["stage"].dtype == np.int64 and drawn["on"].dtype == np.int64 and set(drawn["stage"]) <= {0, 1, 2}
    states = rbm.inverse_transform(rbm.transform(frame), probabilities=True)
    assert list(states.columns) == ["stage=0", "stage=1", "stage=2", "on", "x"]
    assert rbm.reconstruct(frame)["on"].between(0, 1).all()
