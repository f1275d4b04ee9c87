"""Google Landmarks, first version (2018): a million photographs of landmarks, for training instance search."""

from __future__ import annotations

import os

from lab.core import tables
from lab.data._published import PublishedSet
from lab.data._table import Table

_NAMED = 20
"""Missing images that are listed one by one; if there are more, they are counted."""


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
    """Counts of the images that the authors of RS@k could still fetch, and of those that were published."""

    def _table(self) -> Table:
        listed = tables.read_text(self.root / "train.csv").columns
        missing = {"id", "landmark_id"} - listed.keys()
        if missing:
            raise ValueError(
                f"{self.root / 'train.csv'} lacks the columns {', '.join(sorted(missing))}."
            )
        table = Table(split=[])
        absent = []
        existing = {entry.name for entry in os.scandir(self.root / "train")}
        for name, label in zip(listed["id"], listed["landmark_id"], strict=True):
            if f"{name}.jpg" in existing and label.isdigit():
                table.key.append(f"train/{name}.jpg")
                table.label.append(label)
                table.split.append("train")
            else:
                absent.append(self.root / f"train/{name}.jpg")
        if not len(table):
            raise self._incomplete(f"{self.root / 'train'} holds no listed image")
        if len(absent) > _NAMED:
            count = f"{len(absent):,} of {len(listed['id']):,} listed images are"
            table.problems.append(f"{count} missing and left out, for instance {absent[0]}.")
        else:
            table.problems += [f"{path} is missing." for path in absent]
        return table
