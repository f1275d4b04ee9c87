"""Food-101: 101,000 photographs of 101 dishes, 750 of each for training and 250 for testing."""

from __future__ import annotations

from collections.abc import Iterator

from lab.data._lists import rows
from lab.data._published import Archive, ClosedSet


class Food101(ClosedSet):
    """Food-101 (Bossard et al., 2014), official split; tests on the dishes it trains on, as in CAM."""

    folder = "food-101"
    needs = ("meta/train.txt", "meta/test.txt", "images")
    get = (
        "Fetch it with `lab list data food101 PATH --download`, or get food-101.tar.gz from its page at ETH Zurich and "
        "unpack it, so that food-101/meta/train.txt lies below the folder you name."
    )
    counts = {"train": ((101, 75_750),), "test": ((101, 25_250),)}

    def _images(self) -> Iterator[tuple[str, ...]]:
        for split in ("train", "test"):
            for (name,) in rows(self.root / "meta" / f"{split}.txt", 1):
                yield f"images/{name.strip()}.jpg", name.split("/")[0], split

    @classmethod
    def archives(cls) -> tuple[Archive, ...]:
        """Return the archive and its MD5 as torchvision lists them."""
        from torchvision.datasets import Food101 as Listed

        return (Archive(Listed._URL, "food-101.tar.gz", Listed._MD5, unpack=True),)
