"""Cars196: 16,185 photographs of 196 models of cars; the first 98 train, the others test."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from pathlib import Path

from lab.data._lists import read_mat
from lab.data._published import PublishedSet

_TWO_WORDS = ("AM General", "Aston Martin", "Land Rover")


class Cars196(PublishedSet):
    """Stanford Cars (Krause et al., 2013), in the halves of Song et al. (2016): classes 1-98 train, 99-196 test.

    Reads `cars_annos.mat` beside `car_ims/`, or the devkit (`devkit/cars_meta.mat`, `cars_train_annos.mat`,
    `cars_test_annos_withlabels.mat`) beside `cars_train/` and `cars_test/`. The super-class is the make
    (Contextual, table 9).
    """

    folder = "cars196"
    needs = ()
    get = (
        "The official address is dead. Look for a mirror of Stanford Cars; put cars_annos.mat beside the folder "
        "car_ims, or devkit/ (cars_meta.mat, cars_train_annos.mat, cars_test_annos_withlabels.mat) beside cars_train "
        "and cars_test, and name the folder that holds them."
    )
    counts = {"train": ((98, 8_054),), "test": ((98, 8_131),)}

    columns = "key label split super_class"

    def _images(self) -> Iterator[tuple[str, ...]]:
        annotations = self.root / "cars_annos.mat"
        if annotations.exists():
            images = [
                (str(row["relative_im_path"]), int(row["class"]))
                for row in _mat(annotations, "annotations")
            ]
            names = list(_mat(annotations, "class_names"))
        else:
            names, images = self._devkit()
        for key, number in images:
            if not 1 <= number <= len(names):
                raise ValueError(
                    f"The annotations give {key} the class {number}, but there are {len(names)} classes."
                )
            name = names[number - 1]
            split = "train" if number <= 98 else "test"
            yield key, name, split, make(name)

    def _devkit(self) -> tuple[list[str], list[tuple[str, int]]]:
        kit = self.root / "devkit"
        if not kit.is_dir():
            kit = self.root
        meta = kit / "cars_meta.mat"
        train = kit / "cars_train_annos.mat"
        # Mirrors put the labelled test annotations, which came later, beside the devkit.
        test = kit / "cars_test_annos_withlabels.mat"
        if not test.exists():
            test = self.root / test.name
        missing = [path.name for path in (meta, train, test) if not path.exists()]
        if missing:
            raise self._incomplete(
                f"{self.root} has no cars_annos.mat, and its devkit lacks {', '.join(missing)}"
            )
        images = []
        for folder, path in (("cars_train", train), ("cars_test", test)):
            images += [
                (f"{folder}/{row['fname']}", int(row["class"])) for row in _mat(path, "annotations")
            ]
        return list(_mat(meta, "class_names")), images


def make(name: str) -> str:
    """Return the make of a car: `Audi` of `Audi S4 Sedan 2012`."""
    for two_words in _TWO_WORDS:
        if name.startswith(two_words):
            return two_words
    return name.split(maxsplit=1)[0]


def _mat(path: Path, name: str) -> list:
    """Read one variable of a MATLAB file, structures as dicts."""
    value = read_mat(path, operator.itemgetter(name), simplify=True)
    return [value] if isinstance(value, dict | str) else list(value)
