"""In-Shop Clothes Retrieval (DeepFashion): 7,982 garments; some photographs of each are queries, others the gallery."""

from __future__ import annotations

from pathlib import Path

from lab.data._published import PublishedSet, rows
from lab.data._table import Table

_PARTS = {"train": ("train", ""), "query": ("test", "query"), "gallery": ("test", "gallery")}


class InShop(PublishedSet):
    """DeepFashion's In-Shop benchmark (Liu et al., 2016); the super-class is the kind of garment, `WOMEN/Dresses`."""

    folder = "In-shop Clothes Retrieval Benchmark"
    needs = ()
    get = (
        "Ask for access on the DeepFashion page of CUHK's Multimedia Lab (In-shop Clothes Retrieval Benchmark), unpack "
        "img.zip, and name the folder that holds img/ and Eval/list_eval_partition.txt."
    )
    counts = {"train": ((3_997, 25_882),), "query": ((3_985, 14_218),), "gallery": ((3_985, 12_612),)}

    def _table(self) -> Table:
        listed = self._find("Eval/list_eval_partition.txt", "list_eval_partition.txt")
        prefix = self._find("img", "Img/img").relative_to(self.root).parent.as_posix()
        table = Table(split=[], role=[], super_class=[])
        for path, item, part in rows(listed, 3, skip=2):
            if part not in _PARTS:
                raise ValueError(f"{listed}: {path} is {part!r}, not one of {', '.join(_PARTS)}.")
            split, role = _PARTS[part]
            table.key.append(path if prefix == "." else f"{prefix}/{path}")
            table.label.append(item)
            table.split.append(split)
            table.role.append(role)
            table.super_class.append("/".join(path.split("/")[1:3]))
        return table

    def _find(self, *places: str) -> Path:
        path = next((self.root / place for place in places if (self.root / place).exists()), None)
        if path is None:
            raise ValueError(f"{self.name} is not complete: {self.root} lacks {places[0]}. {self.get}")
        return path
