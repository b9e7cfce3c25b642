"""What happens around a run: events, interrupts, threads, files, the command line, the README."""

import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib

import numpy as np
import pytest

from harmonium import RBM, plot_density_2d, plot_filters, plot_learning

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]


def test_callbacks_are_told_everything_and_can_stop_a_run(digits):
    events = []

    def stop_soon(event):
        events.append(event)
        return event.get("update", 0) >= 400

    rbm = RBM(4, random_state=0, callbacks=stop_soon).fit(digits)
    assert events[0]["event"] == "started" and events[-1]["event"] == "finished"
    assert rbm.n_updates_ == 400 and rbm.history_ == events
    assert {"learning_rate", "train", "gradient_norm"} <= set(events[1])


#: A run of a second.
QUICK = {"n_hidden": 4, "method": "pcd", "n_chains": 10, "batch_size": 10, "likelihood": False, "random_state": 0}


def test_callbacks_are_called_at_the_start_after_every_report_and_at_the_end(digits, tmp_path):
    events = []
    options = {**QUICK, "updates": 500, "report_every": 200}
    RBM(**options, callbacks=lambda e: events.append((e["event"], e["update"]))).fit(digits[:200])
    expected = [("started", 0), ("progress", 200), ("progress", 400), ("progress", 500), ("finished", 500)]
    assert events == expected
    events.clear()
    directory = RBM(**options, checkpoint_every=200, callbacks=lambda e: events.append((e["event"], e["update"])))
    directory.fit(digits[:200], output=tmp_path / "run")
    assert [e for e in events if e[0] != "checkpoint"] == expected
    assert [e[1] for e in events if e[0] == "checkpoint"] == [200, 400, 500]


@pytest.mark.parametrize("answer, updates", [(True, 200), (np.True_, 200), (False, 400), (np.False_, 400), (None, 400), ("yes", 400), (1, 400)])
def test_only_a_true_stops_a_run(digits, answer, updates):
    stop = lambda e: answer if e["event"] == "progress" else None  # noqa: E731
    assert RBM(**QUICK, updates=400, report_every=200, callbacks=[stop]).fit(digits[:200]).n_updates_ == updates


def test_a_true_after_any_event_stops_a_run(digits, tmp_path):
    stop = lambda e: e["event"] == "checkpoint"  # noqa: E731
    rbm = RBM(**QUICK, updates=400, checkpoint_every=100, callbacks=stop).fit(digits[:200], output=tmp_path / "run")
    assert rbm.n_updates_ == 100
    assert RBM(**QUICK, updates=400, callbacks=lambda e: True).fit(digits[:200]).n_updates_ == 0


def test_the_number_of_updates_never_falls_while_a_model_learns(digits):
    rbm = RBM(**QUICK, updates=70).fit(digits[:200])
    counts = [rbm.n_updates_]
    for again in range(5):
        rbm = pickle.loads(pickle.dumps(rbm)) if again == 2 else rbm.recenter() if again == 4 else rbm
        counts.append(rbm.partial_fit(digits[:100]).n_updates_)
    assert counts == [70, 71, 72, 73, 74, 75]


def test_an_update_that_is_taken_back_is_not_counted():
    """A rate at which the parameters overflow in the first update."""
    X = np.random.default_rng(0).normal(size=(50, 3)) * 1e15
    events = []
    rbm = RBM(2, visible="gaussian", learning_rate=1e30, random_state=0, callbacks=events.append)
    for done in range(3):
        try:
            rbm.partial_fit(X)
        except ArithmeticError:
            break
    assert events and all(e["event"] == "recovered" for e in events)
    assert rbm.n_updates_ == done - len(events) + 1


def test_early_stopping_is_explained(digits, capsys):
    with pytest.raises(ValueError, match="early_stopping needs held-out rows; give validation_data or validation_fraction"):
        RBM(4, early_stopping=True, random_state=0).fit(digits[:100])
    rbm = RBM(12, method="pcd", early_stopping=1, learning_rate=0.2, report_every=10, updates=2000, random_state=0, verbose=True,
              validation_fraction=0.3)  # fmt: skip
    rbm.fit(digits[:100, :20])
    kept = rbm.history_[-1]["kept"]
    last = capsys.readouterr().out.splitlines()[-1]
    assert rbm.history_[-1]["reason"] == "early_stop" and kept < rbm.n_updates_ < 2000
    assert re.fullmatch(
        rf"\[RBM\] {rbm.n_updates_} updates in \d+\.\d s; stopped early, since the held-out rows no longer became more likely; "
        rf"the model of update {kept} is kept",
        last,
    )


