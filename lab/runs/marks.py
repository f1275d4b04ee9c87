"""What a person says of single images and of single answers, kept beside the run that showed them.

`marks.json` in its folder says what is wrong with an image, `relevance.json` which images are right or wrong for which
query, whatever their labels say.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from filelock import FileLock

from lab.core import files
from lab.core.formats import plain_cell
from lab.runs.folder import Run, read_json

KINDS = ("wrong label", "duplicate", "skip")
"""What an image can be marked as."""
FILE = "marks.json"
VERDICTS = ("right", "wrong")
"""What an image can be for a query."""
RELEVANCE = "relevance.json"
LOCK, PATIENCE = ".marks.lock", 10.0
"""Held while a mark is added to those that there are, and the seconds that others wait for it."""


def read(run: Run) -> dict[str, str]:
    """Key of an image to its mark; empty while nothing is marked, or the file cannot be read."""
    return {key: kind for key, kind in read_json(run.path / FILE).items() if kind in KINDS}


@contextmanager
def _changing(run: Run, name: str) -> Iterator[dict[str, Any]]:
    """What a file holds, for a block that changes it: two people may mark at once."""
    path = run.path / name
    with FileLock(run.path / LOCK, timeout=PATIENCE):
        stored = files.read_json(path) if path.exists() else {}  # a damaged one is not written over
        yield stored
        files.write_json(path, stored)


def mark(run: Run, key: str, kind: str | None) -> None:
    """Mark an image, or take its mark back (None).

    Raises:
        ValueError: there is no such mark, or the file of marks cannot be read.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"An image is marked as one of {', '.join(KINDS)}, got {kind!r}.")
    with _changing(run, FILE) as marks:
        marks.pop(key, None)
        if kind is not None:
            marks[key] = kind


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
    return {query: images for query, images in read_json(run.path / RELEVANCE).items() if images}


def judge(run: Run, query: str, key: str, verdict: str | None) -> None:
    """Say that an image is right or wrong for a query, or take it back (None).

    Raises:
        ValueError: there is no such verdict, or the file of verdicts cannot be read.
    """
    if verdict is not None and verdict not in VERDICTS:
        raise ValueError(f"An image is {' or '.join(VERDICTS)} for a query, got {verdict!r}.")
    with _changing(run, RELEVANCE) as known:
        images = known.setdefault(query, {})
        images.pop(key, None)
        if verdict is not None:
            images[key] = verdict


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
