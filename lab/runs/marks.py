"""What a person found wrong with single images, kept beside the run that showed it: `marks.json` in its folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from lab.core import sealed
from lab.runs.folder import Run

KINDS = ("wrong label", "duplicate", "skip")
"""What an image can be marked as."""
FILE = "marks.json"


def read(run: Run) -> dict[str, str]:
    """Key of an image to its mark; empty while nothing is marked, and of a damaged file only what can be read."""
    try:
        told, _ = sealed.read(run.path / FILE)
        return {str(key): kind for key, kind in told.items() if kind in KINDS}
    except (OSError, ValueError, AttributeError):
        return {}


def mark(run: Run, key: str, kind: str | None) -> None:
    """Mark an image, or take its mark back (None).

    Raises:
        ValueError: there is no such mark.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"An image is marked as one of {', '.join(KINDS)}, got {kind!r}.")
    marks = read(run)
    marks.pop(key, None)
    sealed.write(run.path / FILE, marks | ({} if kind is None else {key: kind}))


def as_csv(marks: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """The marks as a table with the columns image, label, mark. labels: key of an image to the name of its class."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["image", "label", "mark"])
    table.writerows([key, labels.get(key, ""), kind] for key, kind in sorted(marks.items()))
    return out.getvalue()
