"""Maps of a run's embeddings: PCA at once, slower ones drawn by a process of their own and kept in the run's folder.

`python -m lab.dashboard.results.projections RUN SPLIT METHOD` is that process. It belongs to no page: it outlives the
tab and the server, and however many ask for a map, one draws it. Knows nothing of Streamlit.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

import lab.maps
import lab.search
from lab.core import arrays
from lab.core.explain import explain
from lab.core.files import appending, write_json
from lab.core.results import EmbeddingSet
from lab.core.streams import result_of
from lab.dashboard.views.train.devices import at_hand
from lab.install import children
from lab.runs import Run
from lab.runs.folder import header, tensors
from lab.runs.process import Worker

MOST = 10_000
"""Points that a map shows; more are sampled."""
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

    @property
    def on_map(self) -> EmbeddingSet:
        return _some(self.whole, self.rows)

    @cached_property
    def row_of(self) -> dict[int, int]:
        """Image to its row in `whole`."""
        return {int(item): row for row, item in enumerate(self.whole.items)}

    @cached_property
    def _index(self) -> lab.search.Index:
        return lab.search.create("exact", device=self.device, similarity=self.similarity).build(self.whole)

    def neighbours(self, item: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest others of an image in the full space: items int64 [k] and similarities [k], nearest first."""
        row = self.row_of[item]
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


def sheet(run: Run, split: str, step: int | None = None) -> Sheet:
    """All images of a split, queries and gallery; or the validation images after a step.

    Raises:
        ValueError: there are no such embeddings.
    """
    config = run.config_of(split)
    if step is not None:
        read = tensors(run.frames()[step])
        whole = EmbeddingSet(read["vectors"], read["labels"], read["items"])
    else:
        query, gallery = run.embeddings(split), run.embeddings(split, "gallery")
        whole = query if gallery is None else _joined(gallery, query)
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
        places = lab.maps.flatten(moment, method)
        flat.append(_turned(places, flat[-1]) if flat else places)
        honesties.append(_honesty(moment, flat[-1]))
        yield len(flat)
    named = {name: np.array([one[name] for one in honesties]) for name in honesties[0]}
    return Map(np.asarray(steps, np.int64), np.stack(flat), named)


def drawn(vectors: Sequence[np.ndarray], steps: Sequence[int], method: lab.maps.Method) -> Map:
    """`draw`, to its end."""
    return result_of(draw(vectors, steps, method))


def _turned(places: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Turned and mirrored, not stretched, to lie best on another map of the same points (Procrustes)."""
    middle = places.mean(0)
    left, _, right = np.linalg.svd((places - middle).T @ (onto - onto.mean(0)))
    return ((places - middle) @ left @ right).astype(np.float32)


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
        return self.run.path / "maps" / f"{self.split}.{self.method}.safetensors"

    @property
    def _job(self) -> Path:
        return self.run.path / "maps" / f"{self.split}.{self.method}.json"

    @property
    def _log(self) -> Path:
        return self.run.path / "maps" / f"{self.split}.{self.method}.log"

    @property
    def fingerprint(self) -> str:
        """Changes when the embeddings do."""
        if self.split == OVER_TIME:
            sources = list(self.run.frames().values())
        else:
            sources = [self.run.path / "embeddings" / f"{self.split}.safetensors"]
        digests = [_digest(str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in sources]
        return hashlib.blake2b("".join(digests).encode(), digest_size=16).hexdigest()

    def read(self) -> Map | None:
        """The map, if it was drawn from the embeddings that are there now."""
        if not self._file.is_file():
            return None
        try:
            if header(self._file).get("of") != self.fingerprint:
                return None
            read = tensors(self._file)
            names = ("trustworthiness", "agreement", "chance")
            return Map(read["steps"], read["flat"], {name: read[name] for name in names})
        except Exception:  # a damaged map is drawn again
            return None

    @property
    def progress(self) -> dict[str, Any]:
        """`state`: absent, working or failed; with `done` of `total` moments, or a `sentence`."""
        try:
            state = json.loads(self._job.read_text("utf-8"))
        except (OSError, ValueError):
            return {"state": "absent"}
        if state.get("of") != self.fingerprint:
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
                words = "-m", "lab.dashboard.results.projections", str(self.run.path.resolve()), self.split, self.method
                process = subprocess.Popen(
                    children.python(*words),
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
        state = {"worker": Worker.this().as_dict(), "of": self.fingerprint}
        try:
            vectors, steps = moments(self.run, self.split)
            drawing = draw(vectors, steps, self.method)
            drawn = result_of(drawing, lambda done: self._tell({**state, "done": done, "total": len(steps)}))
            arrays.write(self._file, {"steps": drawn.steps, "flat": drawn.flat, **drawn.honesty}, {"of": state["of"]})
        except Exception as error:
            self._tell({**state, "sentence": explain(error)})
            raise

    def _tell(self, state: dict[str, Any]) -> None:
        write_json(self._job, state)


@cache
def _digest(path: str, changed: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


if __name__ == "__main__":
    folder, of, name = sys.argv[1:]
    Chart(Run(folder), of, next(method for method in lab.maps.METHODS if method == name)).work()
