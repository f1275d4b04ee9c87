"""What a person says of single images and of single answers, kept beside the run that showed them.

`marks.json` in its folder says what is wrong with an image, `relevance.json` which images are right or wrong for which
query, whatever their labels say.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from lab.core.files import read_json, write_json
from lab.core.formats import plain_cell
from lab.runs import lock
from lab.runs.folder import Run

KINDS = ("wrong label", "duplicate", "skip")
"""What an image can be marked as."""
FILE = "marks.json"
VERDICTS = ("right", "wrong")
"""What an image can be for a query."""
RELEVANCE = "relevance.json"
LOCK = ".marks.lock"
"""Held while a mark is added to those that there are: two people may mark at once."""


def read(run: Run) -> dict[str, str]:
    """Key of an image to its mark; empty while nothing is marked, or the file cannot be read."""
    try:
        return _marks(run)
    except (OSError, ValueError):
        return {}


def _marks(run: Run) -> dict[str, str]:
    return {key: kind for key, kind in _stored(run, FILE).items() if kind in KINDS}


def _stored(run: Run, name: str) -> dict[str, Any]:
    path = run.path / name
    return read_json(path) if path.exists() else {}


def mark(run: Run, key: str, kind: str | None) -> None:
    """Mark an image, or take its mark back (None).

    Raises:
        ValueError: there is no such mark, or the file of marks cannot be read.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"An image is marked as one of {', '.join(KINDS)}, got {kind!r}.")
    with lock.alone(run.path, LOCK):
        marks = _marks(run)
        marks.pop(key, None)
        write_json(run.path / FILE, marks | ({} if kind is None else {key: kind}))


def as_csv(marks: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """The marks as a table with the columns image, label, mark, safe to open in a spreadsheet.

    Args:
        labels: key of an image to the name of its class.
    """
    return _as_csv(
        ["image", "label", "mark"], ([key, labels.get(key, ""), kind] for key, kind in sorted(marks.items()))
    )


def verdicts(run: Run) -> dict[str, dict[str, str]]:
    """Key of a query to key of an image to what a person says of it; empty where the file cannot be read."""
    try:
        return _verdicts(run)
    except (OSError, ValueError):
        return {}


def _verdicts(run: Run) -> dict[str, dict[str, str]]:
    known = {
        query: {key: verdict for key, verdict in images.items() if verdict in VERDICTS}
        for query, images in _stored(run, RELEVANCE).items()
        if isinstance(images, dict)
    }
    return {query: images for query, images in known.items() if images}


def judge(run: Run, query: str, key: str, verdict: str | None) -> None:
    """Say that an image is right or wrong for a query, or take it back (None).

    Raises:
        ValueError: there is no such verdict, or the file of verdicts cannot be read.
    """
    if verdict is not None and verdict not in VERDICTS:
        raise ValueError(f"An image is {' or '.join(VERDICTS)} for a query, got {verdict!r}.")
    with lock.alone(run.path, LOCK):
        known = _verdicts(run)
        images = known.setdefault(query, {})
        images.pop(key, None)
        if verdict is not None:
            images[key] = verdict
        write_json(run.path / RELEVANCE, {one: kind for one, kind in known.items() if kind})


def verdicts_as_csv(known: Mapping[str, Mapping[str, str]], labels: Mapping[str, str]) -> str:
    """The verdicts as a table with the columns query, query_label, image, label, verdict, safe in a spreadsheet.

    Args:
        labels: key of an image to the name of its class.
    """
    return _as_csv(
        ["query", "query_label", "image", "label", "verdict"],
        (
            [query, labels.get(query, ""), key, labels.get(key, ""), verdict]
            for query, images in sorted(known.items())
            for key, verdict in sorted(images.items())
        ),
    )


def _as_csv(names: list[str], rows: Iterable[list[str]]) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(names)
    table.writerows([*map(plain_cell, row)] for row in rows)
    return out.getvalue()
