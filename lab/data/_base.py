"""What every data set is once it has been read: keys, labels, splits, and one image at a time."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from PIL import Image

from lab.core.arrays import Names
from lab.core.catalog import name_of
from lab.core.formats import counted, plain_cell, visible
from lab.core.knobs import HasKnobs, knob
from lab.core.results import Relevance
from lab.data._lists import csv_columns
from lab.data._noise import NoiseKnobs, kept_classes, long_tail, relabelled, replaced
from lab.data._splits import Split, SplitName, few, fold_of
from lab.data.images.reading import CONVERT, EXTENSIONS, HEIC, ImageError, as_rgb, nameable, open_rgb


@dataclass(frozen=True)
class ImageRecords:
    """What the reader of one data set found; the order of its lists is the order of the images.

    keys: the name of each image, unique, for files the path below the root with forward slashes.
    labels: int64 [n], 0..c-1.
    class_names: c names.
    splits: by name; classes of `test` occur in no other split of a class-disjoint set.
    super_labels: int64 [n], 0..s-1, or None; super_names: s names.
    attributes: name to array of str [n], for instance the vendor.
    problems: one sentence for each image that was left out.
    relevance: for splits where labels cannot say what is relevant to a query (Revisited Oxford/Paris); positions are
        those in the split's gallery.
    """

    keys: Sequence[str]
    labels: np.ndarray
    class_names: Sequence[str]
    splits: Mapping[str, Split]
    super_labels: np.ndarray | None = None
    super_names: Sequence[str] = ()
    attributes: Mapping[str, np.ndarray] = field(default_factory=dict)
    problems: Sequence[str] = ()
    relevance: Mapping[str, Relevance] = field(default_factory=dict)


class SplitKnobs(NoiseKnobs):
    """How the classes and images that are not for testing may be shared out otherwise than the set does, or spoilt."""

    split_seed: int = knob(0, "Random seed of the split of the classes into training, validation and test.", ge=0)
    folds: int | None = knob(
        None,
        "Number of folds for cross-validation: one fold of the classes that are not for testing validates, the "
        "others train.",
        ge=2,
        source="DML deck, reality check",
    )
    fold: int = knob(0, "Number of the fold that validates, counted from 0.", ge=0)
    shots: int | None = knob(
        None, "Training images of each class; by default all of them.", ge=1, scale="log", source="CAM, figure 6"
    )
    shot_seed: int = knob(0, "Random seed of the choice of the training images of each class.", ge=0)
    leave_out: str | None = knob(
        None,
        "CSV file with a column image, such as the marks of a run: these images are neither trained on nor tested on.",
        path=True,
    )


class BundledSplitKnobs(SplitKnobs):
    """For the sets that come without a published split: which share of the classes tests, which validates."""

    test: float = knob(0.5, "Fraction of the classes that are kept for testing.", ge=0, lt=1)
    validation: float = knob(0.5, "Fraction of the other classes that are kept for validation.", ge=0, lt=1)


class ImageSet(HasKnobs):
    """Labelled images with splits. An entry of the catalogue declares `Knobs` and defines `_read`.

    Attributes are those of `ImageRecords`, made plain: `keys` list of str, `labels` int64 [n], `class_names`,
    `super_labels` int64 [n] or None, `super_names`, `attributes`, `splits`, `problems`, `relevance`; and `name`,
    `root` (a folder, or None when the images are not files of a folder), `knobs`, `class_disjoint` (False for sets
    whose published protocol tests on the classes it trained on). An entry whose `Knobs` are `SplitKnobs` can be
    trained in folds and with few images a class.

    level_attributes: level ("middle", "coarse") to the attribute that names its classes, where an entry has such.
    licence: of the images, in words; empty where this package does not know it.
    foreign: position to file of the images that stand for others, where the set `as_trained` has image noise.
    least: pixels that either side of an image needs when it is shown or embedded small: larger JPEG files are
    then decoded at a half, a quarter or an eighth of their size; None for all that they have.

    Raises:
        ValueError: a knob is out of range, or the data cannot be read; the sentence says what and where.
    """

    class_disjoint: bool = True
    root: Any = None  # a path, or None
    level_attributes: ClassVar[Mapping[str, str]] = {}
    licence: ClassVar[str] = ""
    foreign: Mapping[int, Path] = {}
    least: int | None = None

    def __init__(self, **knobs: Any):
        super().__init__(**knobs)
        self._hold(self._read())
        chosen = self.knobs
        if not isinstance(chosen, SplitKnobs):
            return
        if chosen.leave_out is not None:
            self._leave_out(Path(chosen.leave_out).expanduser())
        if chosen.folds is not None:
            self._take_fold(chosen.folds, chosen.fold, chosen.split_seed)
        if chosen.shots is not None and "train" in self.splits:
            self.splits["train"] = Split(few(self.labels, self.splits["train"].items, chosen.shots, chosen.shot_seed))
        if "train" in self.splits and len(self.splits["train"]):
            self._thin_out(chosen)

    @classmethod
    def of_records(cls, records: ImageRecords, knobs: Any, root: Path | None, class_disjoint: bool = True) -> Self:
        """The set that these records describe, as they stand: nothing is read, and splits are not shared out again."""
        images = cls.__new__(cls)
        images.knobs, images.root, images.class_disjoint = knobs, root, class_disjoint
        images._hold(records)
        return images

    def _hold(self, records: ImageRecords) -> None:
        # Names that are made when they are asked for stay so: a hundred million of them would not fit.
        self.keys = records.keys if isinstance(records.keys, Names) else list(records.keys)
        self.labels = np.asarray(records.labels, dtype=np.int64)
        self.class_names = [visible(str(name)) for name in records.class_names]
        self.splits = dict(records.splits)
        self.super_labels = None if records.super_labels is None else np.asarray(records.super_labels, dtype=np.int64)
        self.super_names = list(records.super_names)
        self.attributes = dict(records.attributes)
        self.problems = list(records.problems)
        self.relevance = dict(records.relevance)

    def _leave_out(self, file: Path) -> None:
        """Take the images that a table names from every split; their numbers stay, so that runs can be compared.

        Raises:
            ValueError: the table cannot be read, names no image of this set, or one whose relevance was judged.
        """
        named = listed_images(file)
        # Tables of marks are safe to open in a spreadsheet, so a name may stand in them behind an apostrophe.
        out = np.flatnonzero([key in named or plain_cell(key) in named for key in self.keys])
        if named and not len(out):
            raise ValueError(f"{file} names no image of {self.name}; data.leave_out needs the names of its images.")
        for name, split in self.splits.items():
            if name in self.relevance and np.isin(split.items, out).any():
                raise ValueError(
                    f"The {name} split of {self.name} has judgements of its own, so none of its images can be left out."
                )
            query, gallery = (one if one is None else one[~np.isin(one, out)] for one in (split.query, split.gallery))
            self.splits[name] = Split(query, gallery)  # type: ignore[arg-type]  # there are queries

    def _thin_out(self, knobs: NoiseKnobs) -> None:
        """Take classes and images from the training split."""
        before = items = self.splits["train"].items
        if knobs.keep_classes < 1:
            classes = kept_classes(np.unique(self.labels[items]), knobs.keep_classes, knobs.kept, knobs.noise_seed)
            items = items[np.isin(self.labels[items], classes)]
        if knobs.imbalance > 1:
            items = long_tail(self.labels, items, knobs.imbalance, knobs.noise_seed)
        if len(items) < len(before):
            self.splits["train"] = Split(items)

    @property
    def as_trained(self) -> Self:
        """The set as a training sees it: with the wrong labels and the foreign images that its knobs ask for.

        Raises:
            ValueError: there are no foreign images.
        """
        knobs = self.knobs
        if not isinstance(knobs, NoiseKnobs) or not (knobs.label_noise or knobs.image_noise):
            return self
        seen, items = copy.copy(self), self.splits["train"].items
        seen.labels = relabelled(self.labels, items, knobs.label_noise, knobs.noise_seed)
        seen.foreign = replaced(items, knobs.noise_folder, knobs.image_noise, knobs.noise_seed)
        return seen

    def _take_fold(self, folds: int, fold: int, seed: int) -> None:
        if not self.class_disjoint:
            raise ValueError(
                f"{self.name} tests on the classes that it trains on, so its classes make no folds; leave out "
                "data.folds, or let images validate with data.validation."
            )
        seen = [self.splits[name].items for name in ("train", "validation") if name in self.splits]
        items = np.unique(np.concatenate([np.empty(0, np.int64), *seen]))
        if (count := len(np.unique(self.labels[items]))) < folds:
            raise ValueError(
                f"{self.name} has {count} classes that do not test, too few for {folds} folds; lower data.folds."
            )
        if fold >= folds:
            raise ValueError(f"{self.name}: data.fold must be one of 0..{folds - 1} where there are {folds} folds.")
        parts = fold_of(self.labels[items], folds, fold, seed)
        for name, classes in zip(("train", "validation"), parts, strict=True):
            self.splits[name] = Split(items[np.isin(self.labels[items], classes)])

    @property
    def levels(self) -> dict[str, np.ndarray]:
        """Coarser labels, int64 [n], by level from finer to coarser; empty for a set without super-classes."""
        labels = {level: self.level(name) for level, name in self.level_attributes.items()}
        return labels or ({} if self.super_labels is None else {"coarse": self.super_labels})

    def level(self, attribute: str) -> np.ndarray:
        """An attribute, or `super_class`, as labels int64 [n].

        Raises:
            ValueError: the set has no such attribute; lists those there are.
        """
        if attribute == "super_class" and self.super_labels is not None:
            return self.super_labels
        if attribute not in self.attributes:
            known = [*self.attributes, *(["super_class"] if self.super_labels is not None else [])]
            raise ValueError(f"{self.name} has no attribute {attribute!r}; it has {', '.join(known) or 'none'}.")
        return np.unique(self.attributes[attribute], return_inverse=True)[1]

    def _read(self) -> ImageRecords:
        """Find the images, their labels and splits; may set `root`."""
        raise NotImplementedError(f"{type(self).__name__} must define _read.")

    @property
    def name(self) -> str:
        """Name of the entry in the catalogue."""
        return name_of(type(self))

    @property
    def called(self) -> str:
        """What messages call it."""
        return self.name

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def pixels(self) -> np.ndarray | None:
        """uint8 [n h w 3] when all images have one size and sit in memory, else None."""
        return None

    def path(self, i: int) -> Path:
        """The file of the i-th image; sets that hold their images otherwise have none."""
        return self.root / self.keys[i]

    def load(self, i: int) -> Image.Image:
        """The i-th image, RGB, upright.

        Raises:
            ImageError: the file is missing or cannot be decoded; the sentence names it.
        """
        if self.pixels is not None:
            return Image.fromarray(self.pixels[i])
        return open_rgb(self.path(i), least=self.least)

    def judged(self, split: str, query: np.ndarray, gallery: np.ndarray) -> Relevance | None:
        """Judgements of one split for the images that are really there, or None where labels say what is relevant.

        Args:
            split: whose judgements.
            query, gallery: int64 [q], [g], positions in the data set of the images that could be embedded.

        Returns:
            relevance of those queries to positions in `gallery`; judgements of absent images are dropped.
        """
        if split not in self.relevance:
            return None
        whole: Relevance = self.relevance[split]
        official: Any = self.splits[split]  # judged splits have a gallery
        place = np.full(len(self), -1)
        place[gallery] = np.arange(len(gallery))
        items = place[official.gallery[whole.items]]
        owner = np.repeat(official.query, np.diff(whole.offsets))
        mine = [np.flatnonzero((owner == one) & (items >= 0)) for one in query]
        order = np.concatenate([np.empty(0, dtype=np.int64), *mine])
        return Relevance(np.cumsum([0, *map(len, mine)]), items[order], whole.grades[order])

    def check_training(self, per_class: int = 1, split: SplitName = "train") -> None:
        """Make sure that a split can be trained on, before any time is spent.

        Args:
            per_class: images of each class that a batch needs.

        Raises:
            ValueError: the split is missing or empty, holds a single class, or has classes with fewer images.
        """
        chosen = self.splits.get(split)
        if chosen is None or not len(chosen):
            sizes = ", ".join(f"{name} {len(one)}" for name, one in self.splits.items()) or "no splits"
            raise ValueError(
                f"{self.called} has no images in its {split} split; it has {sizes}. Choose another split or change the "
                "fractions of the classes."
            )
        classes, counts = chosen.by_class(self.labels)
        if len(classes) < 2:
            raise ValueError(
                f"The {split} split of {self.called} holds the single class {self.class_names[classes[0]]!r}; "
                "ranking needs at least two classes, so add images of another class."
            )
        short = classes[counts < per_class]
        if len(short):
            named = ", ".join(f"{self.class_names[c]!r} ({counts[classes == c][0]})" for c in short[:3])
            more = ", ..." if len(short) > 3 else ""
            raise ValueError(
                f"{len(short)} of {len(classes)} classes in the {split} split of {self.called} "
                f"{'has' if len(short) == 1 else 'have'} fewer than {per_class} images: {named}{more}. "
                f"Lower the images per class to {counts.min()}, add images, or let the sampler leave such classes "
                "out or repeat their images."
            )


class Unlabelled(ImageSet):
    """Pictures from files and from memory, in the order given, without classes: every label is -1.

    Args:
        pictures: files, PIL images, uint8 arrays [h w 3] or uint8 tensors [3 h w].

    Raises:
        lab.data.images.reading.ImageError: on `load`, when a file is missing or no image.
    """

    def __init__(self, pictures: Sequence[Any]):
        self._pictures = pictures
        super().__init__()

    def _read(self) -> ImageRecords:
        keys = [
            Path(one).as_posix() if isinstance(one, str | Path) else f"picture {number}"
            for number, one in enumerate(self._pictures)
        ]
        return ImageRecords(keys=keys, labels=np.full(len(keys), -1), class_names=[], splits={})

    def load(self, i: int) -> Image.Image:
        one = self._pictures[i]
        if isinstance(one, str | Path):
            return open_rgb(Path(one), least=self.least)
        if not isinstance(one, Image.Image | np.ndarray):  # a tensor; torch is not loaded for files alone
            one = one.permute(1, 2, 0).cpu().numpy()
        try:
            return as_rgb(one if isinstance(one, Image.Image) else Image.fromarray(one))
        except (OSError, SyntaxError, ValueError) as error:  # a file that Pillow has opened is read only now
            raise ImageError(f"{self.keys[i]} is damaged and cannot be decoded: {error}.") from None


def below(folder: Path | str) -> Unlabelled:
    """Every image file below a folder, in the order of their paths; `problems` tells what is left out for its name.

    Raises:
        ValueError: there is none.
    """
    files = [path for path in Path(folder).rglob("*") if path.suffix.lower() in EXTENSIONS | HEIC and path.is_file()]
    paths = sorted(path for path in files if path.suffix.lower() in EXTENSIONS)
    if not paths:
        photos = f" {CONVERT}." if files else ""
        raise ValueError(f"{folder} holds no image file ({' '.join(sorted(EXTENSIONS))}).{photos}")
    images = Unlabelled([path for path in paths if nameable(path.as_posix())])
    if lost := len(paths) - len(images):
        odd = next(path.as_posix() for path in paths if not nameable(path.as_posix()))
        images.problems = [f"Left out, since such names cannot be written down: {counted(lost, 'file')}, {ascii(odd)}."]
    return images


def listed_images(file: Path) -> frozenset[str]:
    """What stands in the column `image` of a CSV file.

    Raises:
        ValueError: there is no such file, or it is no table with that column.
    """
    try:
        columns = csv_columns(file)
    except OSError as error:
        raise ValueError(
            f"data.leave_out names {file}, which cannot be read: {error.strerror or error}. Give another file, or none."
        ) from None
    if "image" not in columns:
        raise ValueError(f"{file} has no column image, which data.leave_out needs.")
    return frozenset(filter(None, columns["image"]))
