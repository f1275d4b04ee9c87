"""The images of runs, joined by name and content: what every comparison of runs begins with.

found = lab.runs.join(runs)          # the test images
found.items                          # [r n]: the number of each common image in the list of each run
found.sentence                       # how many were joined by what, and how many were not
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lab.core import arrays
from lab.core.catalog import OUTSIDE
from lab.core.formats import counted
from lab.core.image_list import PICTURES, ImageList
from lab.core.results import EmbeddingSet
from lab.evaluation import identity
from lab.evaluation.identity import ROWS, Joined, Pictures

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.runs.config import RunConfig

PARTS = ("query", "gallery")


class Embedded(Protocol):
    """What is read here of a run, `lab.runs.Run`, which stands above and asks this file for its pictures."""

    path: Path

    @property
    def name(self) -> str: ...
    @property
    def config(self) -> RunConfig: ...
    @property
    def splits(self) -> tuple[str, ...]: ...
    def header(self, split: str) -> dict[str, Any]: ...
    def columns(
        self, folder: str, split: str, only: Collection[str] | None = None
    ) -> dict[str, np.ndarray]: ...
    def image_list(self) -> ImageList | None: ...
    def dataset(self) -> ImageSet: ...
    def pictures(self, split: str = "test", items: np.ndarray | None = None) -> Pictures: ...


def join(runs: Sequence[Embedded], split: str = "test") -> Joined:
    """Join the images that several runs embedded of a split, by name and content; see `lab.evaluation.identity.join`.

    Returns:
        the images that all runs have, in no case two different ones: `items` [r n], and `sentence`.

    Raises:
        ValueError: a run has no embeddings of the split, or nothing tells which images they are of.

    Example (`run` is that of `lab.runs`):
        >>> found = lab.runs.join([run, run])
        >>> found.whole, len(found) == len(run.embeddings())
        (True, True)
    """
    return identity.join([run.pictures(split) for run in runs])


def pictures_of(run: Embedded, split: str, items: np.ndarray | None = None) -> Pictures:
    """Which images the numbers of a run's split stand for, as they were when the split was embedded.

    A run that did not record names and contents (version 0.2, vectors that were made elsewhere) is asked for its list
    of images; the contents are then unknown.

    Args:
        items: int64 [n], some images instead of all that the split has embedded, for instance those of a frame.

    Raises:
        ValueError: the split has not been embedded, or nothing tells which images it is of.
    """
    stored: dict[str, np.ndarray] = {}
    place = None
    if items is None or split in run.splits:
        stored, place = _beside(run, split)
    embedded = None
    if stored:
        embedded = _in_list(run, stored) if place is None else recorded(run.name, stored, place)
    if items is None:
        assert embedded is not None, "a split without embeddings was refused"
        return embedded
    if embedded is not None and np.isin(items, embedded.items).all():
        return embedded.of_items(items)
    return _listed(run, np.asarray(items, np.int64))


def _beside(run: Embedded, split: str) -> tuple[dict[str, np.ndarray], str | None]:
    """What the file of a split's embeddings tells of its images, and what their names are relative to; None where no
    names were recorded.

    Raises:
        ValueError: the split has not been embedded, or its arrays do not fit each other.
    """
    stored, place = run.columns("embeddings", split, COLUMNS), run.header(split).get("place")
    path = run.path / "embeddings" / f"{split}.safetensors"
    if place is not None:
        arrays.check_shapes(path, stored, {"class_names": "int b", "class_name_ends": "int c"})
    for part in PARTS:
        if part == "query" or f"{part}.items" in stored:
            shapes = {"items": "int n", "labels": "int n"}
            if place is not None:
                shapes |= {"keys": "int b", "key_ends": "int n", "contents": "int n"}
            arrays.check_shapes(
                path, stored, {f"{part}.{name}": words for name, words in shapes.items()}
            )
    return stored, place


COLUMNS = (
    *(
        f"{part}.{name}"
        for part in PARTS
        for name in ("items", "labels", "keys", "key_ends", "contents")
    ),
    "class_names",
    "class_name_ends",
)
"""What the file of a split's embeddings tells of its images."""


