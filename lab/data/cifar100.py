"""CIFAR-100: 60,000 images of 32 x 32 pixels, 100 classes in 20 super-classes."""

from __future__ import annotations

import numpy as np

from lab.data import _plain_pickle
from lab.data._published import Archive, InMemory
from lab.data._table import Table


class Cifar100(InMemory):
    """CIFAR-100 (Krizhevsky, 2009), the Python version; tests on the classes it trains on, as in CAM."""

    folder = "cifar-100-python"
    needs = ("train", "test", "meta")
    get = (
        "Fetch it with `lab data download cifar100 PATH`, or get cifar-100-python.tar.gz from the CIFAR page of the "
        "University of Toronto and unpack it, so that cifar-100-python/train lies below the folder you name."
    )
    counts = {"train": ((100, 50_000),), "test": ((100, 10_000),)}

    def _table(self) -> Table:
        table, pixels = Table(split=[], super_class=[]), []
        meta = self._file("meta", "fine_label_names", "coarse_label_names")
        for split in ("train", "test"):
            stored = self._file(split, "data", "fine_labels", "coarse_labels", "filenames")
            count = len(self._list(split, stored["filenames"], str))
            pixels.append(self._images(split, stored["data"], count))
            table.key += [f"{split}/{name}" for name in stored["filenames"]]
            for level, column in (("fine", table.label), ("coarse", table.super_class)):
                names = self._list("meta", meta[f"{level}_label_names"], str)
                numbers = self._list(split, stored[f"{level}_labels"], int, count, len(names))
                column += [names[number] for number in numbers]
            table.split += [split] * count
        self._pixels = np.concatenate(pixels)
        return table

    @classmethod
    def archives(cls) -> tuple[Archive, ...]:
        """As torchvision knows it."""
        from torchvision.datasets import CIFAR100

        return (Archive(CIFAR100.url, CIFAR100.filename, CIFAR100.tgz_md5, unpack=True),)

    def checksums(self) -> dict[str, str]:
        """Of the three files inside the archive."""
        from torchvision.datasets import CIFAR100

        listed = [*CIFAR100.train_list, *CIFAR100.test_list]
        return dict(listed) | {CIFAR100.meta["filename"]: CIFAR100.meta["md5"]}

    def _file(self, name: str, *keys: str) -> dict:
        content = _plain_pickle.load(self.root / name)
        lacking = [key for key in keys if not isinstance(content, dict) or key not in content]
        if lacking:
            raise ValueError(f"{self.root / name} lacks {', '.join(lacking)}; it is not CIFAR-100's Python version.")
        return content

    def _list(self, name: str, values: list, kind: type, count: int | None = None, below: int = 0) -> list:
        """A list as it is, if it holds `count` values of a kind, numbers from 0 and less than `below`."""
        sound = isinstance(values, list) and all(type(value) is kind for value in values)
        if not sound or count not in (None, len(values)) or (kind is int and not all(0 <= v < below for v in values)):
            raise ValueError(f"{self.root / name} is not CIFAR-100's Python version: names or labels are not as there.")
        return values

    def _images(self, split: str, data: np.ndarray, count: int) -> np.ndarray:
        if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape != (count, 3072):
            shape = list(data.shape) if isinstance(data, np.ndarray) else "none"
            raise ValueError(
                f"{self.root / split} holds pixels of shape {shape} for {count} labels, not [{count}, 3072]."
            )
        return np.ascontiguousarray(data.reshape(count, 3, 32, 32).transpose(0, 2, 3, 1))
