"""`record`: record the user's own training loop as a run, which the pages show while it goes on."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

import lab.verdict
from lab.core import tables
from lab.core.catalog import OUTSIDE
from lab.core.explain import explain, quoted
from lab.core.files import write_json, write_text
from lab.core.formats import finite
from lab.core.installed.environment import versions
from lab.core.results import label_column, labelled, parts_of
from lab.integrations.importing.described import as_rows, checked_rows
from lab.integrations.importing.run import (
    PAIRS,
    add_pictures,
    external_embeddings,
    has_match,
    outside_config,
)
from lab.runs.execute import new_folder, write_status
from lab.runs.folder import FAILED, FINISHED, RUNNING, STOPPED, Run, write_images
from lab.runs.store import check_name, default_root, free_name, open_run
from lab.runs.writer import Writer
from lab.verdict import Finding

STEP = ("loss", "lr", "gradient_norm", "images_per_second", "memory_bytes")
"""Numbers of a step; every other number is drawn beside the validation scores."""


class Recorder:
    """Writes a run while the user's own loop goes on. Created by `record`.

    Attributes:
        run: the run that is written; None in a process that leaves it to the first, see `Silent`.
        step: the last that was logged.
    """

    run: Any  # a Run, but in `Silent`

    def __init__(
        self,
        run: Run,
        normalise: bool | None,
        on_finding: Callable[[Finding], None] | None = None,
        split: str = "validation",
        like: Run | None = None,
    ):
        self.run = run
        self.normalise = normalise
        self.split = split
        self.step = 0
        self._on_finding = on_finding
        self._like = like
        self._items: Any = None  # positions of the rows among the images of the run
        self._named: dict[str, Any] = {}  # keys and pictures of the rows, as in the first call
        self._reported: set[str] = set()
        self._writer = Writer(run)
        self._writer.claim()
        self._images: Any = None
        self._contents: Any = None  # digests of the pictures of all images
        self._writer.status(RUNNING, phase="training", sentence="", step=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None:
            self._writer.status(
                FINISHED, phase="finished", step=self.step, sentence="Recorded from its own loop."
            )
        else:
            state = STOPPED if isinstance(error, KeyboardInterrupt | GeneratorExit) else FAILED
            self._writer.status(state, phase=state, step=self.step, sentence=explain(error))
        self._writer.close()

    def describe(self, method: str = "", seed: int | None = None) -> None:
        """Store method and seed, unless `record` was given them: callbacks pass what their library knows.

        Raises:
            ValueError: the method is no text, or the seed no whole number from 0.
        """
        config = self.run.config
        method = config.method or method
        if config.seed is not None:
            seed = config.seed
        if (method, seed) != (config.method, config.seed):
            self.run.write_config(
                outside_config(config.data.as_dict(), config.encoder.values, method, seed)
            )

    def log(self, step: int, loss: Any = None, **scalars: Any) -> None:
        """Record numbers of a step: `loss`, `lr`, `gradient_norm`, `images_per_second`, `memory_bytes`; others by name.

        Raises:
            ValueError: a number is none, or the step is before the last one.
        """
        values = {}
        for name, value in {"loss": loss, **scalars}.items():
            if value is not None:
                values[name] = _number(name, value)
        not_finite = [name for name, value in values.items() if value is None]
        if not_finite:
            named = ", ".join(not_finite)
            warnings.warn(
                f"Step {step}: {named} is NaN or infinite, so nothing is kept.", stacklevel=2
            )
        self.step = self._checked(step)
        of_step = {name: value for name, value in values.items() if name in STEP}
        others = {name: value for name, value in values.items() if name not in STEP}
        if of_step:
            self._append("stepped", **of_step)
        if others:
            self._append("validated", values=others)
        self._writer.status(RUNNING, every=1.0, step=step)

    def embeddings(
        self,
        step: int,
        vectors: Any,
        labels: Sequence[Any] | None = None,
        images: Sequence[Any] | None = None,
        *,
        keys: Sequence[Any] | None = None,
        root: Path | str = ".",
        measure: bool | None = None,
    ) -> None:
        """Store the embeddings of a step [n d], of the same images in the same order every time.

        Args:
            vectors: or a `lab.EmbeddingSet`, with its labels.
            labels, images, keys, root: as `lab.runs.from_embeddings` has them, taken from the first call; a later call
                must give the same. If the run is `like` another one, keys or images say which of its images each row
                is, and labels are those of that run.
            measure: whether the metrics are computed; by default if rows have classes and pairs are few.

        Raises:
            ValueError: the vectors or their metadata cannot be used; nothing is written then.
        """
        step = self._checked(step)
        vectors, labels = parts_of(vectors, labels)
        table = as_rows(vectors)
        items = np.arange(table.shape[0])
        rows = checked_rows(table, items, self.normalise)
        # The first call says which images these are; later ones must give the same.
        if self._images is None:
            self._take_images(table, {"label": labels, "image": images, "key": keys}, Path(root))
        if len(rows) != len(self._items):
            raise ValueError(
                f"There are {len(rows):,} vectors, but the run has {len(self._items):,} images."
            )
        self._check_order(labels, {"keys": keys, "images": images})
        judged = has_match(self._images.labels[self._items])
        if measure and not judged:
            raise ValueError(
                "measure is asked for, but no two rows are known to be of one class, so there is nothing to measure; "
                "give labels, or leave measure out."
            )
        # Store the vectors, and a frame of the map.
        self.step = step
        columns = {
            "vectors": rows,
            "labels": self._images.labels[self._items],
            "items": self._items,
        }
        if self.split == "validation":  # the split whose map has steps
            self._writer.moment(step, columns, self.run.config.training.knobs.keep_frames)
        evaluation = self.run.config.evaluation.as_dict()
        header = {"checkpoint": OUTSIDE, "step": step, "evaluation": evaluation}
        for old in (self.run.path / "scores").glob(f"{self.split}.*"):
            old.unlink()  # they are of other embeddings
        stored = {f"query.{name}": value for name, value in columns.items()}
        header |= add_pictures(stored, self._images, self._contents, self.run.config, self.run.name)
        self._writer.arrays("embeddings", self.split, stored, header)
        if measure or (measure is None and judged and len(rows) ** 2 <= PAIRS):
            from lab.runs.evaluate import (
                evaluate_run,  # imports torch, which other calls do not need
            )

            for _ in evaluate_run(self.run, self._writer, splits=(self.split,)):
                pass
            self._append("validated", values=(self.run.scores(self.split) or {})["values"])
        if judged:
            about = "validation" if self.step else "untrained"
            self._check_up(about, _signs().of_validation(rows, columns["labels"], self._items))

    def _take_images(self, table: Any, row_facts: dict[str, Any], root: Path) -> None:
        """Take the metadata of the rows as the images of the run, and write their list and digest."""
        labels = row_facts["label"]
        row_facts = {**row_facts, "split": self.split, "metadata": {}}
        if self._like is not None:
            row_facts["label"] = None
        external = external_embeddings(table, row_facts, root, self._like)
        parts = external.items.get(self.split, {})
        if list(parts) != ["query"]:
            raise ValueError(
                f"The {self.split} split of {external.images.called} is searched in a gallery of its own, but a loop "
                "records one set of images. Write the vectors to a file: `lab import FILE --like RUN` takes both parts."
            )
        # Each vector must be one image of the split; `order` says which row is which item.
        order = np.asarray(external.rows[self.split]["query"], np.int64)
        if len(order) != len(table) or not np.array_equal(np.sort(order), np.arange(len(table))):
            raise ValueError(
                f"There are {len(table):,} vectors, but {len(order):,} of them are images of the {self.split} split of "
                f"run {self._like.name if self._like else self.run.name}; give one for each."
            )
        self._items = np.empty(len(table), np.int64)
        self._items[order] = np.asarray(parts["query"], np.int64)
        if self._like is None:
            data = external.images.knobs.model_dump()
        else:
            data = self._like.config.data.as_dict()
            if labels is not None:
                _check_classes(labels, external.images, self._items, self._like.name)
        self._images = external.images
        self._contents = external.contents
        config = self.run.config
        self.run.write_config(
            outside_config(data, config.encoder.values, config.method, config.seed)
        )
        write_images(self.run.path, self._images, self.run.config)

    def _check_order(self, labels: Any, named: dict[str, Any]) -> None:
        """Check that the rows are the images of the first call in their order, as far as it is given again.

        Raises:
            ValueError: a label or a name has changed, as in the batches of a loader that shuffles.
        """
        for what, values in named.items():
            words = None if values is None else tables.names(values, what)
            first = self._named.setdefault(what, words)
            if words is not None and first is not None and words != first:
                row = next(
                    row for row, word in enumerate(words) if row >= len(first) or word != first[row]
                )
                raise ValueError(
                    f"Row {row:,} is {words[row]!r} now and was {first[row]!r} before; give the embeddings of the same "
                    "images in the same order every time, from a loader that does not shuffle."
                )
        if labels is not None and self._images is not None and self._like is None:
            _check_classes(labels, self._images, self._items, "")

    def verdict(self) -> list[Finding]:
        """Return findings on the training so far, the likeliest cause first; see `lab.verdict`."""
        return lab.verdict.diagnose(self.run)

    def _check_up(self, about: str, values: dict[str, Any]) -> None:
        """Store measured signs, and report each new finding."""
        self._append("checkup", about=about, values=finite(_signs().rounded(values)))
        if self._on_finding is None:
            return
        for finding in self.verdict():
            if finding.name not in self._reported:
                self._reported.add(finding.name)
                self._on_finding(finding)

    def batch(self, embeddings: Any, labels: Any, items: Sequence[int], loss: Any = None) -> None:
        """Store a batch of the last step as the loss saw it, for Inspect.

        Args:
            items: int [n], which of the images of `embeddings` each row is.

        Raises:
            ValueError: lengths differ, or there is no such image.
        """
        if self._images is None:
            raise ValueError(
                "Give the images first, with `run.embeddings`; a batch is shown on them."
            )
        vectors = as_rows(embeddings)
        places = np.asarray(items, np.int64)
        loss_value = None if loss is None else _number("loss", loss)
        numbers = label_column(labels, "labels of the batch")
        if not labelled(numbers).all():
            raise ValueError(
                "A row of the batch has no class, and a loss compares classes; leave such rows out."
            )
        if not len(vectors) == len(numbers) == len(places):
            raise ValueError(
                f"A batch has as many embeddings, labels and items; got {len(vectors)}, {len(numbers)}, {len(places)}."
            )
        if len(places) and not (places.min() >= 0 and places.max() < len(self._items)):
            raise ValueError(
                f"Items are 0 to {len(self._items) - 1:,}; got {places.min()} to {places.max()}."
            )
        places = self._items[places]
        columns = {
            "embeddings": vectors.astype(np.float32),
            "labels": np.unique(numbers, return_inverse=True)[1],
            "items": places,
        }
        newest = self.run.config.training.knobs.keep_batches
        self._writer.of_step("batches", self.step, columns, {"loss": loss_value}, newest)
        if len(places) > 1 and np.isfinite(vectors).all():
            self._check_up("batch", _signs().of_batch(columns["embeddings"], columns["labels"]))

    def _checked(self, step: int) -> int:
        if step < self.step:
            raise ValueError(
                f"Step {step:,} was logged after step {self.step:,}; steps must not go back."
            )
        return int(step)

    def _append(self, kind: str, **values: Any) -> None:
        self._writer.append(
            {"kind": kind, "step": self.step, **values, "at": round(time.time(), 3)}
        )


class Silent(Recorder):
    """Takes the same calls and writes nothing: for every process of a training but the first."""

    def __init__(self) -> None:
        self.run = None
        self.step = 0

    def __exit__(self, *_: Any) -> None:
        """Nothing is open."""

    def log(self, step: int, loss: Any = None, **scalars: Any) -> None:
        self.step = self._checked(step)

    def describe(self, method: str = "", seed: int | None = None) -> None:
        """The first process keeps them."""

    def verdict(self) -> list[Finding]:
        return []  # the first process judges

    def embeddings(self, step: int, vectors: Any, *_: Any, **__: Any) -> None:
        self.step = self._checked(step)

    def batch(self, embeddings: Any, labels: Any, items: Sequence[int], loss: Any = None) -> None:
        """The first process keeps its batch."""


def record(
    name: str,
    config: Mapping[str, Any] | None = None,
    *,
    steps: int = 0,
    encoder: str = "",
    method: str = "",
    seed: int | None = None,
    split: str = "validation",
    like: Run | Path | str | None = None,
    normalise: bool | None = None,
    runs: Path | str | None = None,
    rank: int | None = None,
    on_finding: Callable[[Finding], None] | None = None,
) -> Recorder:
    """Create a run that your own loop fills: use it in a `with`; how that ends is how the run ends.

    Where several processes train together the first one writes; the others get a recorder that takes the same calls
    and does nothing. Gather values of all processes before you record them.

    Args:
        name: of the run; where it is taken, a number is added.
        config: settings of your loop; they are stored in meta.json as `config`.
        steps: how many there will be, for the bar on Watch; 0 if unknown.
        encoder: the trained encoder, in your own words, such as the backbone.
        method, seed: the loss or method, and the seed; by default what `config` holds as `method` (else `loss`) and
            `seed`. A report makes one row of the runs of one method that differ in nothing but their seed; a run
            without a method is a row of its own.
        split: validation or test, of which the embeddings are; those of validation are kept over time.
        like: a run on the same images, whose split this is, too: the two can be compared query by query.
        normalise: how the lengths of embeddings are treated, as in `lab.runs.from_embeddings`.
        runs: folder of runs, by default `lab.runs.default_root()`.
        rank: number of this process, of which 0 writes; by default that of torch.distributed, else of the variables of
            torchrun, Lightning's launcher or Slurm. Give 0 for processes that do not train together.
        on_finding: called once with each finding (`lab.verdict`) on new embeddings or a batch.

    Raises:
        ValueError: the name is no plain file name, or the configuration is no plain data.

    Example (`root` is that of `lab.runs`):
        >>> import lab, torch
        >>> with lab.runs.record("own-loop", {"lr": 0.1}, runs=root, normalise=True) as run:
        ...     points = torch.nn.Parameter(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.1], [0.1, -1.0]]))
        ...     for step in range(1, 4):
        ...         run.log(step, loss=1 / step, accuracy=0.5)
        ...         run.embeddings(step, points, ["a", "b", "a", "b"])
        >>> run.run.state, sorted(run.run.frames())
        ('finished', [1, 2, 3])
    """
    root = default_root(runs)
    try:
        settings = json.loads(json.dumps(dict(config or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The configuration is kept as JSON, which it cannot be: {error}."
        ) from None
    check_name(name)
    if (_rank() if rank is None else rank) != 0:
        return Silent()
    if split not in ("validation", "test"):
        raise ValueError(f"split is validation or test, got {quoted(split)}.")
    config_method, config_seed = named_in(settings)
    compared = open_run(like, runs) if isinstance(like, Path | str) else like
    data = {"what": "own loop"}  # a digest once there are images
    if compared is not None:
        data = compared.config.data.as_dict()
    run_config = outside_config(
        data,
        {"what": encoder, "normalise": normalise is not False},
        method or config_method,
        config_seed if seed is None else seed,
    )
    name = free_name(root, name)
    with new_folder(root, name) as folder:
        write_text(folder / "config.yaml", run_config.as_yaml())
        write_json(
            folder / "meta.json",
            {"versions": versions(), "started": time.time(), "config": settings},
        )
        write_status(folder, STOPPED, "waiting", steps)
    return Recorder(Run(root / name), normalise, on_finding, split, compared)


def _check_classes(labels: Any, images: Any, items: np.ndarray, name: str) -> None:
    """Refuse labels [n] that group the rows otherwise than the classes of the images do.

    Args:
        name: of another run whose images they are; empty for those of an earlier call.
    """
    number_of: dict[str, int] = {}
    name_of: dict[int, str] = {}
    words = tables.label_names(labels, "labels")
    if len(words) != len(items):
        raise ValueError(
            f"There are {len(items):,} vectors, but {len(words):,} values of labels; each row needs one."
        )
    numbers = np.maximum(images.labels[items], -1).tolist()  # -1 for every image without a class
    for row, (word, number) in enumerate(zip(words, numbers, strict=True)):
        if number_of.setdefault(word, number) != number or name_of.setdefault(number, word) != word:
            where = f"in run {name}" if name else "in an earlier call"
            order = (
                "the order of that run, or their keys"
                if name
                else "one order every time, without shuffling"
            )
            raise ValueError(
                f"Row {row:,} has the label {word!r}, which does not fit to its class {where}, "
                f"{images.class_name(number)!r}; give the rows in {order}."
            )


def named_in(settings: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return the method and the seed in a user's configuration: `method`, else `loss`, and `seed`."""
    method = settings.get("method") or settings.get("loss")
    if isinstance(method, Mapping):  # a loss with its knobs
        method = method.get("name")
    if not isinstance(method, str):
        method = ""
    seed = settings.get("seed")
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        seed = None
    return method, seed


def _rank() -> int:
    """Return the rank of this process among those that train together, 0 if it is alone; torch is not imported."""
    group = sys.modules.get("torch.distributed")
    if group is not None and group.is_available() and group.is_initialized():
        return int(group.get_rank())
    # Lightning sets only these two
    for numbers in (
        ("RANK",),
        ("NODE_RANK", "LOCAL_RANK"),
        ("SLURM_PROCID",),
    ):
        ranks = [os.environ[name] for name in numbers if os.environ.get(name, "").isdigit()]
        if ranks:
            return max(map(int, ranks))  # only whether it is 0 matters
    return 0


def _signs() -> Any:
    from lab.training import signs  # imports torch, which only calls with embeddings need

    return signs


def _number(name: str, value: Any) -> float | None:
    """Return a number as JSON has it: None for infinity and NaN.

    Raises:
        ValueError: it is none.
    """
    try:
        number = float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {type(value).__name__}.") from None
    return number if math.isfinite(number) else None
