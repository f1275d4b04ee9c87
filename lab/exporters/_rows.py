"""The stored embeddings of a run as rows, each with what it is of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lab import threshold
from lab.core.knobs import HasKnobs, knob
from lab.core.results import EmbeddingSet
from lab.maps import kept as kept_maps
from lab.runs.folder import Run


class RowsKnobs(HasKnobs):
    """Which rows are written."""

    splits: tuple[str, ...] = knob("Embedded splits to write, one after the other; empty: all of them.", default=())


@dataclass(frozen=True)
class ExportRows:
    """Embeddings, one image a row.

    vectors: float32 [n d].
    labels: int64 [n].
    keys: names of the images, n.
    classes: names of their classes, n.
    splits, parts: the split of each row, and whether it is one of its queries or of its gallery, n.
    places: method of a kept map to float32 [n 2], where each row lies on it; NaN where it does not.
    about: run, data set, its threshold and what the embeddings of each split are of.
    """

    vectors: np.ndarray
    labels: np.ndarray
    keys: list[str]
    classes: list[str]
    splits: list[str]
    parts: list[str]
    places: dict[str, np.ndarray]
    about: dict[str, Any]

    @property
    def coordinates(self) -> dict[str, np.ndarray]:
        """The places as columns: `umap_x`, `umap_y` and so on, float32 [n]."""
        return {f"{name}_{axis}": flat[:, i] for name, flat in self.places.items() for i, axis in enumerate("xy")}


def rows_of(
    run: Run, splits: Sequence[str] = (), parts: Sequence[Literal["query", "gallery"]] = ("query", "gallery")
) -> ExportRows:
    """Read stored embeddings.

    Raises:
        ValueError: a split has not been embedded, or the images' list cannot be read any more.
    """
    images, by_split = run.dataset(), []
    splits = tuple(splits) or run.splits or ("test",)
    for split in splits:
        for part in parts:
            embeddings = run.embeddings(split, part)
            if embeddings is not None and len(embeddings):
                by_split.append((split, part, embeddings))
    items = np.concatenate([one.items for *_, one in by_split])
    labels = np.concatenate([one.labels for *_, one in by_split])
    return ExportRows(
        vectors=np.concatenate([one.vectors for *_, one in by_split]),
        labels=np.maximum(labels, -1),  # -1: no class
        keys=[images.keys[i] for i in items],
        classes=images.names_of(labels).tolist(),
        splits=[split for split, _, one in by_split for _ in range(len(one))],
        parts=[part for _, part, one in by_split for _ in range(len(one))],
        places=_places(run, by_split, len(images)),
        about={"run": run.name, "data": images.name, "of": {one: run.origin(one).words for one in splits}}
        | threshold.exported(run),
    )


def _places(run: Run, by_split: Sequence[tuple[str, str, EmbeddingSet]], images: int) -> dict[str, np.ndarray]:
    """Where each row lies on the maps that are kept: one split's map says nothing of another's."""
    kept = {split: kept_maps.places(run, split) for split in dict.fromkeys(split for split, *_ in by_split)}
    places = {}
    for method in sorted({method for maps in kept.values() for method in maps}):
        parts = []
        for split, _, embeddings in by_split:
            by_image = np.full((images, 2), np.nan, np.float32)
            if method in kept[split]:
                items, flat = kept[split][method]
                by_image[items] = flat
            parts.append(by_image[embeddings.items])
        places[method] = np.concatenate(parts)
    return places
