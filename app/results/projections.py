"""Maps of a run's embeddings: PCA at once, slower ones drawn by a process of their own and kept in the run's folder.

`python -m app.results.projections RUN SPLIT METHOD` is that process. It belongs to no page: it outlives the
tab and the server, and however many ask for a map, one draws it. Knows nothing of Streamlit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import lab.maps
import lab.search
from app.views.train.devices import at_hand
from lab.core import arrays
from lab.core.explain import explain
from lab.core.files import appending, write_json
from lab.core.results import EmbeddingSet
from lab.core.streams import result_of
from lab.inspect.spaces import turned
from lab.install import children
from lab.runs import Run
from lab.runs.building import kept_maps
from lab.runs.folder import tensors
from lab.runs.process import Worker

MOST = 1_000_000
"""Points that a map shows; more are sampled."""
LAID_OUT = 10_000
"""Points that UMAP and t-SNE lay out; the others are placed beside their neighbours among them."""
COMPARED = 10_000
"""Points of two maps that are compared; more are sampled."""
KEPT_FROM = 50_000
"""Points from which a PCA map is kept in the run's folder, too."""
MEASURED = 1_000
"""Points on which a map's honesty is measured: it compares all pairs."""
NEAREST = 10
"""Neighbours that its honesty is about."""
OVER_TIME = "over-time"
"""The validation images at every stored validation, where a split is expected."""
BEHIND = tuple(method for method in lab.maps.METHODS if method != "pca")
"""Methods that are drawn in the background."""


