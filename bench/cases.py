"""What is measured: the cases, their data and first machines, and who takes part."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
OURS = "harmonium"
TORCH = ("torch bernoulli", "torch uniform", "torch numpy")
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "HARMONIUM_SIMD": "avx2",
}


@dataclass(frozen=True)
class Case:
    """One race. A turn is `epochs` times `rows` rows, enough for some tenths of a second: of training, or sweeps of chains."""

    data: str  # see `draw_rows`, or `random_machine` if nothing is trained
    n_hidden: int
    method: str  # cd and pcd; ais; tempering
    steps: int  # Gibbs sweeps per update; temperatures
    batch: int  # rows per update and chains; chains at every temperature
    rows: int
    threads: int
    n_visible: int = 784
    epochs: int = 1

    @property
    def visible(self):
        return "gaussian" if self.data.startswith("normal") else "bernoulli"

    @property
    def trains(self):
        return self.method in ("cd", "pcd")

    @property
    def sweeps(self):
        """Of every chain at every temperature, in a turn of tempering."""
        return self.rows // (self.steps * self.batch)

    @property
    def low(self):
        """The lowest inverse temperature: neighbours of a ladder of ten from 0.8 to 1 swap in two of three trials."""
        return 0.0 if self.method == "ais" else 0.8

    @property
    def lr(self):
        rate = 0.03 if self.data.endswith("patterns") else 0.05
        return rate / 10 if self.visible == "gaussian" else rate

    @property
    def name(self):
        shape = f"{self.n_visible}x{self.n_hidden}"
        return f"{self.data}-{shape}-{self.method}{self.steps}-b{self.batch}-t{self.threads}"


def cases():
    one_thread = [
        *(Case("bits13", 500, method, 1, batch, rows, 1)
          for method in ("cd", "pcd") for batch, rows in ((10, 4000), (128, 8960), (1000, 8000))),
        Case("bits13", 500, "pcd", 10, 128, 1792, 1),
        Case("bits13", 500, "pcd", 10, 1000, 2000, 1),
        Case("bits13", 4096, "cd", 1, 512, 1536, 1),
        Case("bits13", 4096, "pcd", 1, 512, 1536, 1),
        Case("bits50", 500, "cd", 1, 128, 8960, 1),
        Case("bits50", 500, "cd", 1, 1000, 8000, 1),
        Case("digits", 100, "pcd", 1, 10, 35840, 1, n_visible=64, epochs=5),
        Case("digits", 100, "pcd", 1, 128, 35840, 1, n_visible=64, epochs=10),
        Case("normal", 500, "cd", 1, 128, 8960, 1),
        Case("normal", 500, "cd", 1, 1000, 8000, 1),
        Case("machine", 500, "ais", 1000, 100, 100_000, 1),
        Case("machine", 500, "tempering", 10, 100, 100_000, 1),
    ]
    return [replace(case, threads=threads) for case in one_thread for threads in (1, 2)]


def draw_rows(case):
    """The data of a case; random, but always the same."""
    import numpy as np

    rng, shape = np.random.default_rng(7), (case.rows, case.n_visible)
    if case.data == "normal":
        return rng.standard_normal(shape, dtype=np.float32)
    if case.data == "digits":
        from sklearn.datasets import load_digits

        digits = (load_digits().data / 16 > 0.5).astype(np.uint8)
        return digits[np.arange(case.rows) % len(digits)]
    if "patterns" in case.data:  # something to learn, for the check: ten patterns and noise
        which = rng.integers(10, size=case.rows)
        if case.visible == "gaussian":
            return (rng.standard_normal((10, case.n_visible))[which] + rng.standard_normal(shape)).astype(np.float32)
        chances = rng.choice([0.02, 0.9], size=(10, case.n_visible), p=[0.87, 0.13])
        return (rng.random(shape) < chances[which]).astype(np.uint8)
    return (rng.random(shape, dtype=np.float32) < {"bits13": 0.13, "bits50": 0.5}[case.data]).astype(np.uint8)


def random_machine(case):
    """W, a and b of a machine that is far from independent units: with 500 hidden units its log Z is about 190 nats above
    that of its base, and the visible units are 1 about twice as often.
    """
    import numpy as np

    rng = np.random.default_rng(8)
    size = 0.1 if case.n_hidden >= 100 else 0.3
    weights = size * rng.standard_normal((case.n_visible, case.n_hidden))
    return weights, rng.standard_normal(case.n_visible) - 2, 0.5 * rng.standard_normal(case.n_hidden)


def first_machine(case, rows):
    """W, a and b to begin training with."""
    import numpy as np

    mean = rows.mean(0, dtype=np.float64)
    chance = np.clip(mean, 0.001, 0.999)
    bias = mean if case.visible == "gaussian" else np.log(chance / (1 - chance))
    weights = 0.01 * np.random.default_rng(8).standard_normal((case.n_visible, case.n_hidden))
    return weights, bias, np.zeros(case.n_hidden)


def write_files(case, folder):
    """Writes the machine that everyone begins with, and the data if it is trained; returns how they are told to competitors."""
    import numpy as np
    from safetensors.numpy import save_file

    data, model = Path(folder) / "data.npy", Path(folder) / "model.safetensors"
    words = ["--model", str(model)]
    if case.trains:
        rows = draw_rows(case)
        np.save(data, rows)
        words += ["--data", str(data)]
    machine = first_machine(case, rows) if case.trains else random_machine(case)
    tensors = dict(zip(("weights", "visible.bias", "hidden.bias"), machine))
    if case.visible == "gaussian":
        tensors["visible.log_variance"] = np.zeros(case.n_visible)
    metadata = {"format": "harmonium", "version": "1", "visible.kind": case.visible, "hidden.kind": "bernoulli"}
    save_file({name: x.astype(np.float32) for name, x in tensors.items()}, model, metadata)
    return words


def competitors(case, binaries, folder):
    """Name → command line of everyone who can take part. All get the same arguments."""
    if case.trains:
        kind, names = "rbm", {n: n for n in ("visible", "method", "steps", "batch", "threads", "lr")}
    else:
        kind = "tempering" if case.method == "tempering" else "annealing"
        names = {n: n for n in ("method", "threads", "low", "sweeps")} | {"temperatures": "steps", "chains": "batch"}
    same = [word for name, field in names.items() for word in (f"--{name}", str(getattr(case, field)))]
    same += write_files(case, folder)
    binary = Path(binaries) / ("training_speed" if case.trains else "annealing_speed")

    def peer(script, *more):
        return [sys.executable, str(HERE / "peers" / f"{script}_{kind}.py"), *same, *more]

    all = {OURS: [str(binary), *same]}
    all |= {name: peer("torch", "--variant", name.split()[1]) for name in TORCH}
    if case.method != "tempering":
        all["numpy"] = peer("numpy")
        if case.visible == "bernoulli":
            all["rbms"] = peer("rbms")
    if case.visible == "bernoulli" and (case.method, case.steps) == ("pcd", 1) and case.batch <= 128:
        all["scikit-learn"] = peer("sklearn", "--variant", "loop")
        all["scikit-learn fit"] = peer("sklearn", "--variant", "fit")
    if case.trains and case.n_hidden == 500 and case.steps == 1:
        all[f"{OURS} centred"] = [str(binary), *same, "--centred"]
        adam = [str(binary), *same, "--optimizer", "adam"]
        adam[adam.index("--lr") + 1] = "0.005"
        all[f"{OURS} adam"] = adam
    return all


def environment(case, isa):
    """What every competitor of a case runs with."""
    env = dict(os.environ, RAYON_NUM_THREADS=str(case.threads))
    for library in ("OMP", "MKL", "OPENBLAS"):
        env[f"{library}_NUM_THREADS"] = str(case.threads)
    return env | (AVX2 if isa == "avx2" else {})
