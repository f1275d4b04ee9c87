"""CUB-200-2011: 11,788 photographs of 200 kinds of birds; the first 100 train, the others test."""

from __future__ import annotations

from lab.core import tables
from lab.data._lists import rows
from lab.data._published import PublishedSet
from lab.data._table import Table


class Cub200(PublishedSet):
    """Caltech-UCSD Birds (Wah et al., 2011), in the halves of Song et al. (2016): classes 1-100 train, 101-200 test.

    A file `hierarchy.csv` of your own in its folder, with the columns class_id, family and order, adds the two coarser
    levels of Contextual, table 9: orders become super-classes, both become attributes.
    """

    folder = "CUB_200_2011"
    needs = ("images.txt", "image_class_labels.txt", "classes.txt", "images")
    get = (
        "Get CUB_200_2011.tgz from the data set's page at Caltech (CUB-200-2011 in CaltechDATA) and unpack it, so that "
        "CUB_200_2011/images.txt lies below the folder you name."
    )
    counts = {"train": ((100, 5_864),), "test": ((100, 5_924),)}

    def _table(self) -> Table:
        names = dict(rows(self.root / "classes.txt", 2))
        class_of = dict(rows(self.root / "image_class_labels.txt", 2))
        levels = self._levels()
        table = Table(split=[], super_class=[] if levels else None)
        for image, path in rows(self.root / "images.txt", 2):
            number = class_of.get(image)
            if number not in names:
                raise ValueError(
                    f"{self.root / 'image_class_labels.txt'} gives image {image} no class of classes.txt."
                )
            table.key.append(f"images/{path}")
            table.label.append(names[number])
            table.split.append("train" if int(number) <= 100 else "test")
            if levels:
                table.super_class.append(levels[number]["order"])
                for level in ("family", "order"):
                    table.attributes.setdefault(level, []).append(levels[number][level])
        return table

    def _levels(self) -> dict[str, dict[str, str]]:
        path = self.root / "hierarchy.csv"
        if not path.exists():
            return {}
        columns = tables.read_text(path).columns
        rows_of_table = zip(
            *(columns.get(name, []) for name in ("class_id", "family", "order")), strict=False
        )
        levels = {}
        for number, family, order in rows_of_table:
            if family and order:
                levels[number] = {"family": family, "order": order}
        lacking = [
            number for number, _ in rows(self.root / "classes.txt", 2) if number not in levels
        ]
        if lacking:
            raise ValueError(
                f"{path} has no class_id, family and order for class {lacking[0]} and {len(lacking) - 1} others."
            )
        return levels
