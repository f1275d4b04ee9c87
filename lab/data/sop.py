"""Stanford Online Products: 120,053 photographs of 22,634 things for sale, in 12 categories."""

from __future__ import annotations

from collections.abc import Iterator

from lab.data._lists import rows
from lab.data._published import PublishedSet


class Sop(PublishedSet):
    """Stanford Online Products (Song et al., 2016), with its own lists; the super-class is the category."""

    folder = "Stanford_Online_Products"
    needs = ("Ebay_train.txt", "Ebay_test.txt")
    get = (
        "Get Stanford_Online_Products.zip from the page of Lifted Structured Feature Embedding at Stanford's CVGL and "
        "unpack it, so that Stanford_Online_Products/Ebay_train.txt lies below the folder you name."
    )
    counts = {"train": ((11_318, 59_551),), "test": ((11_316, 60_502),)}

    columns = "key label split super_class"

    def _images(self) -> Iterator[tuple[str, ...]]:
        for split in ("train", "test"):
            for _, label, _, path in rows(self.root / f"Ebay_{split}.txt", 4, skip=1):
                yield path, label, split, path.split("/")[0].removesuffix("_final")
