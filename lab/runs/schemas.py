"""What each small file of a run folder holds; `lab.core.stored` reads them, and every reader goes by these.

Files of version 0.2 fit, too. Fields that no schema names stay as they are: later versions write more.
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Annotated, Any, Literal, Required

from pydantic import BeforeValidator, Field

from lab.core.image_list import ImageList
from lab.core.stored import (
    Count,
    Few,
    Fields,
    Flag,
    Number,
    Numbers,
    Scores,
    Stored,
    Text,
    Texts,
    Time,
    check,
)


class Process(Stored, total=False):
    """A process. folder: the number of the folder that it was written into; a copy has another one.

    mark: of the account that wrote it; see `lab.core.ownership`.
    """

    host: Required[Text]
    pid: Required[Annotated[Count, Field(le=2**31 - 1)]]
    create_time: Required[Time]
    folder: int
    mark: Text


class SentFile(Process, total=False):
    """sent.json: the process that handed a run to a cluster, and which one."""

    launcher: Text
    address: Text | None
    knobs: Fields
    outlives: Flag
    job: Text | None


class Maker(Stored):
    """Which encoder made vectors, and the fingerprint of its weights."""

    words: Text
    weights: Text


class Meta(Stored, total=False):
    """meta.json."""

    worker: Process
    started: Time
    resumed: list[Time]
    host: Text
    platform: Text
    device: Text
    device_name: Text | None
    threads: Count
    versions: Annotated[dict[Text, Text | None], Few]
    git: Text | None
    command: Texts
    kernels: Text
    made_by: Maker


class Status(Stored, total=False):
    """status.json."""

    state: Required[Literal["queued", "running", "stopped", "failed", "finished", "interrupted"]]
    phase: Text
    step: Count
    steps: Count
    sentence: Text
    updated: Time
    loss: Number | None
    eta_seconds: Number | None
    scores: Annotated[dict[Text, Scores], Few]


class Remarks(Stored, total=False):
    """remarks.json."""

    note: Text
    tags: Annotated[Texts, Field(max_length=1_000)]
    group: Text


class Measured(Stored, total=False):
    """What is kept with arrays, in their header, and with scores: which weights they are of.

    loss, sentence: of a batch that was kept, and why a training stopped at it. place: what the names of images beside
    embeddings are relative to. numbers: a digest of the list whose numbers they bear.
    """

    checkpoint: Text | None
    step: Count
    evaluation: Fields
    testing: Fields
    loss: Number | None
    sentence: Text
    place: Text | None
    numbers: Text | None


class ScoresFile(Measured, total=False):
    """scores/SPLIT.json."""

    values: Required[Scores]
    queries: Count
    excluded: Count
    unlabelled: Count
    left_out: Count
    warnings: Texts
    seconds: Number | None


class MapJob(Stored, total=False):
    """maps/SPLIT.METHOD.json: how far a map is that another process draws."""

    of: Text
    done: Count
    total: Count
    sentence: Text
    worker: Process | None


class QueueFile(Stored, total=False):
    """.queue.json in the folder of runs. Names of runs are plain names of folders."""

    waiting: Annotated[
        list[Annotated[Text, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]],
        Field(max_length=10_000),
    ]
    paused: Flag
    worker: Process | None
    mark: Text


class Record(Stored):
    """A record of metrics.jsonl, whatever it tells of."""

    kind: Text


class OfStep(Record, total=False):
    """stepped and saved, and what records of other steps may hold, too."""

    step: Required[Count]
    steps: Count
    loss: Number | None
    lr: Number | None
    gradient_norm: Number | None
    seconds: Number | None
    images_per_second: Number | None
    memory_bytes: Number | None
    eta_seconds: Number | None
    spent: Annotated[dict[Text, Number | None], Few]
    name: Text


class Pinned(Stored):
    """A fixed query of the validation, with its nearest images."""

    query: Count
    neighbours: list[Annotated[int, Field(ge=-1, le=2**53)]]
    scores: Numbers


class ValidatedRecord(OfStep, total=False):
    """validated."""

    values: Required[Scores]
    best: Flag
    similarities: dict[Literal["positive", "negative"], list[Count]]
    pinned: list[Pinned]


def _sign(value: Any) -> Any:
    """Refuse what no sign of a check-up is; see `lab.training.signs`."""
    for one in value if isinstance(value, list) else (value,):
        if not (one is None or isinstance(one, int | float)):
            raise ValueError("must be a number or a list of numbers")
        if isinstance(one, int) and abs(one) > 2**53:
            raise ValueError("must be at most 2^53")
    return value


class CheckupRecord(OfStep, total=False):
    """checkup."""

    about: Required[Text]
    values: Required[Annotated[dict[Text, Annotated[Any, BeforeValidator(_sign)]], Few]]


class EvaluatedRecord(Record, total=False):
    """evaluated."""

    split: Text
    values: Required[Scores]
    queries: Count
    excluded: Count
    seconds: Number | None


class NoteRecord(Record, total=False):
    """note."""

    sentence: Required[Text]
    step: Count


RECORDS: dict[Any, Any] = {
    "stepped": OfStep,
    "saved": OfStep,
    "validated": ValidatedRecord,
    "checkup": CheckupRecord,
    "evaluated": EvaluatedRecord,
    "note": NoteRecord,
}
"""Kind of a record to its schema. A kind that is not here is of a later version, and has no fields that we know."""


def record_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return a record of metrics.jsonl, checked by the schema of its kind.

    Raises:
        ValueError: it does not fit.
    """
    kind = value.get("kind")
    if isinstance(kind, str) and kind in ("validated", "evaluated"):
        value = {"values": {}, **value}  # a loop of somebody's making may measure nothing
    record = check(
        value, RECORDS.get(kind, Record) if isinstance(kind, str) else Record, "the record"
    )
    if kind == "checkup" and "precisions" in record["values"]:
        precisions, classes = record["values"]["precisions"], record["values"].get("classes")
        if not (
            isinstance(precisions, list)
            and isinstance(classes, list)
            and len(precisions) == len(classes)
        ):
            raise ValueError(
                "the record is damaged: its precisions and classes must be lists of one length."
            )
    return record


