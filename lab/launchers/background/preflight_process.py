"""Run a pre-flight in a process of its own, whose results can be read while it works."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lab.core.files import check_allowed
from lab.core.installed import children
from lab.runs.config import RunConfig


@dataclass(eq=False)  # two checks are never the same, and pages follow one of them
class Preflight:
    """A pre-flight that is running or done.

    config: the configuration that it checks, as YAML. files: the configuration, and the output and errors of the
    process; they are deleted with this object.
    """

    config: str
    files: tuple[IO[str], IO[str], IO[str]]
    process: subprocess.Popen

    @property
    def done(self) -> bool:
        return self.process.poll() is not None

    @property
    def checks(self) -> list[dict[str, Any]]:
        """The results so far; a process that died adds a bad one, unless it was stopped."""
        _, output, errors = (
            Path(file.name).read_text("utf-8", errors="replace") for file in self.files
        )
        checks = [
            json.loads(line) for line in output.splitlines(keepends=True) if line.endswith("\n")
        ]
        if self.done and self.process.returncode not in (0, -signal.SIGTERM):
            last = (errors.strip().splitlines() or [f"exit {self.process.returncode}"])[-1]
            sentence = f"The pre-flight ended early ({last})."
            checks.append({"name": "pre-flight", "verdict": "bad", "sentence": sentence})
        return checks

    @property
    def bad(self) -> bool:
        """Whether a result will stop the run."""
        return any(check["verdict"] == "bad" for check in self.checks)

    def stop(self) -> None:
        """End the process, if it still runs."""
        self.process.terminate()


def start(config: RunConfig) -> Preflight:
    """Begin a pre-flight of a configuration; its process ends with the returned object."""
    check_allowed()
    text = config.as_yaml()
    given, out, errors = (tempfile.NamedTemporaryFile("w+", encoding="utf-8") for _ in range(3))  # noqa: SIM115
    given.write(text)
    given.flush()
    process = subprocess.Popen(
        children.python("-m", "lab.launchers.background.preflight", given.name),
        env=children.environment(),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=errors,
        start_new_session=True,
    )
    preflight = Preflight(text, (given, out, errors), process)
    weakref.finalize(preflight, process.kill)
    return preflight
