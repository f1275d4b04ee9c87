"""Turn the official ground truth of Revisited Oxford or Paris, or of SfM-120k's validation, a pickle, into JSON, once.

    python scripts/convert_revisited.py gnd_roxford5k.pkl    # writes gnd_roxford5k.json beside it
    python scripts/convert_revisited.py retrieval-SfM-120k-val-eccv2020.pkl

A pickle calls what it names. Nobody publishes checksums of these files, so `Plain` knows a stand-in for each name that
arrays need and refuses every other one: nothing in a file can run.
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np


class Array:
    """A numpy array, or its dtype, as a pickle writes it down."""

    def __init__(self, code: object = None, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: tuple) -> None:
        self.state = state

    def tolist(self) -> list:
        """Its numbers in one list."""
        _, _, dtype, _, raw = self.state
        return _stored(dtype, raw)


def scalar(dtype: Array, raw: object) -> float:
    """A single number, as numpy has it written down."""
    return _stored(dtype, raw)[0]


def _stored(dtype: Array, raw: object) -> list:
    if dtype.code not in ("i4", "i8", "f4", "f8") or not isinstance(raw, bytes | str):
        raise TypeError("an array of something else than numbers")
    raw = raw.encode("latin1") if isinstance(raw, str) else raw  # Python 2 wrote bytes as a string
    return np.frombuffer(raw, np.dtype(dtype.state[1] + dtype.code)).tolist()


class Plain(pickle.Unpickler):
    """Reads containers, strings, numbers and arrays."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return Array
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name in (
            "_reconstruct",
            "scalar",
        ):
            return scalar if name == "scalar" else lambda *_: Array()
        if (module, name) == ("_codecs", "encode"):
            return lambda text, _: text.encode("latin1")
        if (module, name) in (("__builtin__", "bytes"), ("builtins", "bytes")):
            return lambda *_: b""  # as Python 2 writes no bytes at all
        raise ValueError(f"it asks for {module}.{name}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "pickle",
        type=Path,
        nargs="+",
        help="gnd_roxford5k.pkl, gnd_rparis6k.pkl or a validation list",
    )
    for path in parser.parse_args().pickle:
        print(f"wrote {convert(path)}")


def convert(path: Path) -> Path:
    """Write the JSON beside the pickle; returns its path.

    Raises:
        ValueError: the file is damaged, is not plain data, or holds no such ground truth.
    """
    try:
        with open(path, "rb") as file:
            read = Plain(file, encoding="latin1").load()
        judged = of_validation(read) if "cids" in read else of_revisited(read)
    except Exception as error:  # damaged pickles fail in any way they like
        raise ValueError(
            f"{path} is not a ground truth of Revisited Oxford or Paris, nor of the validation of Tolias et al.: "
            f"{str(error)[:200]!r}."
        ) from None
    into = path.with_suffix(".json")
    into.write_text(json.dumps(judged))
    return into


def of_revisited(read: Any) -> dict[str, Any]:
    """Names, boxes and three grades."""
    return {
        "imlist": words(read["imlist"]),
        "qimlist": words(read["qimlist"]),
        "gnd": [
            {"bbx": numbers(one["bbx"], float)}
            | {grade: numbers(one[grade], int) for grade in ("easy", "hard", "junk")}
            for one in read["gnd"]
        ],
    }


def of_validation(read: Any) -> dict[str, Any]:
    """Queries by their place among the images; one grade, no boxes."""
    names = words(read["cids"])
    return {
        "imlist": names,
        "qimlist": [names[place] for place in numbers(read["qidx"], int)],
        "gnd": [
            {
                "bbx": None,
                "easy": numbers(one["ok"], int),
                "hard": [],
                "junk": numbers(one.get("junk", []), int),
            }
            for one in read["gnd"]
        ],
    }


def words(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a list of names is none")
    return [str(value) for value in values]


def numbers(values: Any, kind: type) -> list:
    """Of an array or a list; a list of lists could be made to have no end."""
    values = values.tolist() if isinstance(values, Array) else values
    if not isinstance(values, list) or not all(isinstance(value, int | float) for value in values):
        raise TypeError("a list of numbers is none")
    return [kind(value) for value in values]


if __name__ == "__main__":
    main()
