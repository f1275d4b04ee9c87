"""Turn the official ground truth of Revisited Oxford or Paris, or of SfM-120k's validation, a pickle, into JSON, once.

    python scripts/convert_revisited.py gnd_roxford5k.pkl    # writes gnd_roxford5k.json beside it
    python scripts/convert_revisited.py retrieval-SfM-120k-val-eccv2020.pkl

Only plain data is read from the pickle (containers, strings, numbers, numpy arrays): nothing in it can run.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from lab.data import _plain_pickle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pickle", type=Path, nargs="+", help="gnd_roxford5k.pkl, gnd_rparis6k.pkl or a validation list")
    for path in parser.parse_args().pickle:
        print(f"wrote {convert(path)}")


def convert(path: Path) -> Path:
    """Write the JSON beside the pickle; returns its path.

    Raises:
        ValueError: the file is damaged, is not plain data, or holds no such ground truth.
    """
    read = _plain_pickle.load(path)
    try:
        judged = of_validation(read) if "cids" in read else of_revisited(read)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{path} is not a ground truth of Revisited Oxford or Paris, nor of the validation of Tolias et al.: "
            f"{error!r}."
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
            {"bbx": None, "easy": numbers(one["ok"], int), "hard": [], "junk": numbers(one.get("junk", []), int)}
            for one in read["gnd"]
        ],
    }


def words(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a list of names is none")
    return [str(value) for value in values]


def numbers(values: Any, kind: type) -> list:
    """Of an array or a list; a list of lists could be made to have no end."""
    values = values.reshape(-1).tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(values, list) or not all(isinstance(value, int | float | np.number) for value in values):
        raise TypeError("a list of numbers is none")
    return [kind(value) for value in values]


if __name__ == "__main__":
    main()
