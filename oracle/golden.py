"""A model file is u64 header length, JSON header, tensor data: the safetensors layout, written byte by byte."""

import hashlib
import json

import numpy as np

from cases import draw_machine, draw_data, generator
from exact import TENSORS, log_likelihood, log_z, tensor

FILES = [("v1-bernoulli-bernoulli", "bernoulli", "bernoulli", "F32"),
         ("v1-gaussian-goodfellow-bernoulli", "gaussian-goodfellow", "bernoulli", "F64"),
         ("v1-potts-spin", "potts3", "spin", "F64")]
NUMPY = {"F32": "<f4", "F64": "<f8"}


def sized(text):
    raw = text.encode()
    return len(raw).to_bytes(8, "little") + raw


def place(info):
    """Where a tensor stands: dtype, shape, first and last byte, as in "F32 [4,3] 0 48"."""
    shape = ",".join(str(n) for n in info["shape"])
    return f"{info['dtype']} [{shape}] {info['data_offsets'][0]} {info['data_offsets'][1]}"


def digest(metadata, tensors, data):
    """SHA-256 over every other key and value, then every tensor's name and place, each behind its byte length, in key
    order, then the data."""
    table = {name: place(info) for name, info in tensors.items()}
    text = b"".join(sized(key) + sized(pairs[key]) for pairs in (metadata, table) for key in sorted(pairs, key=str.encode))
    return "sha256:" + hashlib.sha256(text + data).hexdigest()


def file_bytes(tensors, metadata, dtype):
    data, header = b"", {}
    for name in sorted(tensors, key=str.encode):
        raw = tensors[name].astype(NUMPY[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(tensors[name].shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    header["__metadata__"] = metadata | {"digest": digest(metadata, header, data)}
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def layer_metadata(machine):
    pairs = {"format": "harmonium", "version": "1"}
    for side in ("visible", "hidden"):
        for key in ("kind", "coupling", "states"):
            if key in machine[side]:
                pairs[f"{side}.{key}"] = str(machine[side][key])
    return pairs


def golden(name, visible, hidden, dtype):
    """The bytes of one golden file and the same content as a JSON object."""
    rng, full = generator(name), "goodfellow" in name
    machine = draw_machine(rng, visible, hidden, full)
    if dtype == "F32":  # the JSON holds the stored numbers, not the ones they were rounded from
        machine["weights"] = machine["weights"].astype(np.float32).astype(float)
        for side in ("visible", "hidden"):
            machine[side]["bias"] = machine[side]["bias"].astype(np.float32).astype(float)
    names = TENSORS + ["visible.offset", "hidden.offset"]
    tensors = {n: tensor(machine, n) for n in names if tensor(machine, n) is not None}
    data, _ = draw_data(rng, machine["visible"])
    content = {"name": name, "dtype": dtype, **machine, "log_z": log_z(machine), "shift": None, "scale": None,
               "about": {}, "data": data, "log_likelihood": log_likelihood(machine, data)}
    if full:
        content["shift"], content["scale"] = np.array([0.25, -1.5]), np.array([2.0, 0.75])
        content["about"] = {"note": "a golden file: σ² = exp(log_variance)"}
        tensors |= {"data.shift": content["shift"], "data.scale": content["scale"]}
        prepared = (data - content["shift"]) / content["scale"]
        content["log_likelihood"] = log_likelihood(machine, prepared) - np.log(content["scale"]).sum()
    metadata = layer_metadata(machine) | {f"about.{k}": v for k, v in content["about"].items()}
    return file_bytes(tensors, metadata, dtype), content
