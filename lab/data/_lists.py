"""Readers of the lists that data sets come with: lines, JSON, MATLAB; errors name the file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.core.files import checked


def md5_of(path: Path) -> str:
    """Return the MD5 of a file's content."""
    digest = hashlib.md5(usedforsecurity=False)
    with checked(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def rows(path: Path, columns: int, skip: int = 0) -> list[list[str]]:
    """Return the lines of a list, split at blanks, without empty lines and the first `skip`.

    Raises:
        ValueError: a line has another number of columns, or the file is no text or no file; names file and line.
    """
    try:
        lines = checked(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}.") from None
    table = []
    for number, line in enumerate(lines, start=1):
        cells = line.split(maxsplit=columns - 1)
        if number <= skip or not cells:
            continue
        if len(cells) != columns:
            raise ValueError(
                f"{path}, line {number}: {len(cells)} columns instead of {columns}: {line[:80]!r}."
            )
        table.append(cells)
    if not table:
        raise ValueError(f"{path} is empty.")
    return table


def read_json(path: Path, what: str, take: Callable[[Any], Any]) -> Any:
    """Read a JSON file and return what `take` extracts from it.

    Raises:
        ValueError: it is not JSON, or `take` misses something in it, so that it is not `what`.
    """
    try:
        return take(json.loads(checked(path).read_text(encoding="utf-8")))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not JSON, or is damaged: {error}.") from None
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{path} is not {what}: {error}.") from None


def read_mat(path: Path, take: Callable[[dict[str, Any]], Any], simplify: bool = False) -> Any:
    """Read a MATLAB file and return what `take` extracts from its variables; `simplify`: structures as dicts.

    Raises:
        ValueError: it is no such file, or lacks a variable.
    """
    from scipy.io import loadmat

    try:
        return take(loadmat(checked(path), simplify_cells=simplify))
    except KeyError as error:
        raise ValueError(f"{path} holds no {error.args[0]}.") from None
    except Exception as error:  # the reader trips over damaged bytes in many ways
        raise ValueError(f"{path} is not a MATLAB file, or is damaged: {error}.") from None
