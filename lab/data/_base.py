"""Base class of all data sets: keys, labels, splits, and one image at a time."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
from PIL import Image
from pydantic import model_validator

from lab.core.arrays import Names
from lab.core.catalog import name_of
from lab.core.formats import visible
from lab.core.knobs import MOST_ITEMS, HasKnobs, knob
from lab.core.results import Relevance, labelled, names_at, no_class
from lab.data._corrections import (
    corrected_splits,
    items_in,
    new_labels,
    read_corrections,
    with_own_keys,
)
from lab.data._noise import NoiseKnobs, kept_classes, long_tail, relabelled, replaced
from lab.data._splits import Split, few, fold_of
from lab.data.images.folders import classes_sentence, folder_classes, list_images
from lab.data.images.reading import as_rgb, open_rgb


@dataclass(frozen=True)
class ImageRecords:
    """What the reader of one data set returns; the order of its lists is the order of the images.

    keys: the name of each image, unique, for files the path below the root with forward slashes.
    labels: int64 [n], 0..c-1; below 0, or that of an empty name, for an image without a class.
    class_names: c names.
    splits: by name; classes of `test` occur in no other split of a class-disjoint set.
    super_labels: int64 [n], as labels, 0..s-1, or None; super_names: s names.
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

    def __post_init__(self) -> None:
        labels, names = _classes(self.labels, [visible(str(name)) for name in self.class_names])
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "class_names", names)
        if self.super_labels is not None:
            labels, names = _classes(self.super_labels, list(map(str, self.super_names)))
            object.__setattr__(self, "super_labels", labels)
            object.__setattr__(self, "super_names", names)


