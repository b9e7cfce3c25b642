"""What cannot be done is refused by the name of the parameter, in a plain sentence, before anything large is allocated."""

import json
import resource
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest

from harmonium import RBM, _harmonium

PARAMETERS = [row["python"] for row in json.loads(_harmonium.setting_table()) if row["python"]]
#: Values that hardly any parameter takes.
ODD = [float("nan"), float("inf"), "odd", 0.5, -1, 2**62, 2**70, True, [1], object(), np.float64("nan")]
#: Words of parsers, and of the conversion between Python and Rust.
RAW = ["line 1 column", "invalid type", "expected ", "usize", "u64", "f64", "unsigned", "NoneType", "train.", "model.", "data."]
X = np.eye(6)


@pytest.mark.parametrize("name", PARAMETERS)
def test_values_of_any_kind_are_taken_or_refused_by_name(name):
    for value in ODD:
        arguments = {"n_hidden": 2, "updates": 3, "random_state": 0, "n_threads": 1, name: value}
        if name in ("epochs", "time"):
            arguments.pop("updates")
        if name in ("updates", "time", "n_chains", "batch_size", "n_hidden", "gibbs_steps") and isinstance(value, (int, float)) and 0 < value < 2**63:
            # Work that is possible, or too much of it: see the tests of large counts.
            continue
        if name in ("epochs", "time") and isinstance(value, int) and 1 < value <= 2**40:
            # As good as for ever.
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                RBM(**arguments).fit(X)
        except ValueError as refusal:
            words = str(refusal)
            assert name in words or (name == "hidden_coupling" and "hidden" in words) or name == "init", (value, words)
            assert not [raw for raw in RAW if raw in words], (value, words)
        except OSError:
            assert name == "init"
        except ArithmeticError as diverged:
            assert name == "learning_rate" and "smaller learning_rate" in str(diverged)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"learning_rate": float("nan")}, "learning_rate is nan, but must be a finite number"),
        ({"binarize": 0.5}, "binarize is 0.5, but must be 'auto', 'none', 'sample' or 'threshold:T', such as 'threshold:0.5'"),
        ({"n_chains": "x"}, "n_chains is 'x', but must be a whole number from 1 to 16777216"),
        ({"n_hidden": 2**62}, "n_hidden is 4611686018427387904, but must be a whole number from 1 to 16777216"),
        ({"early_stopping": 2.5}, "early_stopping is 2.5, but must be True, False or 'auto', or a whole number of at least 1"),
        ({"n_threads": -2}, "n_threads is -2, but must be 1 to 1024, or None or -1 for all cores"),
        ({"callbacks": 3}, "callbacks is 3, but must be a function or a list of functions"),
        ({"random_state": "x"}, "random_state is 'x', but must be a whole number, a RandomState, a Generator or None"),
        ({"centering": "yes"}, "centering is 'yes', but must be True or False"),
    ],
)
def test_a_refusal_is_one_plain_sentence(arguments, words):
    with pytest.raises(ValueError) as refusal:
        RBM(**{"n_hidden": 2, "updates": 3, **arguments}).fit(X)
    assert str(refusal.value) == words


@pytest.mark.parametrize(
    "ask, words",
    [
        (lambda rbm: rbm.sample(3, n_chains="x"), "n_chains is 'x'"),
        (lambda rbm: rbm.sample(3, temperatures=2.5), "temperatures is 2.5"),
        (lambda rbm: rbm.sample(3, sampler=3), "sampler is 3"),
        (lambda rbm: rbm.sample(3, n_chains=2**40), "n_chains is 1099511627776"),
        (lambda rbm: rbm.sample(2**70), "n is 1180591620717411303424"),
        (lambda rbm: rbm.log_z(n_chains="x"), "n_chains is 'x'"),
        (lambda rbm: rbm.log_z(tolerance=float("nan")), "tolerance is nan"),
        (lambda rbm: rbm.log_z(budget="x"), "budget is 'x'"),
        (lambda rbm: rbm.impute(X, interval=float("nan")), "interval is nan"),
        (lambda rbm: rbm.impute(X, n_chains=2**63), "n_chains is 9223372036854775808"),
        (lambda rbm: rbm.impute(X, fill=3), "fill is 3"),
        (lambda rbm: rbm.set_output(transform="excel"), "transform is 'excel'"),
    ],
)
def test_questions_of_a_fitted_model_are_refused_by_name(ask, words):
    rbm = RBM.from_arrays(np.zeros((6, 2)), np.zeros(6), np.zeros(2))
    with pytest.raises(ValueError, match=words) as refusal:
        ask(rbm)
    assert not [raw for raw in RAW if raw in str(refusal.value)]


