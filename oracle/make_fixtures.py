"""Write every fixture and golden file, or with --check compare them with what is committed."""

import argparse
import json
import pathlib
import sys

import numpy as np
import safetensors.numpy

import exact
from cases import all_cases, draw_data, draw_machine, draw_offset, draw_states, generator
from energy import energy
from golden import FILES, golden
from recentre import recentred

TESTS = pathlib.Path(__file__).resolve().parent.parent / "crates" / "harmonium" / "tests"
FIXTURES, GOLDEN = TESTS / "fixtures", TESTS / "golden"
TOLERANCE = 1e-12


def fixture(name, visible, hidden, centred):
    rng = generator(name)
    machine = draw_machine(rng, visible, hidden, centred)
    data, row_weights = draw_data(rng, machine["visible"])
    v, h = draw_states(rng, machine["visible"], 6), draw_states(rng, machine["hidden"], 6)
    exact.assert_grid_suffices(machine)
    means, log_p_star = exact.visible_means(machine, h[:3]), exact.log_p_star(machine, h[:3])
    case = {
        "name": name, **machine, "data": data, "row_weights": row_weights,
        "log_z": exact.log_z(machine),
        "energies": [{"v": a, "h": b, "energy": energy(machine, [a], [b]).item()} for a, b in zip(v, h)],
        "free_energy": exact.free_energy(machine, data),
        "log_likelihood": exact.log_likelihood(machine, data),
        "hidden_means": exact.hidden_means(machine, data),
        "visible_given": [{"h": a, "mean": b, "log_p_star": c} for a, b, c in zip(h, means, log_p_star)],
        "model": exact.expectations(machine),
        "gradient": exact.gradient(machine, data, row_weights),
        "kl": exact.kullback_leibler(machine, data, row_weights),
    }
    if centred:
        case["moved"] = moved(machine, data, rng)
    cross_check(machine, case)
    return case


def moved(machine, data, rng):
    """The same distribution in other coordinates: new offsets, the biases that go with them, the new log Z."""
    offsets = [draw_offset(rng, machine[side]) for side in ("visible", "hidden")]
    other = recentred(machine, *offsets, rng)
    same = exact.log_likelihood(other, data) - exact.log_likelihood(machine, data)
    assert abs(same).max() < 1e-11
    return {"visible_offset": offsets[0], "hidden_offset": offsets[1], "visible": other["visible"],
            "hidden": other["hidden"], "log_z": exact.log_z(other)}


def cross_check(machine, case):
    """The gradient against differences of log p; p sums to one; Z is the same from either side."""
    numeric = exact.difference_quotients(machine, case["data"], case["row_weights"])
    worst = max(abs(numeric[name] - case["gradient"][name]).max() for name in numeric)
    assert worst < 1e-8, f"{case['name']}: gradient differs by {worst}"
    (v, dv), (h, dh) = exact.states(machine["visible"]), exact.states(machine["hidden"])
    mass = np.exp(exact.log_likelihood(machine, v) + dv).sum()
    other_z = exact.log_sum_exp(exact.log_p_star(machine, h)) + dh
    assert abs(mass - 1) < TOLERANCE and abs(other_z - case["log_z"]) < TOLERANCE
    case["worst"] = worst


def plain(x):
    """Arrays as lists, for JSON; the states of finite units are integers already."""
    if isinstance(x, dict):
        return {k: plain(y) for k, y in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(y) for y in x]
    return x.tolist() if isinstance(x, (np.ndarray, np.generic)) else x


def as_text(case):
    """One line per field: small, and a difference is readable."""
    lines = [f'  "{k}": {json.dumps(plain(v), allow_nan=False, ensure_ascii=False)}' for k, v in case.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def everything():
    """(path, content) of every file, text or bytes."""
    for case in all_cases():
        made = fixture(*case)
        print(f"{made['name']}: gradient agrees with differences to {made.pop('worst'):.0e}", file=sys.stderr)
        yield FIXTURES / f"{made['name']}.json", as_text(made)
    for entry in FILES:
        raw, content = golden(*entry)
        read = safetensors.numpy.load(raw)
        assert np.array_equal(read["weights"], content["weights"])
        yield GOLDEN / f"{entry[0]}.safetensors", raw
        yield GOLDEN / f"{entry[0]}.json", as_text(content)


def alike(a, b):
    """The same structure, and numbers within the tolerance, relative to the larger of the number and one."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= TOLERANCE * max(1.0, abs(b))
    return a == b


def differs(path, content):
    if not path.exists():
        return True
    if isinstance(content, bytes):
        return path.read_bytes() != content
    return not alike(json.loads(content), json.loads(path.read_text(encoding="utf-8")))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="compare, write nothing, exit 1 on a difference")
    check = arguments.parse_args().check
    files = dict(everything())
    stale = [p for d in (FIXTURES, GOLDEN) for p in d.glob("*") if p not in files]
    if check:
        bad = stale + [path for path, content in files.items() if differs(path, content)]
        for path in bad:
            print(f"{path.name} differs", file=sys.stderr)
        return 1 if bad else 0
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for path in stale:
        print(f"{path.name} is not made here", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
