"""CIFAR-100: 60,000 images of 32 x 32 pixels, 100 classes in 20 super-classes."""

from __future__ import annotations

import pickle

import numpy as np

from lab.data._lists import md5_of
from lab.data._published import Archive, InMemory
from lab.data._table import Table


class Cifar100(InMemory):
    """CIFAR-100 (Krizhevsky, 2009), the Python version; tests on the classes it trains on, as in CAM."""

    folder = "cifar-100-python"
    needs = ("train", "test", "meta")
    get = (
        "Fetch it with `lab list data cifar100 PATH --download`, or cifar-100-python.tar.gz from the CIFAR page of the "
        "University of Toronto and unpack it, so that cifar-100-python/train lies below the folder you name."
    )
    counts = {"train": ((100, 50_000),), "test": ((100, 10_000),)}

    def _table(self) -> Table:
        table = Table(split=[], super_class=[])
        pixels = []
        meta = self._file("meta")
        for split in ("train", "test"):
            stored = self._file(split)
            pixels.append(stored["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
            table.key += [f"{split}/{name}" for name in stored["filenames"]]
            table.label += [meta["fine_label_names"][number] for number in stored["fine_labels"]]
            table.super_class += [
                meta["coarse_label_names"][number] for number in stored["coarse_labels"]
            ]
            table.split += [split] * len(stored["filenames"])
        self._pixels = np.concatenate(pixels)
        return table

    @classmethod
    def archives(cls) -> tuple[Archive, ...]:
        """Return the archive and its MD5 as torchvision lists them."""
        from torchvision.datasets import CIFAR100

        return (Archive(CIFAR100.url, CIFAR100.filename, CIFAR100.tgz_md5, unpack=True),)

    def checksums(self) -> dict[str, str]:
        """Return the MD5 of the three files inside the archive."""
        from torchvision.datasets import CIFAR100

        checksums = dict([*CIFAR100.train_list, *CIFAR100.test_list])
        checksums[CIFAR100.meta["filename"]] = CIFAR100.meta["md5"]
        return checksums

    def _file(self, name: str) -> dict:
        """Unpickle a file. A pickle may run any program, so only the published file is opened."""
        digest = md5_of(self.root / name)
        expected = self.checksums()[name]
        if digest != expected:
            raise ValueError(
                f"{self.root / name} is not the published file, so it is not opened: its MD5 is {digest}, not "
                f"{expected}. {self.get}"
            )
        return pickle.loads((self.root / name).read_bytes(), encoding="latin1")
