"""Turn the official ground truth of Revisited Oxford or Paris, a pickle, into JSON, once.

    python scripts/convert_revisited.py gnd_roxford5k.pkl    # writes gnd_roxford5k.json beside it

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
    parser.add_argument("pickle", type=Path, nargs="+", help="gnd_roxford5k.pkl or gnd_rparis6k.pkl")
    for path in parser.parse_args().pickle:
        print(f"wrote {convert(path)}")


def convert(path: Path) -> Path:
    """Write the JSON beside the pickle; returns its path.

    Raises:
        ValueError: the file is damaged, is not plain data, or holds no such ground truth.
    """
    read = _plain_pickle.load(path)
    try:
        judged = {
            "imlist": [str(name) for name in read["imlist"]],
            "qimlist": [str(name) for name in read["qimlist"]],
            "gnd": [
                {"bbx": [float(x) for x in one["bbx"]]}
                | {grade: integers(one[grade]) for grade in ("easy", "hard", "junk")}
                for one in read["gnd"]
            ],
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a ground truth of Revisited Oxford or Paris: {error!r}.") from None
    into = path.with_suffix(".json")
    into.write_text(json.dumps(judged))
    return into


def integers(values: Any) -> list[int]:
    return np.asarray(values, dtype=np.int64).reshape(-1).tolist()


if __name__ == "__main__":
    main()
