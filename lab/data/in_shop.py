"""In-Shop Clothes Retrieval (DeepFashion): 7,982 garments; some photographs of each are queries, others the gallery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lab.data._lists import rows
from lab.data._published import PublishedSet

_PARTS = {"train": ("train", ""), "query": ("test", "query"), "gallery": ("test", "gallery")}


class InShop(PublishedSet):
    """DeepFashion's In-Shop benchmark (Liu et al., 2016); the super-class is the kind of garment, `WOMEN/Dresses`."""

    folder = "In-shop Clothes Retrieval Benchmark"
    needs = ()
    get = (
        "Ask for access on the DeepFashion page of CUHK's Multimedia Lab (In-shop Clothes Retrieval Benchmark), unpack "
        "img.zip, and name the folder that holds img/ and Eval/list_eval_partition.txt."
    )
    counts = {
        "train": ((3_997, 25_882),),
        "query": ((3_985, 14_218),),
        "gallery": ((3_985, 12_612),),
    }

    columns = "key label super_class split role"

    def _images(self) -> Iterator[tuple[str, ...]]:
        listed = self._find("Eval/list_eval_partition.txt", "list_eval_partition.txt")
        prefix = self._find("img", "Img/img").relative_to(self.root).parent.as_posix()
        for path, item, part in rows(listed, 3, skip=2):
            if part not in _PARTS:
                raise ValueError(f"{listed}: {path} is {part!r}, not one of {', '.join(_PARTS)}.")
            key = path if prefix == "." else f"{prefix}/{path}"
            yield key, item, "/".join(path.split("/")[1:3]), *_PARTS[part]

    def _find(self, *places: str) -> Path:
        for place in places:
            if (self.root / place).exists():
                return self.root / place
        raise self._incomplete(f"{self.root} lacks {places[0]}")
