"""Read pickles that hold plain data only: containers, strings, numbers, numpy arrays. Nothing in them can run."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

_HARMLESS = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("_codecs", "encode"),
    ("__builtin__", "bytes"),
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _HARMLESS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not plain data")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def load(path: Path) -> Any:
    """The content of a pickle; strings of Python 2 are read as Latin-1.

    Raises:
        ValueError: the file is damaged, or asks for anything but plain data.
    """
    try:
        with path.open("rb") as file:
            return _PlainUnpickler(file, encoding="latin1").load()
    except Exception as error:  # damaged pickles fail in any way they like
        raise ValueError(f"{path} is damaged or not plain data: {error}.") from None
