"""Google Landmarks, first version (2018): a million photographs of landmarks, for training instance search."""

from __future__ import annotations

import csv
import os

from lab.data._published import PublishedSet
from lab.data._table import Table

_NAMED = 20
"""Missing images that are named one by one; more are counted."""


class GoogleLandmarksV1(PublishedSet):
    """GLDv1 (Noh et al., 2017), its training part; RS@k tests on Revisited Oxford and Paris.

    Its list names addresses, many of which are gone: images that are not there are left out and told.
    """

    folder = "google-landmarks-v1"
    needs = ("train.csv", "train")
    get = (
        "Get train.csv (columns id, url, landmark_id) of the Google Landmarks Dataset of 2018 from its page at Kaggle, "
        "fetch the images that it lists, and put them at train/ID.jpg beside it, in the folder you name."
    )
    counts = {"train": ((12_894, 1_060_709), (14_951, 1_225_029))}
    """What 000 still found, and what was published."""

    def _table(self) -> Table:
        table, absent = Table(split=[]), []
        there = {entry.name for entry in os.scandir(self.root / "train")}
        with open(self.root / "train.csv", newline="", encoding="utf-8") as file:
            listed = csv.DictReader(file)
            missing = {"id", "landmark_id"} - set(listed.fieldnames or ())
            if missing:
                raise ValueError(f"{self.root / 'train.csv'} lacks the columns {', '.join(sorted(missing))}.")
            for row in listed:
                name = f"{row['id']}.jpg"
                if name not in there or not (row["landmark_id"] or "").isdigit():
                    absent.append(self.root / "train" / name)
                    continue
                table.key.append(f"train/{name}")
                table.label.append(row["landmark_id"])
                table.split.append("train")
        if not len(table):
            raise ValueError(f"{self.name} is not complete: {self.root / 'train'} holds no listed image. {self.get}")
        if len(absent) > _NAMED:
            count = f"{len(absent):,} of {len(absent) + len(table):,} listed images are"
            table.problems.append(f"{count} missing and left out, for instance {absent[0]}.")
        else:
            table.problems += [f"{path} is missing." for path in absent]
        return table