def columns(
    images: ImageSet, parts: dict[str, EmbeddingSet], contents: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """What is written beside the embeddings of a split, for `pictures_of`.

    Args:
        parts: the embeddings of the queries and of the gallery, where there is one.
        contents: int64, a digest of the content of each image of the data set; None where no image was read.
    """
    made = identity.class_columns(images)
    for part, one in parts.items():
        known = None if contents is None else contents[one.items]
        for name, values in identity.columns(images, one.items, known).items():
            made[f"{part}.{name}"] = values
    return made


def place_of(images: ImageSet, config: Any) -> str:
    """What the names of a run's images are relative to: a folder, an address, a data set; "" for names alone.

    Args:
        config: of the run.
    """
    from lab.data.images.listing import OfList

    values = config.data.values
    if images.root is not None and images.root.name == PICTURES and "digest" in values:
        return f"pictures {values.get('digest')}"  # they move with the run
    if images.root is not None:
        return str(images.root.resolve())
    if not isinstance(images, OfList):
        return str(values.get("root") or config.data.name)
    if values.get("named") or list(images.keys) != [str(row) for row in range(len(images))]:
        return ""
    classes = identity.class_of(identity.as_array(images.class_names), images.labels)
    words = [*classes, str(values["unnamed"])] if "unnamed" in values else classes
    digest = hashlib.blake2b("\n".join(words).encode(errors="replace"), digest_size=8).hexdigest()
    return f"{ROWS}{len(images)} {digest}"


def known_images(
    run: Embedded, split: str, images: ImageSet, parts: dict[str, EmbeddingSet]
) -> dict[str, np.ndarray]:
    """`columns` of embeddings that are measured as they are stored: contents that were recorded stay."""
    stored = run.columns("embeddings", split, [f"{part}.contents" for part in PARTS])
    contents = None
    if stored:
        contents = np.zeros(len(images), np.int64)
        for part, one in parts.items():
            contents[one.items] = stored[f"{part}.contents"]
    return columns(images, parts, contents)


def replaced(run: Embedded, split: str, images: ImageSet, items: np.ndarray) -> list[str]:
    """Keys of those of some images [n] whose file holds another picture now than when the split was embedded.

    Reads the files. Images whose content was not recorded, or that are no files of their own, are passed over.
    """
    from lab.data import ImageSet, file_digest
    from lab.data.images.listing import OfList

    of_files = images.root is not None and images.pixels is None
    if not of_files or type(images).load not in (ImageSet.load, OfList.load):
        return []
    items = np.unique(np.asarray(items, np.int64))
    changed = []
    for item, content in zip(
        items.tolist(), run.pictures(split, items).contents.tolist(), strict=True
    ):
        now = file_digest(images.path(item)) if content else 0
        if now not in (0, content):
            changed.append(str(images.keys[item]))
    return changed


def replaced_sentence(run: Embedded, split: str, keys: Sequence[str]) -> str:
    """Say that the pictures of some keys were replaced; empty where there are none."""
    if not keys:
        return ""
    several = counted(len(keys), "picture shown was", "pictures shown were")
    return (
        f"{several} replaced since {run.name} embedded its {split} split, for instance {keys[0]}; such a score is of "
        f"the old picture. Embed the split again: lab evaluate {run.path} --split {split}."
    )


def recorded_contents(run: Embedded, count: int) -> np.ndarray:
    """Return the digests that a run recorded of its `count` images, int64 [m]; 0 where none was recorded."""
    contents = np.zeros(count, np.int64)
    for split in run.splits:
        stored, _ = _beside(run, split)
        for part in PARTS:
            if f"{part}.contents" in stored:
                items = stored[f"{part}.items"]
                listed = (items >= 0) & (items < count)
                contents[items[listed]] = stored[f"{part}.contents"][listed]
    return contents


def recorded(name: str, stored: dict[str, np.ndarray], place: str) -> Pictures:
    """The images of queries and gallery, each once, by what stands beside their embeddings."""
    class_names = identity.names_in(stored, "class_names", "class_name_ends")
    found = []
    for part in PARTS:
        if f"{part}.items" in stored:
            keys = identity.names_in(stored, f"{part}.keys", f"{part}.key_ends")
            classes = identity.class_of(class_names, stored[f"{part}.labels"])
            known = stored[f"{part}.items"], keys, stored[f"{part}.contents"], classes
            found.append(Pictures(name, *known, place))
    return _each_once(found)


def _in_list(run: Embedded, stored: dict[str, np.ndarray]) -> Pictures:
    """The same by the run's list of images; classes are those of the stored labels."""
    items = np.concatenate([stored[f"{part}.items"] for part in PARTS if f"{part}.items" in stored])
    labels = np.concatenate(
        [stored[f"{part}.labels"] for part in PARTS if f"{part}.items" in stored]
    )
    items, first = np.unique(items, return_index=True)
    images, place = _list_of(run)
    _check_numbers(run, items, images)
    classes = identity.class_of(identity.as_array(images.class_names), labels[first])
    return Pictures(
        run.name, items, _keys(images, items), np.zeros(len(items), np.int64), classes, place
    )


def _listed(run: Embedded, items: np.ndarray) -> Pictures:
    """Some images by the run's list of images alone."""
    images, place = _list_of(run)
    _check_numbers(run, items, images)
    return Pictures.of_images(run.name, images, items, place)


def _keys(images: Any, items: np.ndarray) -> np.ndarray:
    return identity.as_array([str(images.keys[item]) for item in items.tolist()])


def _check_numbers(run: Embedded, items: np.ndarray, images: Any) -> None:
    if len(items) and items.max() >= len(images.keys):
        raise ValueError(
            f"{run.name} numbers {items.max() + 1:,} images, but its data set lists {len(images.keys):,} now, so "
            f"nothing tells which they are. Embed them again: lab evaluate {run.path}."
        )


def _list_of(run: Embedded) -> tuple[Any, str]:
    """The images of a run, and what their names are relative to. Of a run that lists them, their folder may be gone."""
    from lab.data.images.listing import listed_as, read_list

    kept = run.image_list()
    if kept is None:
        images = run.dataset()
        return images, place_of(images, run.config)
    try:
        root, records = read_list(kept)
    except ValueError as error:
        raise ValueError(
            f"The list of the images of {run.name} (images.json) is damaged: {error}."
        ) from None
    images = listed_as(
        root, records, run.config.data.values if run.config.data.name == OUTSIDE else {}
    )
    return images, place_of(images, run.config)


def _each_once(parts: Sequence[Pictures]) -> Pictures:
    """Queries and gallery as one table; an image that is both is there once."""
    if len(parts) == 1:
        return parts[0]
    query, gallery = parts
    more = gallery.take(~np.isin(gallery.items, query.items))
    both = {
        name: np.concatenate([getattr(query, name), getattr(more, name)])
        for name in identity.COLUMNS
    }
    return Pictures(query.run, **both, place=query.place)