class PublishedLayout(Stored, total=False):
    """How the weights of a model folder are named and its encoder is built."""

    prefix: Text
    pooling: Text
    normalise: Flag
    head_file: Flag


class Published(Stored, total=False):
    """What config.json of a model folder says of Rankscope's own. layout: see `lab.exporters._hub.layout_of`."""

    step: Required[Count]
    layout: PublishedLayout | None
    versions: Annotated[dict[Text, Text | None], Few]


class PublishedFile(Stored):
    """config.json of a model folder."""

    rankscope: Published


FILES: dict[str, Any] = {
    "config.json": PublishedFile,
    "images.json": ImageList,
    "launch.json": Process,
    "maps/*.json": MapJob,
    "marks.json": Stored,
    "meta.json": Meta,
    "owner.json": Stored,
    "relevance.json": Stored,
    "remarks.json": Remarks,
    "scores/*.json": ScoresFile,
    "sent.json": SentFile,
    "status.json": Status,
    "threshold.json": Stored,
}
"""The JSON files of a run or a model folder, and their schemas; `Run.read` goes by this table. `Stored` stands for
those whose reader has a schema of its own: `lab.threshold`, `lab.core.ownership`, and version 0.2."""

LONG = ("images.json", "marks.json", "relevance.json")
"""Those of them that list every image, so that they may be large."""


def schema_of(name: str) -> Any:
    """Return the schema of a file, named from the folder on: `scores/test.json`."""
    if name in FILES:
        return FILES[name]
    return next(
        kind for pattern, kind in FILES.items() if "*" in pattern and fnmatch(name, pattern)
    )
