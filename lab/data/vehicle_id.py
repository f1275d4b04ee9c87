"""PKU VehicleID: 26,267 vehicles seen by traffic cameras; test sets of 800, 1,600 and 2,400 vehicles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from lab.core.knobs import knob
from lab.data._lists import rows
from lab.data._published import PublishedSet
from lab.data._table import Table

_VEHICLES = {"small": 800, "medium": 1_600, "large": 2_400}
_IMAGES = {"small": 7_332, "medium": 12_995, "large": 20_038}


class VehicleId(PublishedSet):
    """PKU VehicleID (Liu et al., 2016).

    The official protocol draws one image of each test vehicle into the gallery and queries with the others, again and
    again: repeat the evaluation over several values of `gallery_seed`. The code of RS@k instead searches each test set
    among itself (`random_gallery` off), and so do the recipes of its rows.
    """

    test_size: Literal["small", "medium", "large"] = knob(
        "Test set: 800, 1,600 or 2,400 vehicles.", default="small"
    )
    random_gallery: bool = knob(
        "Put one image of each vehicle into the gallery; otherwise every test image is searched among all others.",
        default=True,
    )
    gallery_seed: int = knob("Random seed of the choice of gallery images.", default=0, ge=0)

    folder = "VehicleID_V1.0"
    needs = ("train_test_split/train_list.txt", "image")
    get = (
        "Ask Peking University's National Engineering Laboratory for Video Technology for VehicleID (PKU VehicleID) "
        "and unpack it, so that VehicleID_V1.0/train_test_split/ and VehicleID_V1.0/image/ lie below the folder you "
        "name."
    )
    variants = tuple({"test_size": size} for size in _VEHICLES)

    @property
    def counts(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """The paper counts 13,134 training vehicles; the list that is handed out has 30 more."""
        size = self.knobs.test_size
        test = ((_VEHICLES[size], _IMAGES[size]),)
        return {"train": ((13_134, 110_178), (13_164, 113_346)), "test": test}

    def _table(self) -> Table:
        table = super()._table()
        if self.knobs.random_gallery:
            table.role = ["query" if split == "test" else "" for split in table.split]
            images: dict[str, list[int]] = {}
            for i in np.flatnonzero(np.array(table.split) == "test").tolist():
                images.setdefault(table.label[i], []).append(i)
            random = np.random.default_rng(self.knobs.gallery_seed)
            for members in images.values():
                table.role[members[random.integers(len(members))]] = "gallery"
        return table

    def _images(self) -> Iterator[tuple[str, ...]]:
        lists = self.root / "train_test_split"
        test = lists / f"test_list_{_VEHICLES[self.knobs.test_size]}.txt"
        if not test.exists():
            raise self._incomplete(f"{lists} lacks {test.name}")
        for split, path in (("train", lists / "train_list.txt"), ("test", test)):
            yield from ((f"image/{image}.jpg", vehicle, split) for image, vehicle in rows(path, 2))
