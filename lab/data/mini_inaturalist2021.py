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
    species = sorted(listed["categories"], key=_identity)
    by_id = {entry["id"]: entry for entry in species}
    training = {entry["id"] for entry in species[: len(species) // 2]}
    file_of = {image["id"]: image["file_name"] for image in listed["images"]}
    images = []
    for annotation in listed["annotations"]:
        images.append((annotation["category_id"], file_of[annotation["image_id"]]))
    table = Table(split=[], super_class=[], attributes={rank: [] for rank in _RANKS})
    for number, file in sorted(images):
        entry = by_id[number]
        table.key.append(file)
        table.label.append(entry["name"])
        table.split.append("train" if number in training else "test")
        table.super_class.append(entry["supercategory"])
        for rank in _RANKS:
            table.attributes[rank].append(entry.get(rank, ""))
    return table


def _identity(entry: Any) -> Any:
    return entry["id"]
