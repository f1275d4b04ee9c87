"""`Writer` writes a run folder; `lab.runs.folder` lists its files."""

from __future__ import annotations

import errno
import json
import os
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core import arrays
from lab.core.files import appending, replacing, to_disk, write_bytes, write_json
from lab.core.formats import visible
from lab.runs import lock, webhook
from lab.runs.folder import (
    ENDED,
    INTERRUPTED,
    RUNNING,
    Run,
    lost_sentence,
    numbered,
    reports_from_elsewhere,
    write_images,
)
from lab.runs.process import Worker

if TYPE_CHECKING:
    from lab.data import ImageSet

FOLDERS = ("checkpoints", "embeddings", "scores", "batches", "frames", "failure")
"""Folders that a writer creates in a run folder; files of people's words (`OTHERS`) and maps/ belong to others."""

OTHERS = (".remarks.json.", ".marks.json.", ".relevance.json.", ".threshold.json.")
"""Beginnings of the temporary files of other writers."""


class Writer:
    """The only writer of a run folder, by its lock: until it is closed, forgotten, or its process is gone.

    Args:
        gone: whether the caller knows that the process of another host, whose last sign of life is fresh, has ended.

    Raises:
        ValueError: another process works on it, or a folder in it is a link.
        OSError: the folder is gone or cannot be written.

    Example (`run` is that of `lab.runs`):
        >>> with lab.runs.Writer(run) as writer:
        ...     writer.log("Looked at by hand.")
        >>> "Looked at by hand." in run.log_tail()
        True
    """

    def __init__(self, run: Run, gone: bool = False):
        self.run = run
        self.path = run.path
        for name in FOLDERS:
            link = self.path / name
            if link.is_symlink():
                raise ValueError(
                    f"{link} is a link; runs are not written through links, so put the folder itself there."
                )
        try:
            self._lock = lock.take(self.path)
        except lock.Held:
            raise lock.Held(_taken(run)) from None
        snapshot = run.snapshot()
        self._before = snapshot.written_state  # as it was found, or last at work
        self._end: dict[str, Any] | None = None  # how it ended since
        if not gone and reports_from_elsewhere(snapshot.status, snapshot.worker):
            self.close()
            raise lock.Held(_taken(run))
        self._inode = os.stat(self.path / lock.FILE).st_ino
        self._last_status = 0.0
        # Remove files that killed writers left half-written.
        for name in (".", *FOLDERS):
            for leftover in (self.path / name).glob(".*.tmp"):
                if not leftover.name.startswith(OTHERS):
                    leftover.unlink(missing_ok=True)
        if snapshot.written_state == RUNNING:  # its process is gone, or it would hold the lock
            sentence = lost_sentence(snapshot.status)
            self.status(INTERRUPTED, phase="interrupted", sentence=sentence, eta_seconds=None)

    def close(self) -> None:
        """Release the lock, and tell the owner if the run has ended meanwhile."""
        self._lock.release()
        ended = self._end
        self._end = None
        if ended is not None and self._before not in ENDED:
            failure = webhook.send(self.run.name, ended)
            if failure:
                with suppress(OSError):
                    self.log(failure)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sign(self) -> None:
        """Write which process holds the lock of a run that has begun, so that it can be named and asked to stop."""
        if self.run.meta:
            self.describe({"worker": self.run.signed(Worker.this())})

    def claim(self) -> None:
        """Write that this process works on the run from now on."""
        before = self.run.meta
        times = [*before.get("resumed", []), time.time()] if before else []
        worker = self.run.signed(Worker.this())
        self.describe(
            {"worker": worker, "started": before.get("started", time.time()), "resumed": times}
        )

    def images(self, dataset: ImageSet) -> None:
        """Write the list of the images, unless it exists: images that are added to their folder later are not in it."""
        if not (self.path / "images.json").exists():
            write_images(self.path, dataset, self.run.config)

    def describe(self, meta: dict[str, Any]) -> None:
        """Add to meta.json."""
        self._check_place()
        write_json(self.path / "meta.json", {**self.run.meta, **meta})

    def status(self, state: str, *, every: float = 0.0, **values: Any) -> None:
        """Replace status.json, keeping values that are not given; at most once in `every` seconds."""
        now = time.monotonic()
        if every and now - self._last_status < every:
            return
        self._check_place()
        self._last_status = now
        after = {**self.run.find("status.json"), **values, "state": state, "updated": time.time()}
        write_json(self.path / "status.json", after)
        # perhaps not the final state: a run that is killed is first found without a process
        if state in ENDED:
            self._end = after
        else:
            self._before = state
            self._end = None

    def append(self, record: dict[str, Any]) -> None:
        """Add one line to metrics.jsonl; a reader never sees more than one torn line, the last."""
        with appending(self.path / "metrics.jsonl") as file:
            file.write(_line(record))

    def sync(self) -> None:
        """Wait until records and log are on disk: a checkpoint must never be further than they are."""
        self._check_place()
        for name in ("metrics.jsonl", "log.txt"):
            if (self.path / name).is_file():
                to_disk(self.path / name)
        to_disk(self.path)

    def truncate(self, step: int) -> None:
        """Remove the records after `step`, and damaged lines: training goes on from there, or begins again."""
        made_again = {"evaluated"} if step else {"evaluated", "checkup"}
        records = []
        for record in self.run.metrics():
            if record.get("step", 0) <= step and record["kind"] not in made_again:
                records.append(record)
        saved = {"kind": "saved", "step": step, "name": "last"}
        # a kill came after the checkpoint
        if step and not any(saved.items() <= record.items() for record in records):
            records.append({**saved, "at": round(time.time(), 3)})
        write_bytes(self.path / "metrics.jsonl", b"".join(map(_line, records)))
        for number, path in (*self.run.batches().items(), *self.run.frames().items()):
            if number > step:
                path.unlink(missing_ok=True)

    def log(self, text: str) -> None:
        """Add to log.txt, with the time. Further lines are indented, so that no name can write a line of its own."""
        lines = list(map(visible, text.splitlines()))
        with appending(self.path / "log.txt") as file:
            message = "\n    ".join(lines).rstrip()
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {message}\n".encode(errors="replace"))

    def arrays(
        self,
        folder: str,
        name: str,
        values: dict[str, np.ndarray],
        header: dict[str, Any] | None = None,
    ) -> None:
        """Write arrays as one safetensors file, atomically."""
        self._check_place()
        arrays.write(self.path / folder / f"{name}.safetensors", values, header)

    def moment(self, step: int, values: dict[str, np.ndarray], most: int) -> None:
        """Write the validation embeddings of a step, and keep at most `most` steps.

        Removed are the steps that leave the smallest gaps, late ones first, so that the kept ones are spread over the
        training, with the first and the newest.
        """
        self.arrays("frames", f"step_{step:08d}", values, {"step": step})
        frames = self.run.frames()
        while len(frames) > max(1, most):
            steps = list(frames)
            spare = 0
            for at in range(1, len(steps) - 1):
                gap = steps[at + 1] - steps[at - 1]
                if spare == 0 or gap <= steps[spare + 1] - steps[spare - 1]:
                    spare = at
            frames.pop(steps[spare]).unlink(missing_ok=True)

    def of_step(
        self,
        folder: str,
        step: int,
        values: dict[str, np.ndarray],
        header: dict[str, Any],
        newest: int = 1,
    ) -> None:
        """Write arrays of a step, and remove all but the newest files of that folder."""
        self.arrays(folder, f"step_{step:08d}", values, {"step": step, **header})
        for path in list(numbered(self.path / folder).values())[:-newest]:
            path.unlink(missing_ok=True)

    def evaluation(
        self,
        split: str,
        embeddings: dict[str, np.ndarray],
        per_query: dict[str, np.ndarray],
        scores: dict[str, Any],
        header: dict[str, Any],
    ) -> None:
        """Replace all files of a split.

        Everything is written before anything is replaced, so that a full disk changes nothing. A kill between the
        renames leaves embeddings without scores, never with scores of others: the old ones are deleted first.
        """
        self._check_place()
        embeddings_path = self.path / "embeddings" / f"{split}.safetensors"
        scores_path = self.path / "scores" / f"{split}.json"
        with ExitStack() as renames:  # the last that is entered is renamed first
            new_scores = renames.enter_context(replacing(scores_path))
            new_values = renames.enter_context(replacing(scores_path.with_suffix(".safetensors")))
            new_embeddings = renames.enter_context(replacing(embeddings_path))
            new_scores.write_text(
                json.dumps({**header, **scores}, indent=1, allow_nan=False) + "\n"
            )
            arrays.write(new_values, per_query, header)
            arrays.write(new_embeddings, embeddings, header)
            if scores_path.is_file():
                scores_path.unlink()
                to_disk(scores_path.parent)

    def _check_place(self) -> None:
        """Refuse to write where the run was moved (a folder with nothing but a status.json would appear there), or
        where the lock was deleted, since another process may hold a new one."""
        path = self.path / lock.FILE
        if os.stat(path).st_ino != self._inode:
            raise FileNotFoundError(errno.ENOENT, "moved or deleted", str(path))


def _line(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, allow_nan=False) + "\n").encode()


def _taken(run: Run) -> str:
    worker = run.snapshot().worker
    who = "another process"
    if worker is not None and (worker.alive or not worker.here):
        who = f"process {worker.pid} on {worker.host}"
    return f"Run {run.name} is being written by {who}; stop that first."