class SplitKnobs(NoiseKnobs):
    """How the classes and images that do not test may be split otherwise than the set does, or thinned out."""

    split_seed: int = knob(
        "Random seed of the split of the classes into training, validation and test.",
        default=0,
        ge=0,
    )
    folds: int | None = knob(
        "Number of folds for cross-validation: one fold of the classes that are not for testing validates, the "
        "others train.",
        default=None,
        ge=2,
        le=MOST_ITEMS,
        source="DML deck, reality check",
    )
    fold: int = knob(
        "Number of the fold that validates, counted from 0.", default=0, ge=0, le=MOST_ITEMS
    )
    shots: int | None = knob(
        "Training images of each class; by default all of them.",
        default=None,
        ge=1,
        le=MOST_ITEMS,
        scale="log",
        source="CAM, figure 6",
    )
    shot_seed: int = knob(
        "Random seed of the choice of the training images of each class.", default=0, ge=0
    )
    corrections: str | None = knob(
        "CSV file with the columns image and label: images that really are of another class, and, where label is "
        "empty, images that are neither trained on nor tested on.",
        default=None,
        path=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _of_version_0_2(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Rename the knob `leave_out` of version 0.2 to `corrections`."""
        return {
            "corrections" if name == "leave_out" else name: value for name, value in values.items()
        }


class BundledSplitKnobs(SplitKnobs):
    """Knobs of the sets that come without a published split: the share of the classes that test, and that validate."""

    test: float = knob(
        "Fraction of the classes that are kept for testing.", default=0.5, ge=0, lt=1
    )
    validation: float = knob(
        "Fraction of the other classes that are kept for validation.", default=0.5, ge=0, lt=1
    )


class ImageSet(HasKnobs):
    """Labelled images with splits. An entry of the catalogue declares its knobs and defines `_read`.

    An image may have no class: `labelled` says which have one. The others train nothing and count in no score.

    Attributes are those of `ImageRecords`, made plain: `keys` list of str, `labels` int64 [n], `class_names`,
    `super_labels` int64 [n] or None, `super_names`, `attributes`, `splits`, `problems`, `relevance`; and `name`,
    `root` (a folder, or None when the images are not files of a folder), `knobs`, `class_disjoint` (False for sets
    whose published protocol tests on the classes it trained on). An entry that takes `SplitKnobs` can be
    trained in folds and with few images a class.

    level_attributes: level ("middle", "coarse") to the attribute that names its classes, where an entry has such.
    licence: of the images, in words; empty where this package does not know it.
    foreign: position to file of the images that stand for others, where the set `as_trained` has image noise.
    least: pixels that either side of an image needs when it is shown or embedded small: larger JPEG files are
    then decoded at a half, a quarter or an eighth of their size; None for all that they have.

    Raises:
        ValueError: a knob is out of range, or the data cannot be read; the sentence says what and where.
    """

    class_disjoint = True
    root = cast(Any, None)  # a path, or None
    level_attributes: ClassVar[Mapping[str, str]] = {}
    licence: ClassVar[str] = ""
    foreign = cast(Mapping[int, Path], {})
    least = cast("int | None", None)

    def __post_init__(self) -> None:
        self._take_records(self._read())
        if "train" in self.splits and not self.labelled.all():
            items = self.splits["train"].items
            self.splits["train"] = Split(items[self.labelled[items]])
        chosen = self.knobs
        if not isinstance(self, SplitKnobs):
            return
        if chosen.corrections is not None:
            file = Path(chosen.corrections).expanduser()
            self.correct(read_corrections(file), str(file))
        if chosen.folds is not None:
            self._take_fold(chosen.folds, chosen.fold, chosen.split_seed)
        if chosen.shots is not None and "train" in self.splits:
            self.splits["train"] = Split(
                few(self.labels, self.splits["train"].items, chosen.shots, chosen.shot_seed)
            )
        if "train" in self.splits and len(self.splits["train"]):
            self._thin_out(chosen)

    @classmethod
    def of_records(
        cls, records: ImageRecords, knobs: Any, root: Path | None, class_disjoint: bool = True
    ) -> Self:
        """Return the set that these records describe; nothing is read, and the splits stay as they are."""
        images = cls.__new__(cls)
        images.knobs = knobs
        images.root = root
        images.class_disjoint = class_disjoint
        images._take_records(records)
        return images

    def _take_records(self, records: ImageRecords) -> None:
        # `Names` computes names when they are needed: a hundred million of them do not fit into memory.
        self.keys = records.keys if isinstance(records.keys, Names) else list(records.keys)
        self.labels = records.labels
        self.class_names = list(records.class_names)
        self.splits = dict(records.splits)
        self.super_labels = records.super_labels
        self.super_names = list(records.super_names)
        self.attributes = dict(records.attributes)
        self.problems = list(records.problems)
        self.relevance = dict(records.relevance)

    def correct(self, corrections: Mapping[str, str], source: str) -> None:
        """Remove images from every split and relabel others; their positions stay, so that runs can be compared.

        Args:
            corrections: key of an image to its class, "" leaves it out. source: where they come from, for messages.

        Raises:
            ValueError: they name no image or class of this set, or an image whose relevance was judged.
        """
        if self.root is not None:
            corrections = with_own_keys(corrections, source, self.keys, self.root)
        table = items_in(corrections, source, self.keys)
        relabelled = new_labels(table, source, self.class_names)
        for name in self.relevance:
            if np.isin(self.splits[name].items, list(table)).any():
                raise ValueError(
                    f"The {name} split of {self.name} has judgements of its own, so it takes no corrections."
                )
        left_out = np.array([item for item in table if item not in relabelled], np.int64)
        self.splits = corrected_splits(self.splits, self.labels, left_out, relabelled)
        # A relabelled image takes the coarser labels of another image of its new class.
        examples = {
            item: np.flatnonzero(self.labels == label)[:1] for item, label in relabelled.items()
        }
        self.attributes = dict(self.attributes)
        for attribute in self.level_attributes.values():
            self.attributes[attribute] = _as_examples(self.attributes[attribute], examples)
        if self.super_labels is not None:
            self.super_labels = _as_examples(self.super_labels, examples)
        self.labels = self.labels.copy()
        self.labels[list(relabelled)] = list(relabelled.values())

    def _thin_out(self, knobs: NoiseKnobs) -> None:
        """Take classes and images from the training split."""
        before = self.splits["train"].items
        items = before
        if knobs.keep_classes < 1:
            classes = kept_classes(
                np.unique(self.labels[items]), knobs.keep_classes, knobs.kept, knobs.noise_seed
            )
            items = items[np.isin(self.labels[items], classes)]
        if knobs.imbalance > 1:
            items = long_tail(self.labels, items, knobs.imbalance, knobs.noise_seed)
        if len(items) < len(before):
            self.splits["train"] = Split(items)

    @property
    def as_trained(self) -> Self:
        """The set as a training sees it: with the wrong labels and the foreign images of its knobs.

        Raises:
            ValueError: there are no foreign images.
        """
        knobs = self.knobs
        if not isinstance(self, NoiseKnobs) or not (knobs.label_noise or knobs.image_noise):
            return self
        seen = copy.copy(self)
        items = self.splits["train"].items
        seen.labels = relabelled(self.labels, items, knobs.label_noise, knobs.noise_seed)
        seen.foreign, problems = replaced(
            items, knobs.noise_folder, knobs.image_noise, knobs.noise_seed
        )
        seen.problems = [*self.problems, *problems]
        return seen

    def _take_fold(self, folds: int, fold: int, seed: int) -> None:
        if not self.class_disjoint:
            raise ValueError(
                f"{self.name} tests on the classes that it trains on, so its classes make no folds; leave out "
                "data.folds, or let images validate with data.validation."
            )
        seen = [self.splits[name].items for name in ("train", "validation") if name in self.splits]
        items = np.unique(np.concatenate([np.empty(0, np.int64), *seen]))
        count = len(np.unique(self.labels[items]))
        if count < folds:
            raise ValueError(
                f"{self.name} has {count} classes that do not test, too few for {folds} folds; lower data.folds."
            )
        if fold >= folds:
            raise ValueError(
                f"{self.name}: data.fold must be one of 0..{folds - 1} where there are {folds} folds."
            )
        parts = fold_of(self.labels[items], folds, fold, seed)
        for name, classes in zip(("train", "validation"), parts, strict=True):
            self.splits[name] = Split(items[np.isin(self.labels[items], classes)])

    @property
    def labelled(self) -> np.ndarray:
        """bool [n]: True for images that have a class."""
        return labelled(self.labels)

    @property
    def unlabelled_sentence(self) -> str:
        """Say how many images have no class and train nothing; empty where all have one."""
        without = int((~self.labelled).sum())
        if not without:
            return ""
        consequence = "have no class, so they train nothing"
        if without == 1:
            consequence = "has no class, so nothing is trained on it"
        return f"{without:,} of {len(self):,} images {consequence}."

    def class_name(self, label: int) -> str:
        """Return the name of a class: empty for an image without a class, the number of a class that is not here."""
        if label < 0:
            return ""
        return str(self.class_names[label]) if label < len(self.class_names) else str(label)

    def names_of(self, labels: np.ndarray) -> np.ndarray:
        """Return the names of the classes of some labels, str [n]; empty for an image without a class."""
        return names_at(self.class_names, labels)

    @property
    def levels(self) -> dict[str, np.ndarray]:
        """Coarser labels, int64 [n], by level from finer to coarser; empty for a set without super-classes."""
        labels = {level: self.level(name) for level, name in self.level_attributes.items()}
        if not labels and self.super_labels is not None:
            labels = {"coarse": self.super_labels}
        return labels

    def level(self, attribute: str) -> np.ndarray:
        """An attribute, or `super_class`, as labels int64 [n].

        Raises:
            ValueError: the set has no such attribute; lists those there are.
        """
        if attribute == "super_class" and self.super_labels is not None:
            return self.super_labels
        if attribute not in self.attributes:
            existing = list(self.attributes)
            if self.super_labels is not None:
                existing.append("super_class")
            raise ValueError(
                f"{self.name} has no attribute {attribute!r}; it has {', '.join(existing) or 'none'}."
            )
        values = self.attributes[attribute]
        codes = np.unique(values, return_inverse=True)[1]
        return np.where(values != "", codes, no_class(np.arange(len(values))))

    def _read(self) -> ImageRecords:
        """Find the images, their labels and splits; may set `root`."""
        raise NotImplementedError(f"{type(self).__name__} must define _read.")

    @property
    def name(self) -> str:
        """Name of the entry in the catalogue."""
        return name_of(type(self))

    @property
    def called(self) -> str:
        """The name that messages use."""
        return self.name

    @property
    def classes_sentence(self) -> str:
        """Say which folders became classes; empty for sets whose classes are given."""
        return ""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def pixels(self) -> np.ndarray | None:
        """uint8 [n h w 3] when all images have one size and sit in memory, else None."""
        return None

    def path(self, i: int) -> Path:
        """Return the file of the i-th image; sets that hold their images otherwise have none.

        Raises:
            ValueError: the list of images that a run has kept names no folder.
        """
        if self.root is None:
            raise ValueError(
                f"{self.called} has no folder of images: the list of the run is damaged, so move its images.json away "
                "to read the images anew."
            )
        return self.root / self.keys[i]

    def load(self, i: int) -> Image.Image:
        """Return the i-th image, RGB, upright.

        Raises:
            ImageError: the file is missing or cannot be decoded; the sentence names it.
        """
        if self.pixels is not None:
            return Image.fromarray(self.pixels[i])
        return open_rgb(self.path(i), least=self.least)

    def with_content(self, i: int) -> tuple[Image.Image, int]:
        """Return the i-th image and a digest of its content, see `content_digest`: of the bytes of a file, else of the
        pixels.

        Raises:
            ImageError: as `load`.
        """
        image = self.load(i)
        if self.pixels is not None:
            return image, content_digest(self.pixels[i])
        if type(self).load is not ImageSet.load:
            return image, content_digest(np.asarray(image))
        return image, file_digest(self.path(i))

    @property
    def state(self) -> str:
        """Sixteen letters that change when an image is added, removed, renamed or replaced. No image is read for them:
        they are a digest of names, sizes and times of files; or of the pixels of a set that holds them in memory."""
        digest = hashlib.blake2b(f"{len(self)}\n".encode(), digest_size=8)
        if self.pixels is not None:
            digest.update(np.ascontiguousarray(self.pixels).data)
        else:
            for item, key in enumerate(self.keys):
                digest.update(f"{key}\n{self._file_state(item)}\n".encode(errors="replace"))
        return digest.hexdigest()

    def _file_state(self, i: int) -> str:
        """Return size and times of the i-th image's file. The second time is that of the last change of any kind: a
        program that copies files can set the first, but not this one."""
        if self.root is None:  # vectors without pictures
            return ""
        try:
            facts = self.path(i).stat()
        except (OSError, TypeError, NotImplementedError):
            return ""
        return f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns}"

    def judged(self, split: str, query: np.ndarray, gallery: np.ndarray) -> Relevance | None:
        """Return the judgements of one split for the images that exist, or None where labels say what is relevant.

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
        # From positions in the split's own gallery to positions in `gallery`; -1 for an absent image.
        position = np.full(len(self), -1)
        position[gallery] = np.arange(len(gallery))
        items = position[official.gallery[whole.items]]
        owner = np.repeat(official.query, np.diff(whole.offsets))
        judgements = [np.empty(0, dtype=np.int64)]
        for item in query:
            judgements.append(np.flatnonzero((owner == item) & (items >= 0)))
        order = np.concatenate(judgements)
        return Relevance(
            np.cumsum([len(rows) for rows in judgements]), items[order], whole.grades[order]
        )

    def check_training(self, per_class: int = 1) -> None:
        """Check that the training split can be trained on, before any time is spent.

        Args:
            per_class: images of each class that a batch needs.

        Raises:
            ValueError: the split is missing or empty, holds a single class, or has classes with fewer images.
        """
        chosen = self.splits.get("train")
        if chosen is None or not len(chosen):
            sizes = (
                ", ".join(f"{name} {len(split)}" for name, split in self.splits.items())
                or "no splits"
            )
            raise ValueError(
                f"{self.called} has no images in its train split; it has {sizes}. Choose another split or change the "
                "fractions of the classes."
            )
        classes, counts = chosen.by_class(self.labels)
        if len(classes) < 2:
            raise ValueError(
                f"The train split of {self.called} holds the single class {self.class_names[classes[0]]!r}; "
                "ranking needs at least two classes, so add images of another class."
            )
        short = classes[counts < per_class]
        if len(short):
            named = ", ".join(
                f"{self.class_names[label]!r} ({counts[classes == label][0]})"
                for label in short[:3]
            )
            if len(short) > 3:
                named += ", ..."
            verb = "has" if len(short) == 1 else "have"
            raise ValueError(
                f"{len(short)} of {len(classes)} classes in the train split of {self.called} "
                f"{verb} fewer than {per_class} images: {named}. "
                f"Lower the images per class to {counts.min()}, add images, or let the sampler leave such classes "
                "out or repeat their images."
            )


class Unlabelled(ImageSet):
    """Pictures from files and from memory, in the order given, without classes.

    Args:
        pictures: files, PIL images, uint8 arrays [h w 3] or uint8 tensors [3 h w].

    Raises:
        lab.data.images.reading.ImageError: on `load`, when a file is missing or no image.
    """

    def __init__(self, pictures: Sequence[Any]):
        self._pictures = pictures
        super().__init__()

    def _read(self) -> ImageRecords:
        keys = []
        for number, picture in enumerate(self._pictures):
            is_file = isinstance(picture, str | Path)
            keys.append(Path(picture).as_posix() if is_file else f"picture {number}")
        return ImageRecords(keys=keys, labels=np.full(len(keys), -1), class_names=[], splits={})

    def with_content(self, i: int) -> tuple[Image.Image, int]:
        picture = self._pictures[i]
        image = self.load(i)
        if isinstance(picture, str | Path):
            return image, file_digest(Path(picture))
        return image, content_digest(np.asarray(image))

    def load(self, i: int) -> Image.Image:
        picture = self._pictures[i]
        if isinstance(picture, str | Path):
            return open_rgb(Path(picture), least=self.least)
        # a tensor; torch is not imported for files alone
        if not isinstance(picture, Image.Image | np.ndarray):
            picture = picture.permute(1, 2, 0).cpu().numpy()
        if not isinstance(picture, Image.Image):
            picture = Image.fromarray(picture)
        return as_rgb(picture, self.keys[i])


class OfFolder(Unlabelled):
    """The images below a folder, with the classes that their folders name, as `class_folders` reads them.

    The label of an image that lies in no class folder is -1. broken: a sentence for each image that cannot be read.
    unclear: why the folders say no classes, where they could be splits or classes.

    Raises:
        ValueError: there is no image.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self.unclear = ""
        super().__init__(())

    def _read(self) -> ImageRecords:
        listing = list_images(self.folder)
        problems = listing.problems
        self.broken = listing.broken
        if not listing.keys:
            raise ValueError(
                f"{self.folder} holds no image that can be read. {' '.join(problems[:3])}".strip()
            )
        try:
            names = folder_classes(listing).names
        except ValueError as error:  # images are embedded and searched without classes, too
            self.unclear = f"No image has a class. {error}"
            names = [""] * len(listing.keys)
        class_names = list(dict.fromkeys(filter(None, names)))
        number = {name: label for label, name in enumerate(class_names)}
        self._pictures = [self.folder / key for key in listing.keys]
        keys = [path.as_posix() for path in self._pictures]
        labels = np.array([number.get(name, -1) for name in names], np.int64)
        return ImageRecords(
            keys=keys, labels=labels, class_names=class_names, splits={}, problems=problems
        )

    @property
    def classes_sentence(self) -> str:
        return self.unclear or classes_sentence(self.class_names, self.labels)


def below(folder: Path | str) -> OfFolder:
    """List every image below a folder, in the order of their paths; `problems` tells what is left out, and why.

    Raises:
        ValueError: there is none.
    """
    return OfFolder(folder)


def content_digest(content: bytes | np.ndarray) -> int:
    """Return a digest of an image's bytes or pixels: a signed number of 64 bits that is not 0."""
    if isinstance(content, bytes):
        digest = hashlib.blake2b(content, digest_size=8)
    else:
        digest = hashlib.blake2b(np.ascontiguousarray(content).data, digest_size=8)
        digest.update(repr(content.shape).encode())
    return int.from_bytes(digest.digest(), "little", signed=True) or 1


def file_digest(path: Path) -> int:
    """Return `content_digest` of a file that was just read; 0, for an unknown content, if the file is gone."""
    try:
        return content_digest(path.read_bytes())
    except OSError:
        return 0


def _classes(labels: Any, names: list[str]) -> tuple[np.ndarray, list[str]]:
    """Return labels int64 [n] with `no_class` for images of no class or of a class without a name; and the names.

    Version 0.2 wrote one class without a name for each such image, behind all others. These names are dropped.
    """
    numbers = np.asarray(labels, np.int64)
    nameless = np.array([not name.strip() for name in names], bool)
    if not nameless.any() and numbers.min(initial=0) >= 0:
        return numbers, names
    unknown = np.append(nameless, True)[np.where(numbers < 0, len(names), numbers)]
    while names and not names[-1].strip():
        names.pop()
    return np.where(unknown, no_class(np.arange(len(numbers))), numbers), names


def _as_examples(column: np.ndarray, examples: Mapping[int, np.ndarray]) -> np.ndarray:
    """Return a copy in which some items [n] have the value of another item: [1], or [0] to keep their own."""
    changed = column.copy()
    for item, example in examples.items():
        if len(example):
            changed[item] = column[example[0]]
    return changed
