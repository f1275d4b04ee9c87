"""Pages: seconds of the dashboard's server for the first view of a page and for a click, without a browser."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import time
from collections.abc import Callable, Iterator

from lab.bench._measure import BenchRow
from lab.install import children


def measure(images: int = 60_000, clock: Callable[[], float] = time.perf_counter) -> Iterator[BenchRow]:
    """Rows of each page on a small run, of Browse on a split of `images`, and of Runs and Watch among 500 runs.

    Raises:
        ValueError: the extra `app` is not installed.
        RuntimeError: a page failed; its last line.
    """
    if importlib.util.find_spec("streamlit") is None:
        raise ValueError("This section needs Streamlit: pip install 'rankscope[app]'.")
    words = ["--cpu-time"] if clock is time.process_time else []
    command = children.application("app.speed", str(images), *words)
    done = subprocess.run(command, env=children.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The pages could not be measured: {done.stderr.strip().splitlines()[-1]}")
    for line in done.stdout.splitlines():
        timing = json.loads(line)
        goal = 2.0 if timing["name"].endswith("first view") else 0.3
        yield BenchRow("pages", timing["name"], "headless, server alone", timing["seconds"], "s", goal=goal)
