"""Threads, processes, Ctrl-C, and arrays of every kind: the same results, no deadlock, and a model that stays usable."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from harmonium import RBM
from harmonium.sklearn import BernoulliRBM

X = (np.random.default_rng(0).random((400, 12)) < 0.4).astype(np.uint8)


def fitted(seed=0, **more):
    return RBM(**{"n_hidden": 6, "updates": 60, "random_state": seed, "likelihood": False, **more}).fit(X)


def within(seconds, work):
    """Run work in a thread; a deadlock is a failure, not a test that never ends."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "deadlock"
    assert found, "the work failed"
    return found[0]


def test_models_that_are_fitted_at_once_are_those_fitted_one_by_one():
    alone = [fitted(seed).model_ for seed in range(6)]

    def together():
        with ThreadPoolExecutor(6) as pool:
            return [rbm.model_ for rbm in pool.map(fitted, range(6))]

    assert within(120, together) == alone


def test_a_fitted_model_answers_many_threads_at_once_as_it_answers_one():
    rbm = fitted(likelihood=True)
    held = X[:50].astype(float)
    held[::3, 2] = np.nan
    asking = RBM.from_arrays(rbm.weights_, rbm.visible_bias_, rbm.hidden_bias_).set_params(missing=True)
    questions = [
        lambda: rbm.transform(X),
        lambda: rbm.reconstruct(X),
        lambda: rbm.score_samples(X),
        lambda: rbm.sample(100, random_state=1),
        lambda: rbm.pseudo_log_likelihood(X[:50]),
        lambda: np.array(rbm.log_z()[:4]),
        lambda: asking.impute(held, random_state=2),
        lambda: asking.transform(held),
        lambda: pickle.loads(pickle.dumps(rbm)).weights_,
        lambda: np.array(rbm.verdict_.summary["log_likelihood"]),
    ]
    expected = [ask() for ask in questions]

    def together():
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda k: questions[k % len(questions)](), range(6 * len(questions))))

    for k, found in enumerate(within(120, together)):
        np.testing.assert_array_equal(found, expected[k % len(questions)])


def test_a_model_that_learns_in_one_thread_is_looked_at_from_others():
    """The lock of the model and that of the interpreter are never waited for in two orders."""
    rbm = RBM(6, learning_rate=0.01, random_state=0, n_chains=2000, n_threads=2).partial_fit(X)

    def work(k):
        for _ in range(20):
            if k % 2:
                # Lists of Python's, which the library asks for while it holds the model.
                rbm.partial_fit(np.asfortranarray(X))
            else:
                assert rbm.transform(X[:5]).shape == (5, 6) and pickle.dumps(rbm)
        return True

    def together():
        with ThreadPoolExecutor(4) as pool:
            return all(pool.map(work, range(4)))

    assert within(120, together)


def forked(work, seconds=60):
    """Whether work is done in a forked process."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def test_forked_processes_use_fit_and_load_models():
    rbm = fitted()
    expected = rbm.transform(X)
    assert forked(lambda: (rbm.transform(X) == expected).all())
    assert forked(lambda: fitted().model_ == rbm.model_)
    assert forked(lambda: pickle.loads(pickle.dumps(rbm)).partial_fit(X).n_updates_ == 61)
    assert forked(lambda: rbm.sample(10, random_state=0).shape == (10, 12))
    # A process that was forked may fork again.
    assert forked(lambda: forked(lambda: (rbm.transform(X) == expected).all()))


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from harmonium import RBM
X = np.random.default_rng(0).integers(2, size=(2000, 100)){values}
runs, when = threading.Event(), []
def interrupt():
    runs.wait()
    time.sleep(0.3)
    when.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
def watch(event):
    if event["event"] == "progress":
        runs.set()
rbm = RBM({arguments}, epochs=1e9, report_every=10, n_threads=2, random_state=0, callbacks=watch)
try:
    rbm.fit(X)
    sys.exit("it ended")
except KeyboardInterrupt:
    late = time.monotonic() - when[0]
assert rbm.n_updates_ >= 10 and rbm.history_[-1]["reason"] == "interrupted", rbm.history_[-1]
width = rbm.get_feature_names_out().size
assert rbm.transform(X).shape == (2000, width) and rbm.sample(3, sampler="gibbs", burn_in=1, n_chains=3).shape == (3, 100)
assert rbm.set_params(learning_rate=0.01).partial_fit(X[:100]).n_updates_ > 10
assert rbm.set_params(epochs=None, updates=5).fit(X).n_updates_ == 5
print(late)
"""


