"""Maps of a run's embeddings that are kept in its folder, as `maps/SPLIT.METHOD.safetensors`.

`python -m lab.maps.kept RUN METHOD SPLIT ...` draws them one by one, behind whoever asked for them: it outlives
them, leaves the processor to others, and however many ask, one process draws.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

import lab.maps
from lab.core import arrays, stored
from lab.core.explain import explain
from lab.core.files import appending, check_allowed, write_json
from lab.core.installed import children
from lab.core.streams import result_of
from lab.maps.of_run import OVER_TIME, Map, draw, moments, sheet
from lab.runs.folder import Run
from lab.runs.process import Worker
from lab.runs.schemas import MapJob

KEPT_FROM = 50_000
"""Points from which a PCA map is kept in the run's folder, too."""
QUALITY = ("trustworthiness", "agreement", "chance")
"""What is kept of each map besides its places, see `lab.maps.quality`."""
SHAPES = {"steps": "int t", "flat": "float t n 2"}
"""Arrays of a map, as `arrays.check_shapes` reads it."""
LARGE = 64_000_000
"""Bytes of a file of embeddings from which only pieces of it tell it apart."""


def file_of(run: Run, split: str, method: str) -> Path:
    """Where a map of a split is kept."""
    return run.path / "maps" / f"{split}.{method}.safetensors"