def test_rows_of_spins_are_hinted_at():
    spins = 2 * np.eye(6) - 1
    with pytest.raises(ValueError, match="X: data row 1, column 2: -1 is not .* use visible='spin' or 'gaussian'"):
        RBM(2, updates=3).fit(spins)
    bits, signs = (RBM.from_arrays(np.zeros((6, 2)), np.zeros(6), np.zeros(2), visible=kind) for kind in ("bernoulli", "spin"))
    with pytest.raises(ValueError, match=r"turn -1 and 1 into 0 and 1 with \(X \+ 1\) / 2"):
        bits.transform(spins)
    with pytest.raises(ValueError, match=r"turn 0 and 1 into -1 and 1 with 2 \* X - 1"):
        signs.transform(X)


def test_as_many_threads_as_there_are_cores_may_be_asked_for_as_minus_one():
    one, all_cores = (RBM(2, updates=3, random_state=0, n_threads=n).fit(X) for n in (1, -1))
    assert one.model_ == all_cores.model_ and all_cores.transform(X).shape == (6, 2)


def _file(path, tensors, data=b""):
    """A safetensors file whose header claims these tensors."""
    metadata = {"format": "harmonium", "version": "1", "visible.kind": "bernoulli", "hidden.kind": "bernoulli"}
    offset, header = 0, {"__metadata__": metadata}
    for name, (shape, size) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


LIES = {
    # The first three need the checks of sizes in the library's reader.
    "weights of 2^60 rows without columns": ({"weights": ([2**60, 0], 0), "visible.bias": ([4], 16), "hidden.bias": ([0], 0)}, b"0" * 16),
    "weights of 2^33 rows without columns": ({"weights": ([2**33, 0], 0), "visible.bias": ([4], 16), "hidden.bias": ([0], 0)}, b"0" * 16),
    "weights of 2^60 columns without rows": ({"weights": ([0, 2**60], 0), "visible.bias": ([0], 0), "hidden.bias": ([4], 16)}, b"0" * 16),
    "sizes whose product is more than 64 bits": ({"weights": ([2**40, 2**40], 8), "visible.bias": ([1], 4), "hidden.bias": ([1], 4)}, b"0" * 16),
    "weights beyond the end": ({"weights": ([4, 4], 64), "visible.bias": ([4], 16), "hidden.bias": ([4], 16)}, b"0" * 8),
    "no tensors": ({}, b""),
}


@pytest.mark.parametrize("lie", LIES)
def test_files_that_lie_are_an_ordinary_error(tmp_path, lie):
    path = _file(tmp_path / "model.safetensors", *LIES[lie])
    assert "model.safetensors" in _limited(f"RBM.load({str(path)!r})")
    _limited(f"rbm.model_.from_bytes(open({str(path)!r}, 'rb').read())")


def test_a_header_that_is_longer_than_its_file_is_an_ordinary_error(tmp_path):
    for length in (2**63, 2**40, 100):
        path = tmp_path / "model.safetensors"
        path.write_bytes(struct.pack("<Q", length) + b"{}")
        with pytest.raises(ValueError, match="model.safetensors"):
            RBM.load(path)


def _limited(work):
    """Run work in a process of its own with 4 GB of memory; it must end with a ValueError."""
    child = f"""
import numpy as np
from harmonium import RBM
rbm = RBM.from_arrays(np.zeros((6, 2)), np.zeros(6), np.zeros(2))
wide = RBM.from_arrays(np.zeros((40, 40)), np.zeros(40), np.zeros(40))
X = np.eye(6)
try:
    {work}
except ValueError as refusal:
    print(refusal)
"""
    limit = 4 << 30
    done = subprocess.run(
        [sys.executable, "-c", child],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 0 and done.stdout, done.stderr
    return done.stdout


#: Each needs the library's checks of sizes and of the memory that counts would take.
HUGE = {
    "RBM.from_arrays(np.zeros((2**40, 0)), np.zeros(0), np.zeros(0))": "weights|visible",
    "RBM.from_arrays(np.zeros((0, 2**40)), np.zeros(0), np.zeros(0))": "weights|visible",
    "RBM(2**24, updates=1, method='pcd').fit(np.zeros((10, 784)))": "n_hidden|memory",
    "RBM(64, updates=1, method='pcd', n_chains=2**24).fit(np.eye(784))": "n_chains|memory",
    "wide.sample(10**12)": "n is|memory|n:",
    "wide.sample(10**12, n_chains=2**20)": "n is|memory|n:|n_chains",
    "wide.log_z('ais', n_chains=2**24)": "n_chains|memory",
    "wide.impute(np.full((1, 40), np.nan), n_chains=2**62, method='chains')": "n_chains|memory",
}


@pytest.mark.parametrize("work", HUGE)
def test_huge_counts_are_refused_before_anything_is_allocated(work):
    import re

    assert re.search(HUGE[work], _limited(work))