def test_an_error_in_a_callback_ends_the_run(digits):
    def trap(event):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        RBM(4, random_state=0, callbacks=[trap]).fit(digits)


def test_verbose_runs_print_what_they_did(digits, capsys):
    RBM(4, epochs=2, random_state=0, verbose=True).fit(digits)
    assert re.search(r"\[RBM\] 34 updates in \d+\.\d s", capsys.readouterr().out)


CHILD = """
import numpy as np, sys
from harmonium import RBM
X = np.random.default_rng(0).integers(2, size=(2000, 100)).astype(np.uint8)
print("begin", flush=True)
{work}
"""
WORK = {
    "fit": "RBM(200, epochs=1e9, n_threads=2, likelihood=False).fit(X)",
    "log_z": "rbm = RBM(200, epochs=1).fit(X); rbm.log_z(tolerance=1e-9, budget=1e18)",
    "sample": "rbm = RBM(200, epochs=1).fit(X); rbm.sample(10, burn_in=10**9, sampler='gibbs')",
    "drop-in": "from harmonium.sklearn import BernoulliRBM; BernoulliRBM(100, n_iter=10**9).fit(X)",
}


@pytest.mark.parametrize("work", WORK)
def test_ctrl_c_ends_the_work_within_seconds(work):
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(work=WORK[work])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start background jobs with Ctrl-C ignored, which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert child.stdout.readline() == "begin\n"
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    try:
        _, errors = child.communicate(timeout=20)
    finally:
        child.kill()
    assert "KeyboardInterrupt" in errors and "panicked" not in errors, errors


def test_other_threads_of_python_run_meanwhile(digits):
    """While a model learns a second thread counts; with the lock held it would not get beyond a few."""
    count, done = 0, threading.Event()

    def counting():
        nonlocal count
        while not done.wait(0.001):
            count += 1

    thread = threading.Thread(target=counting)
    thread.start()
    begin = time.monotonic()
    RBM(64, epochs=30, random_state=0, likelihood=False).fit(digits)
    while time.monotonic() - begin < 0.2:
        RBM(64, epochs=30, random_state=0, likelihood=False).fit(digits)
    done.set()
    thread.join()
    assert count > 20


def test_a_forked_process_has_threads_of_its_own(digits):
    rbm = RBM(4, epochs=1, random_state=0).fit(digits)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if rbm.transform(digits).shape == (1797, 4) else 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail("the forked process waits for threads that it does not have")


def test_scikit_learn_is_not_needed():
    child = """
import sys
sys.modules["sklearn"] = None
import numpy as np, pickle
from harmonium import RBM
X = np.repeat([[1, 1, 0], [0, 0, 1]], 20, axis=0)
rbm = RBM(2, epochs=5, random_state=0)
assert repr(rbm) == "RBM(n_hidden=2, epochs=5, random_state=0)", rbm
H = rbm.fit_transform(X)
assert H.shape == (40, 2) and rbm.set_params(n_hidden=3).get_params()["n_hidden"] == 3
assert list(rbm.get_feature_names_out()) == ["rbm0", "rbm1"] and rbm.n_features_in_ == 3
assert pickle.loads(pickle.dumps(rbm)).model_ == rbm.model_
for bad in ([1, 2], np.zeros((0, 3)), [["a"]], np.zeros((2, 2)), np.zeros((2, 3), dtype=complex)):
    try:
        rbm.transform(bad)
    except ValueError:
        continue
    raise SystemExit(f"{bad} was taken")
"""
    subprocess.run([sys.executable, "-c", child], check=True)


@pytest.mark.parametrize("visible, hidden", [("bernoulli", "bernoulli"), ("gaussian", "spin"), ("potts", "gaussian")])
def test_files_are_read_back_to_the_bit(tmp_path, visible, hidden):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) if visible == "gaussian" else rng.integers(2, size=(30, 3))
    rbm = RBM(2, visible=visible, hidden=hidden, epochs=2, random_state=0).fit(X)
    rbm.save(tmp_path / "model.safetensors")
    again = RBM.load(tmp_path / "model.safetensors")
    assert again.model_ == rbm.model_
    assert (again.visible, again.hidden, again.n_hidden) == (visible, hidden, 2)
    np.testing.assert_array_equal(again.transform(X), rbm.transform(X))
    assert again.partial_fit(X).n_updates_ == 1


def test_damaged_and_missing_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.safetensors"):
        RBM.load(tmp_path / "none.safetensors")
    path = tmp_path / "model.safetensors"
    RBM.from_arrays([[1.0]], [0.0], [0.0]).save(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="model.safetensors"):
        RBM.load(path)


