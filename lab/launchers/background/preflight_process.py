"""A pre-flight as a process of its own, for those who look on."""

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
    """One pre-flight under way or done. config: the configuration it looks at, as YAML. files: with it, and with what
    the process prints; they go with this object."""

    config: str
    files: tuple[IO[str], IO[str], IO[str]]
    process: subprocess.Popen

    @property
    def done(self) -> bool:
        return self.process.poll() is not None

    @property
    def checks(self) -> list[dict[str, Any]]:
        """What has been found so far; a process that died says so, unless it was stopped."""
        printed, complained = (Path(file.name).read_text("utf-8", errors="replace") for file in self.files[1:])
        checks = [json.loads(line) for line in printed.splitlines(keepends=True) if line.endswith("\n")]
        if self.done and self.process.returncode not in (0, -signal.SIGTERM):
            last = (complained.strip().splitlines() or [f"exit {self.process.returncode}"])[-1]
            sentence = f"The pre-flight ended early ({last})."
            checks.append({"name": "pre-flight", "verdict": "bad", "sentence": sentence})
        return checks

    @property
    def bad(self) -> bool:
        """Whether anything was found that will stop the run."""
        return any(check["verdict"] == "bad" for check in self.checks)

    def stop(self) -> None:
        """End the process, if it still runs."""
        self.process.terminate()


def start(config: RunConfig) -> Preflight:
    """Begin a pre-flight of a configuration; it ends with the object that comes back."""
    check_allowed()
    given, out, errors = (tempfile.NamedTemporaryFile("w+", encoding="utf-8") for _ in range(3))  # noqa: SIM115
    given.write(text := config.as_yaml())
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
