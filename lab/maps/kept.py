"""Maps of a run's embeddings that are stored in its folder, as `maps/SPLIT.METHOD.safetensors`.

`python -m lab.maps.kept RUN METHOD SPLIT ...` computes them one by one in the background. The process has a low
priority and continues when the process that started it ends. For each map only one process runs at a time.
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
from lab.core import arrays
from lab.core.explain import explain
from lab.core.files import appending, check_allowed, read_small, write_json
from lab.core.installed import children
from lab.core.streams import result_of
from lab.maps.of_run import OVER_TIME, Map, draw, moments, sheet
from lab.runs.folder import Run
from lab.runs.process import Worker

KEPT_FROM = 50_000
"""Number of points from which a PCA map is stored in the run's folder, too."""
QUALITY = ("trustworthiness", "agreement", "chance")
"""Measures that are stored with each map, see `lab.maps.quality`."""
SHAPES = {"steps": "int t", "flat": "float t n 2"} | dict.fromkeys(QUALITY, "float t")
"""Arrays of a map, in the notation of `arrays.check_shapes`."""
LARGE = 64_000_000
"""Size in bytes from which only pieces of a file of embeddings are read for its fingerprint."""


def file_of(run: Run, split: str, method: str) -> Path:
    """Return the file that stores a map of a split."""
    return run.file(f"maps/{split}.{method}.safetensors")


def fingerprint(files: Iterable[Path]) -> str:
    """Return a fingerprint of the embeddings in these files; it changes when they change."""
    digests = []
    for file in files:
        status = file.stat()
        digests.append(_digest(str(file), status.st_mtime_ns, status.st_size))
    return hashlib.blake2b("".join(digests).encode(), digest_size=16).hexdigest()


def embedded(run: Run, split: str) -> list[Path]:
    """Return the file of embeddings from which a map of a split is computed."""
    return [run.embeddings_file(split)]


def read(file: Path, of: str) -> dict[str, np.ndarray] | None:
    """Read the arrays of a map, if it was computed from the embeddings with the fingerprint `of`.

    Returns:
        `steps` int64 [t], `flat` float32 [t n 2], `items` int64 [n] (maps of older versions lack them), and the three
        measures of quality, float64 [t]. None if there is no such map or it is damaged; it is then computed again.
    """
    try:
        if not file.is_file() or arrays.header(file).get("of") != of:
            return None
        columns = arrays.read(file)
        shapes = dict(SHAPES)
        if "items" in columns:
            shapes["items"] = "int n"
        arrays.check_shapes(file, columns, shapes)
    except (OSError, ValueError):
        return None
    return columns


def places(run: Run, split: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the stored maps of a split by method: items int64 [n], and their places, float32 [n 2].

    Example (`root` is the folder of your runs):
        >>> import lab, numpy as np
        >>> from lab.maps import kept
        >>> run = lab.runs.from_embeddings(np.eye(4), ["a", "a", "b", "b"], runs=root)
        >>> kept.places(run, "test")
        {}
    """
    maps: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for method in sorted(lab.maps.METHODS):
        columns = read(file_of(run, split, method), fingerprint(embedded(run, split)))
        if columns is not None and "items" in columns:
            maps[method] = columns["items"], columns["flat"][-1]
    return maps


@cache
def _digest(path: str, changed: int, size: int) -> str:
    """Return a digest of a file; `changed` (its time) and `size` make the cache forget a file that changed.

    Only pieces of a large file are read, spread over all of it: new embeddings differ everywhere.
    """
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
    """A map in the folder of a run: its files, its progress and the process that computes it.

    split: a split of the run, or `OVER_TIME`.
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
        return self.run.file(f"maps/{self.split}.{self.method}.log")

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the embeddings; it changes when they change."""
        if self.split == OVER_TIME:
            return fingerprint(self.run.frames().values())
        return fingerprint(embedded(self.run, self.split))

    def read(self) -> Map | None:
        """Return the stored map, if it was computed from the current embeddings."""
        columns = read(self._file, self.fingerprint)
        if columns is None:
            return None
        return Map(columns["steps"], columns["flat"], {name: columns[name] for name in QUALITY})

    def keep(self, drawn: Map, of: str) -> None:
        """Store a map; `of` is the fingerprint of the embeddings from which it was computed.

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
        """The progress as `state` (absent, working or failed), with `done` of `total` moments, or a `sentence`."""
        state = self.run.find(f"maps/{self._job.name}")
        if state.get("of") != self.fingerprint:
            return {"state": "absent"}
        if state.get("sentence"):
            return {"state": "failed", "sentence": state["sentence"]}
        worker = Worker.read(state.get("worker"))
        if worker is not None and worker.alive:
            return {
                "state": "working",
                "done": state.get("done", 0),
                "total": state.get("total", 1),
            }

        # The process ended without a result: report its last message.
        reason = "There was no message; it may have been killed."
        if self._log.is_file():
            lines = read_small(self._log).decode(errors="replace").strip().splitlines()
            if lines:
                reason = f"It said: {lines[-1][:300]}"
        return {
            "state": "failed",
            "sentence": f"The process that drew the map ended early. {reason}",
        }

    def start(self, *others: str) -> None:
        """Start a process that computes the map, and then the maps of other splits.

        Nothing happens if the map is stored already, or another process computes it.

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
                arguments = (str(self.run.path.resolve()), self.method, self.split, *others)
                process = subprocess.Popen(
                    children.python("-m", "lab.maps.kept", *arguments),
                    env=children.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            worker = Worker.of(process.pid)
            state = {
                "worker": worker and worker.as_dict(),
                "of": self.fingerprint,
                "done": 0,
                "total": 1,
            }
            write_json(self._job, state)

    def work(self) -> None:
        """Compute the map and store it; an error is stored as a sentence, and raised."""
        of = self.fingerprint
        state = {"worker": Worker.this().as_dict(), "of": of}
        try:
            write_json(self._job, {**state, "done": 0, "total": 1})
            vectors, steps = moments(self.run, self.split)

            def report(done: int) -> None:
                write_json(self._job, {**state, "done": done, "total": len(steps)})

            drawn = result_of(draw(vectors, steps, self.method), report)
            self.keep(drawn, of)
        except Exception as error:
            write_json(self._job, {**state, "sentence": explain(error)})
            raise


def lay_out(run: Run) -> None:
    """Start a background process that computes the UMAP map of each evaluated split, before a user opens the map.

    Nothing happens if UMAP is not installed.

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
    """Return the PCA map of a split, or of the validations over time; a map of many points is stored in the run."""
    chart = Chart(run, split, "pca")
    stored_map = chart.read()
    if stored_map is not None:
        return stored_map

    of = chart.fingerprint
    vectors, steps = moments(run, split)
    drawn = result_of(draw(vectors, steps, "pca"))
    if drawn.flat.shape[1] >= KEPT_FROM:
        with suppress(OSError):  # the map of a read-only folder can still be shown
            chart.keep(drawn, of)
    return drawn


if __name__ == "__main__":
    folder, name, *splits = sys.argv[1:]
    if hasattr(os, "nice"):
        os.nice(15)
    for split in splits:
        Chart(
            Run(folder), split, next(method for method in lab.maps.METHODS if method == name)
        ).work()