def command():
    """The command, if it was built beside this package (scripts/test does)."""
    directory = os.environ.get("HARMONIUM_COMMAND")
    if not directory:
        pytest.skip("HARMONIUM_COMMAND does not name the command")
    return directory


def test_the_command_line_says_the_same(tmp_path, digits):
    import json

    rbm = RBM(10, epochs=3, random_state=0).fit(digits)
    model, data, out = (str(tmp_path / name) for name in ("model.safetensors", "data.npy", "out.npy"))
    rbm.save(model)
    np.save(data, digits)

    def run(*words):
        done = subprocess.run([command(), *words, "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    told = run("evaluate", model, data)
    assert told["mean_log_likelihood"] == pytest.approx(rbm.score(digits), abs=1e-9)
    assert told["log_z"] == rbm.log_z().value
    run("transform", model, data, "-o", out)
    np.testing.assert_allclose(np.load(out), rbm.transform(digits), atol=1e-12)
    run("sample", model, "-n", "50", "-o", out, "--seed", "3")
    np.testing.assert_array_equal(np.load(out), rbm.sample(50, random_state=3))
    run("train", data, "-o", str(tmp_path / "run"), "--n-hidden", "10", "--epochs", "3", "--seed", "0")
    assert RBM.load(tmp_path / "run" / "model.safetensors").weights_.tobytes() == rbm.weights_.tobytes()


def test_the_readme_s_lines_run_as_written(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text()
    section = re.search(r"## In Python.*?\n## ", text, re.DOTALL).group()
    first, second = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(first.strip().splitlines()) <= 14
    monkeypatch.chdir(tmp_path)
    names = {}
    for lines in (first, second):
        exec(compile(lines, "README.md", "exec"), names)


def test_pictures(digits):
    rbm = RBM(9, epochs=20, validation_fraction=0.2, random_state=0).fit(digits)
    assert plot_filters(rbm).images[0].get_array().shape == (3 * 9 - 1, 3 * 9 - 1)
    assert [line.get_label() for line in plot_learning(rbm).lines] == ["training rows", "held-out rows", "independent columns"]
    with pytest.raises(ValueError, match="64 columns"):
        plot_filters(rbm, shape=(3, 3))
    with pytest.raises(ValueError, match="64 columns"):
        plot_density_2d(rbm)


def test_memory_of_a_large_table_of_bytes():
    """Fitting 60,000 × 784 bytes packs them to bits (6 MB) and copies blocks of 16 MiB, never the 376 MB of floats."""
    child = """
import numpy as np, resource
from harmonium import RBM
X = (np.random.default_rng(0).integers(256, size=(60_000, 784), dtype=np.uint8) > 200).astype(np.uint8)
warm = RBM(16, epochs=0, random_state=0, likelihood=False).fit(X[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
RBM(16, epochs=0.02, random_state=0, likelihood=False).fit(X)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150_000, f"{done.stdout} kB beyond the table"


def test_the_command_and_python_write_the_same_bytes(tmp_path, digits):
    """One run: the same data and settings give the same model, events and settings, whoever asks."""
    data = str(tmp_path / "data.npy")
    np.save(data, digits)
    cases = {
        "plain": ({"n_hidden": 10, "updates": 300}, ["--n-hidden", "10", "--updates", "300"]),
        "held-out": (
            {"updates": 300, "validation_fraction": 0.2, "early_stopping": 3, "learning_rate": 0.01, "l2": 1e-3},
            ["--updates", "300", "--valid-fraction", "0.2", "--early-stop", "3", "--lr", "0.01", "--l2", "0.001"],
        ),
        "gaussian": (
            {"visible": "gaussian", "standardize": True, "updates": 200, "random_state": 5},
            ["--visible", "gaussian", "--standardize", "--updates", "200", "--seed", "5"],
        ),
    }
    for name, (settings, words) in cases.items():
        ours, theirs = tmp_path / f"{name}-python", tmp_path / f"{name}-command"
        rbm = RBM(**{"random_state": 0, **settings}).fit(digits, output=ours)
        # In arrays a NaN is an error, as in scikit-learn.
        words = [*words, "--no-missing"]
        subprocess.run([command(), "train", data, "-o", str(theirs), *words], check=True, capture_output=True)
        for file in ("model.safetensors", "events.jsonl"):
            assert (ours / file).read_bytes() == (theirs / file).read_bytes(), (name, file)
        settings = [tomllib.loads((path / "config.toml").read_text()) for path in (ours, theirs)]
        assert [s["data"].pop("source") for s in settings] == ["memory:X", data]
        assert settings[0] == settings[1], name
        rbm.save(tmp_path / "model.safetensors")
        assert (tmp_path / "model.safetensors").read_bytes() == (ours / "model.safetensors").read_bytes()


def test_a_run_directory_is_judged_reported_and_resumed(tmp_path, digits):
    rbm = RBM(8, updates=200, random_state=0)
    rbm.fit(digits, validation_data=digits[:200], output=tmp_path / "run")
    summary = rbm.verdict_.summary
    assert rbm.verdict_.outcome in {"learned", "still-rising"} and "nats per row" in str(rbm.verdict_)
    assert abs(summary["log_likelihood"] - rbm.score(digits)) < 1e-4 and summary["valid_rows"] == 200
    assert (tmp_path / "run" / "report.html").read_text() == rbm.report(tmp_path / "page.html").html
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(ValueError, match="holds a finished run"):
        RBM(8, updates=200, random_state=0).fit(digits, output=tmp_path / "run")
    # The same run in memory has the same verdict.
    memory = RBM(8, updates=200, random_state=0).fit(digits, validation_data=digits[:200])
    assert memory.model_ == rbm.model_ and memory.verdict_.evidence == rbm.verdict_.evidence
    # An interrupted run goes on to the same bits.
    stopped = RBM(8, updates=200, random_state=0, callbacks=lambda e: e["event"] == "progress" and e["update"] >= 100, report_every=50)
    stopped.fit(digits, output=tmp_path / "stopped")
    whole = RBM(8, updates=200, random_state=0, report_every=50).fit(digits)
    resumed = RBM(8, updates=200, random_state=0, report_every=50).fit(digits, output=tmp_path / "stopped", resume=True)
    assert resumed.model_ == whole.model_
    # More updates extend a finished run.
    longer = RBM(8, updates=300, random_state=0, report_every=50).fit(digits, output=tmp_path / "stopped", resume=True)
    assert longer.n_updates_ == 300 and (tmp_path / "stopped" / "model-200.safetensors").exists()


def test_models_without_a_run_have_no_verdict(small):
    with pytest.raises(AttributeError, match="need a run"):
        small.verdict_
    with pytest.raises(AttributeError, match="need a run"):
        small.report()


def test_a_warm_start_goes_on_from_the_present_model(digits, tmp_path):
    first = RBM(**QUICK, updates=300).fit(digits)
    first.save(tmp_path / "model.safetensors")
    from_file = RBM(**{**QUICK, "n_hidden": "auto"}, updates=200, init=tmp_path / "model.safetensors").fit(digits)
    loaded = RBM.load(tmp_path / "model.safetensors")
    loaded.set_params(**QUICK, updates=200, warm_start=True).fit(digits)
    expected = first.n_updates_ + 200
    first.set_params(warm_start=True, updates=200).fit(digits)
    assert first.model_ == from_file.model_ == loaded.model_ and first.n_updates_ == expected
    # Without it a fit begins anew.
    assert first.set_params(warm_start=False).fit(digits).model_ == RBM(**QUICK, updates=200).fit(digits).model_


def test_a_warm_start_keeps_the_standardization_and_the_units(digits):
    X = np.random.default_rng(0).normal(100, 20, size=(80, 3))
    rbm = RBM(**QUICK, visible="gaussian", updates=50, warm_start=True).fit(X)
    before = rbm.model_.tensors()["data.shift"]
    np.testing.assert_array_equal(rbm.fit(X + 5).model_.tensors()["data.shift"], before)
    with pytest.raises(ValueError, match="n_hidden is 9, but warm_start goes on from a model with 4 hidden units"):
        rbm.set_params(n_hidden=9).fit(X)
    with pytest.raises(ValueError, match="X has 2 features"):
        rbm.set_params(n_hidden=4).fit(X[:, :2])
    with pytest.raises(ValueError, match="warm_start is 'yes', but must be True or False"):
        rbm.set_params(warm_start="yes").fit(X)
    assert rbm.n_features_in_ == 3


def test_partial_fit_is_the_library_s_update(digits):
    """One step of a kept trainer after another is one run: the model does not depend on looking at it in between."""
    quiet, watched = (RBM(16, random_state=0) for _ in range(2))
    for first in range(0, 1500, 100):
        quiet.partial_fit(digits[first : first + 100])
        assert watched.partial_fit(digits[first : first + 100]).weights_.shape == (64, 16)
    assert quiet.model_ == watched.model_ and quiet.n_updates_ == 15
