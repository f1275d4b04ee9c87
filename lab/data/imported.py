"""The images of an imported run, or items without a picture: split by class, so that a head can be trained on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lab.core import stored
from lab.core.explain import explain
from lab.core.image_list import ImageList
from lab.core.knobs import knob
from lab.data._base import BundledSplitKnobs, ImageRecords
from lab.data._splits import class_disjoint
from lab.data.images.listing import OfList, read_list


class Imported(BundledSplitKnobs, OfList):
    """What a run of `lab import` or `lab embed` lists. Splits that it has besides test stay; else its classes are
    shared out by seed, and no class is in two splits.

    Raises:
        ValueError: there is no such run, or it lists no images.
    """

    _root: str = knob("Folder of the run.", path=True, alias="root")

    def _read(self) -> ImageRecords:
        folder = Path(self.knobs.root).expanduser()
        try:
            self.root, records = read_list(
                stored.read(folder / "images.json", ImageList, stored.MOST_LISTED)
            )
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{folder} is no run that lists its images (images.json: {explain(error)}); name one that `lab import` "
                "or `lab embed` made."
            ) from None
        if "train" in records.splits:
            return records
        knobs = self.knobs
        return replace(
            records,
            splits=class_disjoint(records.labels, knobs.split_seed, knobs.test, knobs.validation),
        )
