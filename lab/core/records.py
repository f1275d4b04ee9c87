"""What long work tells while it runs: the loop and the evaluation are generators of these. Imports no torch."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from lab.core.formats import finite
from lab.core.results import EmbeddingSet


@dataclass(frozen=True)
class Record:
    """Base of all records; `kind` is the class's name in lower case."""

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()

    def as_json(self) -> dict[str, Any]:
        """The record as a JSON object; NaN and infinity become null, as JSON has neither."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.repr}
        return {"kind": self.kind, **finite(values)}


@dataclass(frozen=True)
class Note(Record):
    """Something a person should know, for instance that images were left out."""

    sentence: str


@dataclass(frozen=True)
class Stepped(Record):
    """One training step.

    step: 1 is the first of `steps`. lr: of the encoder. gradient_norm: before clipping.
    seconds: spent training so far, without validation, over all resumptions. images_per_second: of this step.
    memory_bytes: peak of the GPU, or resident on the CPU. eta_seconds: until training
    ends, at the pace of late, its validations as long as the last one; NaN after the first step, which compiles.
    spent: seconds of this step by what they went into; see `lab.training.stopwatch`.
    """

    step: int
    steps: int
    loss: float
    lr: float
    gradient_norm: float
    seconds: float
    images_per_second: float
    memory_bytes: int
    eta_seconds: float
    spent: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Validated(Record):
    """What the model of this step does on the validation classes.

    values: column to number. best: whether `select_by` is better than ever before.
    similarities: counts of "positive" and "negative" pairs over equal bins of cosine on [-1, 1].
    pinned: eight fixed queries, each {"query": item, "neighbours": items, "scores": cosines}, best first.
    embeddings: of the validation images; not part of the JSON.
    """

    step: int
    values: dict[str, float]
    best: bool
    seconds: float
    similarities: dict[str, list[int]] = field(default_factory=dict)
    pinned: list[dict[str, Any]] = field(default_factory=list)
    embeddings: EmbeddingSet | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Batched(Record):
    """The batch of a step as its loss saw it, for the inspector. tensors: embeddings [n d], labels [n], items [n]."""

    step: int
    loss: float
    tensors: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Checkup(Record):
    """What a training shows at one of the few steps at which it is examined; `lab.verdict` reads these.

    about: data, untrained, pixels (all before the first step), batch or validation. values: see `lab.training.signs`.
    """

    step: int
    about: str
    values: dict[str, Any]


@dataclass(frozen=True)
class Saving(Record):
    """A checkpoint is about to be written: what was told until now must be on disk before it."""

    step: int
    name: str


@dataclass(frozen=True)
class Saved(Record):
    """A checkpoint is on disk."""

    step: int
    name: str


@dataclass(frozen=True)
class Embedding(Record):
    """Progress of embedding images."""

    what: str
    done: int
    total: int


@dataclass(frozen=True)
class Searching(Record):
    """Progress of a search, in compared pairs."""

    what: str
    done: int
    total: int


@dataclass(frozen=True)
class Evaluated(Record):
    """What a finished model does on one split.

    excluded: queries that no score counts, for nothing is known to be relevant to them; those without a class, of which
    there are `unlabelled`, are among them. left_out: gallery images without a class that no ranking counts.
    """

    split: str
    values: dict[str, float]
    queries: int
    excluded: int
    seconds: float
    unlabelled: int = 0
    left_out: int = 0
    warnings: tuple[str, ...] = ()


TRANSIENT = (Embedding, Searching, Batched, Saving)
"""Records that are shown, or kept elsewhere than among the metrics."""
