"""The names of images in a table of a person's, such as the marks of a run."""

from __future__ import annotations

import csv
from pathlib import Path

from lab.core.files import checked

LARGEST = 64_000_000
"""Bytes of a table that is read."""


def listed_images(file: Path) -> frozenset[str]:
    """What stands in the column `image` of a CSV file.

    Raises:
        ValueError: there is no such file, or it is no table with that column.
    """
    try:
        if checked(file).stat().st_size > LARGEST:
            raise ValueError(f"{file} is larger than {LARGEST / 1e6:.0f} MB, too large for a list of images.")
        with open(file, encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, strict=True)
            if "image" not in (rows.fieldnames or ()):
                raise ValueError(f"{file} has no column image, which data.leave_out needs.")
            return frozenset(row["image"] for row in rows if row["image"])
    except OSError as error:
        raise ValueError(
            f"data.leave_out names {file}, which cannot be read: {error.strerror or error}. Give another file, or none."
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file} is no CSV file in UTF-8 ({error}).") from None
