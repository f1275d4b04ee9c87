"""A pre-flight as a process of its own, for those who look on."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.install import children
from lab.runs.config import RunConfig


@dataclass
class Preflight:
    """One pre-flight under way or done. config: the configuration it looks at, as YAML."""

    config: str
    folder: Path
    process: subprocess.Popen

    @property
    def done(self) -> bool:
        return self.process.poll() is not None

    @property
    def checks(self) -> list[dict[str, Any]]:
        """What has been found so far; a process that died says so, unless it was stopped."""
        checks = []
        for line in (self.folder / "checks.jsonl").read_text("utf-8", errors="replace").splitlines():
            try:
                checks.append(json.loads(line))
            except ValueError:
                continue
        if self.done and self.process.returncode not in (0, -signal.SIGTERM):
            lines = (self.folder / "errors.txt").read_text("utf-8", errors="replace").strip().splitlines()
            last = lines[-1] if lines else f"exit {self.process.returncode}"
            sentence = f"The pre-flight ended early ({last})."
            checks.append({"name": "pre-flight", "verdict": "bad", "sentence": sentence})
        return checks

    @property
    def bad(self) -> bool:
        """Whether anything was found that will stop the run."""
        return any(check["verdict"] == "bad" for check in self.checks)

    def stop(self) -> None:
        """End the process, if it still runs."""
        if not self.done:
            self.process.terminate()


def start(config: RunConfig) -> Preflight:
    """Begin a pre-flight of a configuration; what it leaves on the disk goes with the object that comes back."""
    text = config.as_yaml()
    folder = Path(tempfile.mkdtemp(prefix="rankscope-preflight-"))
    (folder / "config.yaml").write_text(text, "utf-8")
    with open(folder / "checks.jsonl", "wb") as out, open(folder / "errors.txt", "wb") as errors:
        process = subprocess.Popen(
            children.python("-m", "lab.runs.launching.preflight", str(folder / "config.yaml")),
            env=children.environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
    preflight = Preflight(text, folder, process)
    weakref.finalize(preflight, _forget, process, folder)
    return preflight


def _forget(process: subprocess.Popen, folder: Path) -> None:
    """Leave nothing behind when the session that asked is gone."""
    if process.poll() is None:
        process.kill()
    shutil.rmtree(folder, ignore_errors=True)
