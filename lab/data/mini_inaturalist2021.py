"""mini-iNaturalist-2021: 50 photographs of each of 10,000 species."""

from __future__ import annotations

from typing import Any

from lab.data._lists import read_json
from lab.data._published import PublishedSet
from lab.data._table import Table

_RANKS = ("kingdom", "phylum", "class", "order", "family", "genus")


class MiniINaturalist2021(PublishedSet):
    """The mini training set of the 2021 challenge (Contextual, section 5): one half of the species trains, one tests.

    The super-class is the challenge's (Birds, Plants, ...); the ranks of the taxonomy are attributes.
    """

    folder = "inaturalist2021"
    needs = ("train_mini.json",)
    get = (
        "Get train_mini.tar.gz and train_mini.json.tar.gz from the iNaturalist 2021 challenge (inat_comp) and unpack "
        "both into the folder you name, so that it holds train_mini/ and train_mini.json."
    )
    counts = {"train": ((5_000, 250_000),), "test": ((5_000, 250_000),)}

    def _table(self) -> Table:
        return read_json(self.root / "train_mini.json", "in the layout of the challenge", _table_of)


def _table_of(listed: Any) -> Table:
    species = sorted(listed["categories"], key=lambda one: one["id"])
    by_id = {one["id"]: one for one in species}
    training = {one["id"] for one in species[: len(species) // 2]}
    file_of = {image["id"]: image["file_name"] for image in listed["images"]}
    images = [(file_of[one["image_id"]], by_id[one["category_id"]]) for one in listed["annotations"]]
    images.sort(key=lambda pair: (pair[1]["id"], pair[0]))
    return Table(
        key=[file for file, _ in images],
        label=[one["name"] for _, one in images],
        split=["train" if one["id"] in training else "test" for _, one in images],
        super_class=[one["supercategory"] for _, one in images],
        attributes={rank: [one.get(rank, "") for _, one in images] for rank in _RANKS},
    )
