"""The stored embeddings of a run as rows, each with what it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lab.core.knobs import Knobs, knob
from lab.runs.folder import Run


class RowsKnobs(Knobs):
    """Which rows are written."""

    splits: tuple[str, ...] = knob((), "Embedded splits to write, one after the other; empty: all of them.")


@dataclass(frozen=True)
class Rows:
    """Embeddings, one image a row.

    vectors: float32 [n d].
    labels: int64 [n].
    keys: names of the images, n.
    classes: names of their classes, n.
    splits, parts: the split of each row, and whether it is one of its queries or of its gallery, n.
    about: run, data set and what the embeddings of each split are of.
    """

    vectors: np.ndarray
    labels: np.ndarray
    keys: list[str]
    classes: list[str]
    splits: list[str]
    parts: list[str]
    about: dict[str, Any]


def rows_of(
    run: Run, splits: Sequence[str] = (), parts: Sequence[Literal["query", "gallery"]] = ("query", "gallery")
) -> Rows:
    """Read stored embeddings.

    Raises:
        ValueError: a split has not been embedded, or the images' list cannot be read any more.
    """
    images, by_split = run.dataset(), []
    wanted = tuple(splits) or run.splits or ("test",)
    for split in wanted:
        for part in parts:
            embeddings = run.embeddings(split, part)
            if embeddings is not None and len(embeddings):
                by_split.append((split, part, embeddings))
    items = np.concatenate([one.items for *_, one in by_split])
    labels = np.concatenate([one.labels for *_, one in by_split])
    return Rows(
        vectors=np.concatenate([one.vectors for *_, one in by_split]),
        labels=labels,
        keys=[images.keys[i] for i in items],
        classes=[images.class_names[i] for i in labels],
        splits=[split for split, _, one in by_split for _ in range(len(one))],
        parts=[part for _, part, one in by_split for _ in range(len(one))],
        about={"run": run.name, "data": images.name, "of": {one: run.origin(one).words for one in wanted}},
    )
