"""The stored embeddings of a run as rows, each with its image, class and split."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lab import threshold
from lab.core.knobs import HasKnobs, knob
from lab.core.results import EmbeddingSet
from lab.maps import kept as stored_maps
from lab.runs.folder import Run


class RowsKnobs(HasKnobs):
    """Knobs that choose the rows to write."""

    splits: tuple[str, ...] = knob(
        "Embedded splits to write, one after the other; empty: all of them.", default=()
    )


@dataclass(frozen=True)
class ExportRows:
    """Embeddings, one image per row.

    vectors: float32 [n d].
    labels: int64 [n].
    keys: names of the images, n.
    classes: names of their classes, n.
    splits, parts: the split of each row, and its part, `query` or `gallery`, n.
    places: float32 [n 2] by the method of a stored map, the place of each row; NaN if the row is not on the map.
    about: run, data set, threshold, and the origin of the embeddings of each split.
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
        """The places as columns `umap_x`, `umap_y` and so on, float32 [n]."""
        columns = {}
        for method, places in self.places.items():
            columns[f"{method}_x"] = places[:, 0]
            columns[f"{method}_y"] = places[:, 1]
        return columns


def rows_of(
    run: Run,
    splits: Sequence[str] = (),
    parts: Sequence[Literal["query", "gallery"]] = ("query", "gallery"),
) -> ExportRows:
    """Read the stored embeddings of some splits and parts; without splits, of all that are embedded.

    Raises:
        ValueError: a split has not been embedded, or the list of images can no longer be read.
    """
    images = run.dataset()
    splits = tuple(splits) or run.splits or ("test",)
    sets = []
    row_splits: list[str] = []
    row_parts: list[str] = []
    for split in splits:
        for part in parts:
            embeddings = run.embeddings(split, part)
            if embeddings is not None and len(embeddings):
                sets.append((split, embeddings))
                row_splits += [split] * len(embeddings)
                row_parts += [part] * len(embeddings)

    items = np.concatenate([embeddings.items for _, embeddings in sets])
    labels = np.concatenate([embeddings.labels for _, embeddings in sets])
    origins = {split: run.origin(split).words for split in splits}
    return ExportRows(
        vectors=np.concatenate([embeddings.vectors for _, embeddings in sets]),
        labels=np.maximum(labels, -1),  # -1: no class
        keys=[images.keys[item] for item in items],
        classes=images.names_of(labels).tolist(),
        splits=row_splits,
        parts=row_parts,
        places=_places(run, sets, len(images)),
        about={"run": run.name, "data": images.name, "of": origins, **threshold.exported(run)},
    )


def _places(
    run: Run, sets: Sequence[tuple[str, EmbeddingSet]], images: int
) -> dict[str, np.ndarray]:
    """Return the place of each row on the stored map of its split, by method; a split without the map has NaN."""
    maps_of = {split: stored_maps.places(run, split) for split, _ in sets}
    methods: set[str] = set()
    for maps in maps_of.values():
        methods.update(maps)

    places = {}
    for method in sorted(methods):
        parts = []
        for split, embeddings in sets:
            place_of_item = np.full((images, 2), np.nan, np.float32)
            if method in maps_of[split]:
                items, flat = maps_of[split][method]
                place_of_item[items] = flat
            parts.append(place_of_item[embeddings.items])
        places[method] = np.concatenate(parts)
    return places
