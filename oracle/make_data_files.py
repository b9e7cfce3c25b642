"""Writes the small data files that the readers are tried on, with the libraries that users write them with.

    pip install numpy h5py pandas pyarrow polars
    python oracle/make_data_files.py

The tests know the numbers by their formulas, which stand here and there.
"""

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

OUT = Path(__file__).parent.parent / "crates/harmonium/tests/fixtures/data"

# Seven rows of six zeros and ones.
BITS = np.fromfunction(lambda r, c: ((r * 5 + c * 3) % 4 < 2), (7, 6)).astype(np.uint8)


def parquet():
    pd.DataFrame(BITS, columns=list("abcdef")).to_parquet(OUT / "bits.parquet")
    # Two groups of rows, numbers that are lists of one length.
    lists = pa.table({"x": pa.array(BITS.astype(float).tolist(), pa.list_(pa.float64()))})
    pq.write_table(lists, OUT / "lists.parquet", row_group_size=4, compression="zstd")
    ragged = pa.table({"x": pa.array([[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]])})
    pq.write_table(ragged, OUT / "ragged.parquet")
    # Every type of number, missing ones, what is no number, and the index that pandas adds.
    r = np.arange(5)
    types = pd.DataFrame({
        "truth": r % 2 == 0,
        "small": (r - 2).astype(np.int8),
        "large": np.uint64(2**63) + r.astype(np.uint64),
        "u32": np.uint32(2**32 - 1) - r.astype(np.uint32),
        "i64": -(10**12) * r,
        "single": (r / 4).astype(np.float32),
        "double": r / 3,
        "missing": [0.5, None, 1.5, None, 2.5],
        "name": ["a", "b", "a", "b", "c"],
        "category": pd.Categorical([3, 5, 3, 5, 3]),
        "day": pd.to_datetime(["2020-01-01"] * 5),
    }, index=[10, 20, 30, 40, 50])
    types["absent"] = pd.array([1, None, 3, None, 5], dtype="Int64")
    types.to_parquet(OUT / "types.parquet", compression="gzip")
    pl.DataFrame({"p": r / 8, "q": r}).write_parquet(OUT / "polars.parquet")


def hdf5():
    with h5py.File(OUT / "bits.h5", "w") as f:
        f.create_dataset("x", data=BITS, chunks=(3, 4), compression="gzip", shuffle=True)
        f["labels"] = np.arange(7)
    with h5py.File(OUT / "many.h5", "w", libver="latest") as f:
        f["truth"] = BITS.astype(bool)
        f["deep/er/big"] = (BITS * 1.5).astype(">f4")
        f["half"] = (BITS / 2).astype("f2")
        f["long"] = -BITS.astype(np.int64)
        f["images"] = BITS.reshape(7, 2, 3).astype(np.uint16)
        f["text"] = ["a", "b"]
    with h5py.File(OUT / "none.h5", "w") as f:
        f["labels"] = np.arange(7)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    parquet()
    hdf5()