@pytest.mark.parametrize(
    "arguments, values",
    [
        ("20, likelihood=False", ".astype(np.uint8)"),
        ("64", ".astype(float)"),
        ("16, visible='spin', hidden='potts', hidden_states=3, method='pt'", " * 2 - 1"),
    ],
)
def test_ctrl_c_ends_a_fit_within_a_second_and_its_model_is_usable(arguments, values):
    code = INTERRUPTED.format(arguments=arguments, values=values)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "panicked" not in done.stderr, done.stderr
    assert float(done.stdout) < 1.0


def test_an_interrupted_run_in_a_directory_is_resumed(tmp_path):
    calls = []

    def interrupt(event):
        calls.append(event)
        if event["event"] == "progress" and event["update"] == 100:
            raise KeyboardInterrupt

    options = {"n_hidden": 6, "updates": 300, "report_every": 50, "random_state": 0}
    with pytest.raises(KeyboardInterrupt):
        RBM(**options, callbacks=interrupt).fit(X, output=tmp_path / "run")
    whole = RBM(**options).fit(X)
    assert RBM(**options).fit(X, output=tmp_path / "run", resume=True).model_ == whole.model_


def test_a_fit_that_fails_leaves_what_was_fitted_before():
    rbm = fitted()
    expected, updates = rbm.transform(X), rbm.n_updates_
    for bad in (X * 7, X[:, :5] * 7.0, np.full((3, 4), "a"), np.zeros((0, 12))):
        with pytest.raises(ValueError):
            rbm.fit(bad)
    with pytest.raises(ValueError, match="learning_rate"):
        rbm.set_params(learning_rate=-1.0).fit(X[:, :3])
    np.testing.assert_array_equal(rbm.transform(X), expected)
    assert (rbm.n_updates_, rbm.n_features_in_) == (updates, 12)
    unfitted = RBM(2, learning_rate=-1.0)
    with pytest.raises(ValueError):
        unfitted.fit(X)
    assert not [name for name in vars(unfitted) if name.endswith("_")]


def arrays():
    """The same rows in arrays of every kind."""
    wide = np.repeat(np.repeat(X, 2, axis=1), 3, axis=0)
    locked = X.copy()
    locked.setflags(write=False)
    apart = np.zeros((len(X), 12), dtype=[("other", np.uint8), ("x", np.float64)])
    apart["x"] = X
    yield "read-only", locked
    yield "read-only floats", np.broadcast_to(X.astype(float), X.shape)
    yield "strided", wide[::3, ::2]
    yield "backwards", X[::-1, ::-1].copy()[::-1, ::-1]
    yield "Fortran order", np.asfortranarray(X.astype(np.float32))
    yield "unaligned", apart["x"]
    for dtype in ("?", "e", ">f2", ">f4", ">f8", ">i2", "<i8", ">u8", "g"):
        yield dtype, X.astype(dtype)
        yield f"{dtype}, Fortran order", np.asfortranarray(X.astype(dtype))


@pytest.mark.parametrize("name, rows", list(arrays()), ids=lambda x: x if isinstance(x, str) else "")
def test_arrays_of_every_kind_are_the_same_rows(name, rows):
    expected, rbm = fitted(), fitted()
    before = rows.copy()
    again = RBM(6, updates=60, random_state=0, likelihood=False).fit(rows)
    assert again.model_ == expected.model_
    np.testing.assert_allclose(again.transform(rows), rbm.transform(X), atol=1e-7)
    np.testing.assert_array_equal(again.free_energy(rows), rbm.free_energy(X))
    one, two = (RBM(6, learning_rate=0.01, random_state=0).partial_fit(x) for x in (rows, X))
    assert one.model_ == two.model_
    # long double and big-endian integers are what scikit-learn's own checks make of them.
    drop_in = BernoulliRBM(4, n_iter=1, random_state=0)
    assert drop_in.fit(rows).components_.shape == (4, 12)
    np.testing.assert_array_equal(rows, before)


def test_weights_and_offsets_may_be_read_only_strided_or_of_any_type():
    weight = np.repeat(np.arange(400.0), 2)
    locked = weight[::2].copy()
    locked.setflags(write=False)
    make = lambda w: RBM(6, updates=60, random_state=0, likelihood=False).fit(X, sample_weight=w).model_  # noqa: E731
    expected = make(weight[::2].copy())
    for other in (weight[::2], locked, weight[::2].astype(">f4"), weight[::2].astype(np.int64), list(range(400))):
        assert make(other) == expected
    rbm = RBM.from_arrays(np.asfortranarray(np.eye(4))[::2], np.zeros(2, dtype=">f4"), np.zeros(8, dtype=np.float16)[::2])
    assert rbm.weights_.shape == (2, 4)