@dataclass(frozen=True)
class Sheet:
    """What a map is of: every image of a split, and those that are shown.

    whole: all of them; neighbours are searched here, in the full space.
    rows: int64 [n], the shown ones, ascending.
    device: where neighbours are searched.
    """

    whole: EmbeddingSet
    rows: np.ndarray
    similarity: str = "cosine"
    device: str = "cpu"

    @cached_property
    def on_map(self) -> EmbeddingSet:
        return self.whole if len(self.rows) == len(self.whole) else _some(self.whole, self.rows)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.whole.items, kind="stable")
        return order, self.whole.items[order]

    def row(self, item: int | None) -> int | None:
        """Row of an image in `whole`, or None when it is not there."""
        order, items = self._order
        if item is None or not items[0] <= item <= items[-1]:
            return None
        at = int(np.searchsorted(items, item))
        return int(order[at]) if items[at] == item else None

    def label(self, item: int) -> int:
        """The label of an image that is in `whole`."""
        row = self.row(item)
        assert row is not None
        return int(self.whole.labels[row])

    @cached_property
    def _index(self) -> lab.search.Index:
        return lab.search.create("exact", device=self.device, similarity=self.similarity).build(self.whole)

    def prepare(self) -> bool:
        """Build the index now, not at the first question."""
        return self._index is not None

    @cached_property
    def _latest(self) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
        return {}  # the latest answer: a view of a page asks for the same neighbours several times

    def neighbours(self, item: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest others of an image in the full space: items int64 [k] and similarities [k], nearest first."""
        known = self._latest.get((item, k))
        if known is None:
            known = self._searched(item, k)
            self._latest.clear()
            self._latest[item, k] = known
        return known

    def _searched(self, item: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        row = self.row(item)
        assert row is not None
        scores, nearest = self._index.neighbours(self.whole.vectors[row], min(k + 1, len(self.whole)))
        others = nearest[0] != row
        return self.whole.items[nearest[0][others][:k]], scores[0][others][:k]

    @cached_property
    def nearest_right(self) -> np.ndarray:
        """bool [n]: whether the nearest other image of each shown one has its class."""
        depth = min(2, len(self.whole))
        _, nearest = self._index.neighbours(self.on_map.vectors, depth)
        itself = nearest[:, 0] == self.rows
        first = np.where(itself, nearest[:, -1], nearest[:, 0])
        return self.whole.labels[first] == self.on_map.labels


@dataclass(frozen=True)
class Map:
    """Places on the plane, at one moment or at several.

    steps: int64 [t]; -1 for the embeddings of the finished run.
    flat: float32 [t n 2].
    honesty: of each moment, see `lab.maps.honesty`; NaN where there are too few points to say.
    """

    steps: np.ndarray
    flat: np.ndarray
    honesty: dict[str, np.ndarray]

    def at(self, step: int) -> tuple[np.ndarray, dict[str, float]]:
        """Places [n 2] and honesty at one step."""
        moment = int(np.flatnonzero(self.steps == step)[0])
        return self.flat[moment], {name: float(values[moment]) for name, values in self.honesty.items()}


def sheet(run: Run, split: str, step: int | None = None, known: Sequence[EmbeddingSet] = ()) -> Sheet:
    """All images of a split, queries and gallery; or the validation images after a step.

    Args:
        known: the split's queries and gallery where they have been read.

    Raises:
        ValueError: there are no such embeddings.
    """
    config = run.config_of(split)
    if step is not None:
        read = tensors(run.frames()[step])
        whole = EmbeddingSet(read["vectors"], read["labels"], read["items"])
    else:
        query, gallery = known or (run.embeddings(split), run.embeddings(split, "gallery"))
        whole = query if gallery is None or gallery is query else _joined(gallery, query)
    return Sheet(whole, stratified(whole.labels, MOST), config.similarity, at_hand(config))


def _joined(gallery: EmbeddingSet, query: EmbeddingSet) -> EmbeddingSet:
    """Both, every image once."""
    more = _some(query, np.flatnonzero(~np.isin(query.items, gallery.items)))
    return EmbeddingSet(*(np.concatenate([vars(gallery)[name], vars(more)[name]]) for name in vars(gallery)))


def _some(embedded: EmbeddingSet, rows: np.ndarray) -> EmbeddingSet:
    return EmbeddingSet(embedded.vectors[rows], embedded.labels[rows], embedded.items[rows])


def stratified(labels: np.ndarray, most: int, seed: int = 0) -> np.ndarray:
    """At most `most` rows, ascending int64, every class in its share; the same for the same seed."""
    count = len(labels)
    if count <= most:
        return np.arange(count)
    random = np.random.default_rng(seed)
    order = random.permutation(count)
    order = order[np.argsort(labels[order], kind="stable")]  # class by class, at random within each
    # Equal steps along that order take from each class its share, to within one image.
    places = ((np.arange(most) + random.random()) * (count / most)).astype(np.int64)
    return np.sort(order[places])


def draw(vectors: Sequence[np.ndarray], steps: Sequence[int], method: lab.maps.Method) -> Generator[int, None, Map]:
    """Map some moments of the same points, each turned so that it lies on the one before; yields how many are done.

    Returns:
        the `Map`.
    """
    flat: list[np.ndarray] = []
    honesties: list[dict[str, float]] = []
    for moment in vectors:
        places = laid_out(moment, method, flat[-1] if flat else None)
        flat.append(turned(places, flat[-1]) if flat else places)
        honesties.append(_honesty(moment, flat[-1]))
        yield len(flat)
    named = {name: np.array([one[name] for one in honesties]) for name in honesties[0]}
    return Map(np.asarray(steps, np.int64), np.stack(flat), named)


def drawn(vectors: Sequence[np.ndarray], steps: Sequence[int], method: lab.maps.Method) -> Map:
    """`draw`, to its end."""
    return result_of(draw(vectors, steps, method))


def laid_out(vectors: np.ndarray, method: lab.maps.Method, start: np.ndarray | None = None) -> np.ndarray:
    """Places float32 [n 2]. Of many points UMAP and t-SNE lay out a sample, and the rest is placed beside it."""
    if method == "pca":
        return lab.maps.flatten(vectors, method)
    rows = stratified(np.zeros(len(vectors)), LAID_OUT)
    begin = None if start is None else start[rows]
    flat = lab.maps.flatten(vectors[rows], method, start=begin)
    if len(rows) == len(vectors):
        return flat
    places = lab.maps.place(vectors, vectors[rows], flat, min(5, len(rows)))
    places[rows] = flat
    return places


def pca_map(run: Run, split: str) -> Map:
    """The PCA map of a split, or of the validations over time; of many points it is kept with the run."""
    chart = Chart(run, split, "pca")
    kept = chart.read()
    if kept is not None:
        return kept
    of = chart.fingerprint
    drawing = drawn(*moments(run, split), "pca")
    if drawing.flat.shape[1] >= KEPT_FROM:
        with suppress(OSError):  # a folder that cannot be written can still be looked at
            chart.keep(drawing, of)
    return drawing


@dataclass(frozen=True)
class TwoMaps:
    """Two spaces of the same images. items, labels: int64 [n]. before, after: float32 [n 2], the second map turned
    onto the first. near: the rows int32 [n k] of the nearest others in each full space, nearest first.
    agreement: of each map, see `lab.maps.honesty`. total: images that both spaces have."""

    items: np.ndarray
    labels: np.ndarray
    before: np.ndarray
    after: np.ndarray
    near: tuple[np.ndarray, np.ndarray]
    agreement: tuple[float, float]
    total: int


def two_maps(first: EmbeddingSet, second: EmbeddingSet, method: lab.maps.Method, k: int = 50) -> TwoMaps:
    """The images that two spaces share, `COMPARED` of them at most. The second map starts from the first.

    Raises:
        ValueError: they share fewer than three images.
    """
    items, ours, theirs = np.intersect1d(first.items, second.items, return_indices=True)
    if len(items) < 3:
        raise ValueError("The two share fewer than three images, so there is nothing to compare.")
    rows = stratified(first.labels[ours], COMPARED)
    one, other = first.vectors[ours[rows]], second.vectors[theirs[rows]]
    k = min(k, len(rows) - 1)
    before = lab.maps.flatten(one, method)
    after = lab.maps.flatten(other, method, start=before)
    after = turned(after, before, stretch=True)
    near = lab.maps.nearest(one, k), lab.maps.nearest(other, k)
    agreement = _honesty(one, before)["agreement"], _honesty(other, after)["agreement"]
    return TwoMaps(items[rows], first.labels[ours[rows]], before, after, near, agreement, len(items))


def _honesty(vectors: np.ndarray, flat: np.ndarray) -> dict[str, float]:
    rows = stratified(np.zeros(len(vectors)), MEASURED)
    k = min(NEAREST, (len(rows) - 1) // 2)
    if k < 1:
        return dict.fromkeys(("trustworthiness", "agreement", "chance"), float("nan"))
    return lab.maps.honesty(vectors[rows], flat[rows], k)


def moments(run: Run, split: str) -> tuple[list[np.ndarray], list[int]]:
    """The vectors [n d] that a map of a split, or of the validations over time, is drawn from, and their steps."""
    if split != OVER_TIME:
        return [sheet(run, split).on_map.vectors], [-1]
    steps = list(run.frames())
    return [sheet(run, "validation", step).on_map.vectors for step in steps], steps


@dataclass(frozen=True)
class Chart:
    """One map of a run as its folder knows it.

    split: of the run, or `OVER_TIME`.
    """

    run: Run
    split: str
    method: lab.maps.Method

    @property
    def _file(self) -> Path:
        return kept_maps.file_of(self.run, self.split, self.method)

    @property
    def _job(self) -> Path:
        return self.run.path / "maps" / f"{self.split}.{self.method}.json"

    @property
    def _log(self) -> Path:
        return self.run.path / "maps" / f"{self.split}.{self.method}.log"

    @property
    def fingerprint(self) -> str:
        """Changes when the embeddings do."""
        over_time = self.split == OVER_TIME
        return kept_maps.fingerprint(
            self.run.frames().values() if over_time else kept_maps.embedded(self.run, self.split)
        )

    def read(self) -> Map | None:
        """The map, if it was drawn from the embeddings that are there now."""
        if not self._file.is_file() or (read := kept_maps.read(self._file, self.fingerprint)) is None:
            return None
        names = ("trustworthiness", "agreement", "chance")
        if any(name not in read for name in ("steps", "flat", *names)):
            return None  # of another program
        return Map(read["steps"], read["flat"], {name: read[name] for name in names})

    def keep(self, drawn: Map, of: str) -> None:
        """Write a map. of: the fingerprint of the embeddings that it was drawn from.

        Raises:
            OSError: the run's folder cannot be written.
        """
        self._file.parent.mkdir(exist_ok=True)
        columns = {"steps": drawn.steps, "flat": drawn.flat, **drawn.honesty}
        if self.split != OVER_TIME:
            columns["items"] = sheet(self.run, self.split).on_map.items
        arrays.write(self._file, columns, {"of": of})

    @property
    def progress(self) -> dict[str, Any]:
        """`state`: absent, working or failed; with `done` of `total` moments, or a `sentence`."""
        try:
            state = json.loads(self._job.read_text("utf-8"))
        except (OSError, ValueError):
            return {"state": "absent"}
        if not isinstance(state, dict) or state.get("of") != self.fingerprint:
            return {"state": "absent"}
        if state.get("sentence"):
            return {"state": "failed", "sentence": state["sentence"]}
        worker = Worker.read(state.get("worker"))
        if worker is not None and worker.alive:
            return {"state": "working", "done": state.get("done", 0), "total": state.get("total", 1)}
        return {"state": "failed", "sentence": f"The process that drew the map ended early. {self._last_words}"}

    @property
    def _last_words(self) -> str:
        try:
            lines = self._log.read_text("utf-8", errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return f"It said: {lines[-1][:300]}" if lines else "There was no message; it may have been killed."

    def start(self) -> None:
        """Let a process of its own draw the map, unless it is there or being drawn.

        Raises:
            OSError: the run's folder cannot be written.
        """
        from filelock import FileLock

        self._file.parent.mkdir(exist_ok=True)
        with FileLock(self._file.parent / ".lock"):
            if self.read() is not None or self.progress["state"] == "working":
                return
            self._log.unlink(missing_ok=True)
            with appending(self._log) as log:
                words = str(self.run.path.resolve()), self.split, self.method
                process = subprocess.Popen(
                    children.application("app.results.projections", *words),
                    env=children.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            worker = Worker.of(process.pid)
            self._tell({"worker": worker and worker.as_dict(), "of": self.fingerprint, "done": 0, "total": 1})

    def work(self) -> None:
        """Draw the map and keep it; what goes wrong is kept as a sentence."""
        of = self.fingerprint
        state = {"worker": Worker.this().as_dict(), "of": of}
        try:
            vectors, steps = moments(self.run, self.split)
            drawing = draw(vectors, steps, self.method)
            drawn = result_of(drawing, lambda done: self._tell({**state, "done": done, "total": len(steps)}))
            self.keep(drawn, of)
        except Exception as error:
            self._tell({**state, "sentence": explain(error)})
            raise

    def _tell(self, state: dict[str, Any]) -> None:
        write_json(self._job, state)


if __name__ == "__main__":
    folder, of, name = sys.argv[1:]
    Chart(Run(folder), of, next(method for method in lab.maps.METHODS if method == name)).work()
