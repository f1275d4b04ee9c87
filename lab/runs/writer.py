"""`Writer` is the one process that writes a run folder; `lab.runs.folder` says what lies in it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.files import remove_leftovers, replacing, write_json, write_text
from lab.runs.folder import RUNNING, Run, numbered, read_json
from lab.runs.process import Worker

if TYPE_CHECKING:
    from lab.data import ImageSet


class Writer:
    """The one process that writes a run folder.

    Raises:
        ValueError: another process is at work on it.

    Example (`run` is that of `lab.runs`):
        >>> lab.runs.Writer(run).log("Looked at by hand.")
        >>> "Looked at by hand." in run.log_tail()
        True
    """

    def __init__(self, run: Run):
        self.run, self.path = run, run.path
        worker = run.worker
        if worker and run.state == RUNNING and worker != Worker.this():
            raise ValueError(
                f"Run {run.name} is being written by process {worker.pid} on {worker.host}; stop that first."
            )
        remove_leftovers(self.path)
        self._last_status = 0.0

    def claim(self) -> None:
        """Write that this process works on the run from now on."""
        before = self.run.meta
        times = [*before.get("resumed", []), time.time()] if before else []
        self.describe(
            {"worker": Worker.this().as_dict(), "started": before.get("started", time.time()), "resumed": times}
        )

    def images(self, dataset: ImageSet) -> None:
        """Write the list of the images, unless it is there: what comes into their folder later is not in this run."""
        from lab.data.images import listing

        path, listed = self.path / "images.json", listing.to_list(dataset)
        if listed is not None and not path.exists():
            write_text(path, json.dumps({"data": self.run.config.data.as_dict(), **listed}))

    def describe(self, meta: dict[str, Any]) -> None:
        """Add to meta.json."""
        write_json(self.path / "meta.json", {**self.run.meta, **meta})

    def status(self, state: str, *, every: float = 0.0, **values: Any) -> None:
        """Replace status.json, keeping values that are not given; at most once in `every` seconds."""
        now = time.monotonic()
        if every and now - self._last_status < every:
            return
        self._last_status = now
        before = read_json(self.path / "status.json") or {}
        write_json(self.path / "status.json", {**before, **values, "state": state, "updated": time.time()})

    def append(self, record: dict[str, Any]) -> None:
        """Add one line to metrics.jsonl; a reader never sees more than one torn line, the last."""
        line = json.dumps(record, allow_nan=False) + "\n"
        with open(self.path / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write(line)

    def truncate(self, step: int) -> None:
        """Forget the records after `step`, and a torn last line: training goes on from there."""
        kept = [r for r in self.run._records() if r.get("step", 0) <= step and r["kind"] != "evaluated"]
        write_text(self.path / "metrics.jsonl", "".join(json.dumps(r) + "\n" for r in kept))
        for path in (*self.run.batches().items(), *self.run.frames().items()):
            if path[0] > step:
                path[1].unlink(missing_ok=True)

    def log(self, text: str) -> None:
        """Add to log.txt, with the time."""
        with open(self.path / "log.txt", "a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text.rstrip()}\n")

    def arrays(
        self, folder: str, name: str, values: dict[str, np.ndarray], header: dict[str, Any] | None = None
    ) -> None:
        """Write arrays as one safetensors file, atomically."""
        from safetensors.numpy import save_file

        with replacing(self.path / folder / f"{name}.safetensors") as temporary:
            contiguous = {k: np.ascontiguousarray(v) for k, v in values.items()}
            save_file(contiguous, temporary, metadata={"header": json.dumps(header or {})})

    def keep_newest(self, folder: str, count: int) -> None:
        """Remove all but the newest `count` numbered files of a folder."""
        steps = sorted(numbered(self.path / folder).items())
        for _, path in steps[: max(0, len(steps) - count)]:
            path.unlink(missing_ok=True)

    def scores(self, split: str, values: dict[str, Any], per_query: dict[str, np.ndarray]) -> None:
        """Write what an evaluation found: the per-query file first, so that a score is never without it."""
        self.arrays("scores", split, per_query)
        write_json(self.path / "scores" / f"{split}.json", values)
