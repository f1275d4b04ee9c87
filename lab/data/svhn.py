"""SVHN: 99,289 house numbers cut to single digits of 32 x 32 pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.data._lists import read_mat
from lab.data._published import Archive, InMemory
from lab.data._table import Table


class Svhn(InMemory):
    """Street View House Numbers (Netzer et al., 2011), cropped digits; tests on the digits it trains on, as in CAM."""

    folder = "svhn"
    needs = ("train_32x32.mat", "test_32x32.mat")
    get = (
        "Fetch it with `lab list data svhn PATH --download`, or get train_32x32.mat and test_32x32.mat from Stanford's "
        "page of The Street View House Numbers and put them in the folder you name."
    )
    counts = {"train": ((10, 73_257),), "test": ((10, 26_032),)}

    def _table(self) -> Table:
        table = Table(split=[])
        pixels = []
        for split in ("train", "test"):
            images, digits = read_mat(self.root / f"{split}_32x32.mat", _images_and_digits)
            pixels.append(images)
            table.key += [f"{split}/{number:05d}" for number in range(len(digits))]
            # the files call the digit 0 ten
            table.label += [str(digit % 10) for digit in digits.tolist()]
            table.split += [split] * len(digits)
        self._pixels = np.concatenate(pixels)
        return table

    @classmethod
    def archives(cls) -> tuple[Archive, ...]:
        """Return the archives and their MD5 as torchvision lists them."""
        from torchvision.datasets import SVHN

        return tuple(Archive(*SVHN.split_list[split], unpack=False) for split in ("train", "test"))

    def checksums(self) -> dict[str, str]:
        """Return the MD5 of both files."""
        return {archive.file: archive.md5 for archive in self.archives()}


def _images_and_digits(stored: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return images, uint8 [n 32 32 3], and digits, int64 [n]."""
    images = stored["X"].transpose(3, 0, 1, 2)
    digits = stored["y"].reshape(-1)
    if images.shape != (len(digits), 32, 32, 3) or images.dtype != np.uint8:
        raise ValueError(f"{images.dtype} images {list(images.shape)} for {len(digits)} labels")
    return np.ascontiguousarray(images), digits.astype(np.int64)
