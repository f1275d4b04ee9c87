"""Cars196: 16,185 photographs of 196 models of cars; the first 98 train, the others test."""

from __future__ import annotations

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
        if (self.root / "cars_annos.mat").exists():
            path = self.root / "cars_annos.mat"
            images = [(str(one["relative_im_path"]), int(one["class"])) for one in _mat(path, "annotations")]
            names = list(_mat(path, "class_names"))
        else:
            names, images = self._devkit()
        for key, number in images:
            if not 1 <= number <= len(names):
                raise ValueError(f"The annotations give {key} the class {number}, but there are {len(names)} classes.")
            name = names[number - 1]
            yield key, name, "train" if number <= 98 else "test", make(name)

    def _devkit(self) -> tuple[list[str], list[tuple[str, int]]]:
        kit = self.root / "devkit" if (self.root / "devkit").is_dir() else self.root
        files = {name: kit / f"{name}.mat" for name in ("cars_meta", "cars_train_annos", "cars_test_annos_withlabels")}
        # Mirrors put the labelled test annotations, which came later, beside the devkit.
        labelled = "cars_test_annos_withlabels"
        if not files[labelled].exists():
            files[labelled] = self.root / f"{labelled}.mat"
        missing = [path.name for path in files.values() if not path.exists()]
        if missing:
            raise self._incomplete(f"{self.root} has no cars_annos.mat, and its devkit lacks {', '.join(missing)}")
        names = _mat(files["cars_meta"], "class_names")
        images = []
        for folder, path in (("cars_train", files["cars_train_annos"]), ("cars_test", files[labelled])):
            images += [(f"{folder}/{one['fname']}", int(one["class"])) for one in _mat(path, "annotations")]
        return list(names), images


def make(name: str) -> str:
    """`Audi` of `Audi S4 Sedan 2012`."""
    return next((two for two in _TWO_WORDS if name.startswith(two)), name.split(maxsplit=1)[0])


def _mat(path: Path, name: str) -> list:
    """One variable of a MATLAB file, structures as dicts."""
    value = read_mat(path, lambda stored: stored[name], simplify=True)
    return [value] if isinstance(value, dict | str) else list(value)