def fingerprint(files: Iterable[Path]) -> str:
    """Changes when the embeddings in these files do."""
    digests = [_digest(str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in files]
    return hashlib.blake2b("".join(digests).encode(), digest_size=16).hexdigest()


def embedded(run: Run, split: str) -> list[Path]:
    """The file of embeddings that a map of a split is drawn from."""
    return [run.path / "embeddings" / f"{split}.safetensors"]


def read(file: Path, of: str) -> dict[str, np.ndarray] | None:
    """The arrays of a map, if it was drawn from the embeddings with this fingerprint.

    Returns:
        `steps` int64 [t], `flat` float32 [t n 2], `items` int64 [n] (maps of older versions lack them), and the three
        measures of quality, float64 [t]. None where there is no such map, or a damaged one: it is drawn again.
    """
    try:
        if not file.is_file() or arrays.header(file).get("of") != of:
            return None
        kept = arrays.read(file)
        items = {"items": "int n"} if "items" in kept else {}
        arrays.check_shapes(file, kept, {**SHAPES, **dict.fromkeys(QUALITY, "float t"), **items})
    except (OSError, ValueError):
        return None
    return kept


def places(run: Run, split: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The kept maps of a split by method: items int64 [n], and where each lies, float32 [n 2].

    Example (`root` is the folder of your runs):
        >>> import lab, numpy as np
        >>> from lab.maps import kept
        >>> run = lab.runs.from_embeddings(np.eye(4), ["a", "a", "b", "b"], runs=root)
        >>> kept.places(run, "test")
        {}
    """
    maps: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for method in sorted(lab.maps.METHODS):
        kept = read(file_of(run, split, method), fingerprint(embedded(run, split)))
        if kept is not None and "items" in kept:
            maps[method] = kept["items"], kept["flat"][-1]
    return maps


@cache
def _digest(path: str, changed: int, size: int) -> str:
    """Of a large file, pieces all over it are read: its numbers change everywhere or nowhere."""
    with open(path, "rb") as file:
        if size <= LARGE:
            return hashlib.file_digest(file, "md5").hexdigest()
        digest = hashlib.md5(str(size).encode())
        for begin in np.linspace(0, size - 65_536, 256).astype(int):
            file.seek(begin)
            digest.update(file.read(65_536))
        return digest.hexdigest()


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
        return file_of(self.run, self.split, self.method)

    @property
    def _job(self) -> Path:
        return self._file.with_suffix(".json")

    @property
    def _log(self) -> Path:
        return self._file.with_suffix(".log")

    @property
    def fingerprint(self) -> str:
        """Changes when the embeddings do."""
        frames = self.split == OVER_TIME
        return fingerprint(self.run.frames().values() if frames else embedded(self.run, self.split))

    def read(self) -> Map | None:
        """The map, if it was drawn from the embeddings that are there now."""
        drawn = read(self._file, self.fingerprint)
        return None if drawn is None else Map(drawn["steps"], drawn["flat"], {name: drawn[name] for name in QUALITY})

    def keep(self, drawn: Map, of: str) -> None:
        """Write a map. of: the fingerprint of the embeddings that it was drawn from.

        Raises:
            OSError: the run's folder cannot be written.
        """
        self._file.parent.mkdir(exist_ok=True)
        columns = {"steps": drawn.steps, "flat": drawn.flat, **drawn.quality}
        if self.split != OVER_TIME:
            columns["items"] = sheet(self.run, self.split).on_map.items
        arrays.write(self._file, columns, {"of": of})

    @property
    def progress(self) -> dict[str, Any]:
        """`state`: absent, working or failed; with `done` of `total` moments, or a `sentence`."""
        state = stored.find(self._job, MapJob)
        if state.get("of") != self.fingerprint:
            return {"state": "absent"}
        if state.get("sentence"):
            return {"state": "failed", "sentence": state["sentence"]}
        worker = Worker.read(state.get("worker"))
        if worker is not None and worker.alive:
            return {"state": "working", "done": state.get("done", 0), "total": state.get("total", 1)}
        lines = self._log.read_text("utf-8", errors="replace").strip().splitlines() if self._log.is_file() else []
        last = f"It said: {lines[-1][:300]}" if lines else "There was no message; it may have been killed."
        return {"state": "failed", "sentence": f"The process that drew the map ended early. {last}"}

    def start(self, *others: str) -> None:
        """Let a process of its own draw the map, unless it is there or being drawn; after it those of other splits.

        Raises:
            OSError: the run's folder cannot be written.
        """
        check_allowed()
        self._file.parent.mkdir(exist_ok=True)
        with FileLock(self._file.parent / ".lock"):
            if self.read() is not None or self.progress["state"] == "working":
                return
            self._log.unlink(missing_ok=True)
            with appending(self._log) as log:
                words = str(self.run.path.resolve()), self.method, self.split, *others
                process = subprocess.Popen(
                    children.python("-m", "lab.maps.kept", *words),
                    env=children.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            worker = Worker.of(process.pid)
            state = {"worker": worker and worker.as_dict(), "of": self.fingerprint, "done": 0, "total": 1}
            write_json(self._job, state)

    def work(self) -> None:
        """Draw the map and keep it; what goes wrong is kept as a sentence."""
        of = self.fingerprint
        state = {"worker": Worker.this().as_dict(), "of": of}
        try:
            write_json(self._job, {**state, "done": 0, "total": 1})
            vectors, steps = moments(self.run, self.split)
            drawing = draw(vectors, steps, self.method)
            drawn = result_of(drawing, lambda done: write_json(self._job, {**state, "done": done, "total": len(steps)}))
            self.keep(drawn, of)
        except Exception as error:
            write_json(self._job, {**state, "sentence": explain(error)})
            raise


def lay_out(run: Run) -> None:
    """Let a process of its own draw the UMAP map of each evaluated split, so that it is there when somebody looks;
    nothing where UMAP is not installed.

    Raises:
        OSError: the run's folder cannot be written.

    Example (`run` is that of `lab.runs`):
        >>> from lab.maps import kept
        >>> kept.lay_out(run)  # doctest: +SKIP
    """
    if run.splits and importlib.util.find_spec("umap"):
        first, *others = run.splits
        Chart(run, first, "umap").start(*others)


def pca_map(run: Run, split: str) -> Map:
    """The PCA map of a split, or of the validations over time; of many points it is kept with the run."""
    chart = Chart(run, split, "pca")
    if (kept := chart.read()) is not None:
        return kept
    of = chart.fingerprint
    drawing = result_of(draw(*moments(run, split), "pca"))
    if drawing.flat.shape[1] >= KEPT_FROM:
        with suppress(OSError):  # a folder that cannot be written can still be looked at
            chart.keep(drawing, of)
    return drawing


if __name__ == "__main__":
    folder, name, *splits = sys.argv[1:]
    if hasattr(os, "nice"):
        os.nice(15)
    for of in splits:
        Chart(Run(folder), of, next(method for method in lab.maps.METHODS if method == name)).work()
