"""What a person says of single images and of single answers, kept beside the run that showed them.

`marks.json` in its folder says what is wrong with an image, `relevance.json` which images are right or wrong for which
query, whatever their labels say.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from lab.core.files import write_json
from lab.core.formats import plain_cell
from lab.runs import lock
from lab.runs.folder import Run, read_json

KINDS = ("wrong label", "duplicate", "skip")
"""What an image can be marked as."""
FILE = "marks.json"
VERDICTS = ("right", "wrong")
"""What an image can be for a query."""
RELEVANCE = "relevance.json"
LOCK = ".marks.lock"
"""Held while a mark is added to those that there are: two people may mark at once."""


def read(run: Run) -> dict[str, str]:
    """Key of an image to its mark; empty while nothing is marked."""
    marks = read_json(run.path / FILE) or {}
    return {str(key): kind for key, kind in marks.items() if kind in KINDS}


def mark(run: Run, key: str, kind: str | None) -> None:
    """Mark an image, or take its mark back (None).

    Raises:
        ValueError: there is no such mark.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"An image is marked as one of {', '.join(KINDS)}, got {kind!r}.")
    with lock.alone(run.path, LOCK):
        marks = read(run)
        marks.pop(key, None)
        write_json(run.path / FILE, marks | ({} if kind is None else {key: kind}))


def as_csv(marks: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """The marks as a table with the columns image, label, mark, safe to open in a spreadsheet.

    Args:
        labels: key of an image to the name of its class.
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["image", "label", "mark"])
    table.writerows([plain_cell(key), plain_cell(labels.get(key, "")), kind] for key, kind in sorted(marks.items()))
    return out.getvalue()


def verdicts(run: Run) -> dict[str, dict[str, str]]:
    """Key of a query to key of an image to what a person says of it."""
    read_of = {
        str(query): {str(key): verdict for key, verdict in images.items() if verdict in VERDICTS}
        for query, images in (read_json(run.path / RELEVANCE) or {}).items()
        if isinstance(images, dict)
    }
    return {query: images for query, images in read_of.items() if images}


def judge(run: Run, query: str, key: str, verdict: str | None) -> None:
    """Say that an image is right or wrong for a query, or take it back (None).

    Raises:
        ValueError: there is no such verdict.
    """
    if verdict is not None and verdict not in VERDICTS:
        raise ValueError(f"An image is {' or '.join(VERDICTS)} for a query, got {verdict!r}.")
    with lock.alone(run.path, LOCK):
        known = verdicts(run)
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
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["query", "query_label", "image", "label", "verdict"])
    for query, images in sorted(known.items()):
        for key, verdict in sorted(images.items()):
            table.writerow([*map(plain_cell, (query, labels.get(query, ""), key, labels.get(key, ""))), verdict])
    return out.getvalue()
