"""Handing runs to a cluster and going on with something else: a process of its own stays until they have ended.

Ray ends the tasks of a process that is gone, and a page is gone whenever somebody closes it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

from lab.core.files import appending
from lab.install import children
from lab.runs.folder import Run
from lab.runs.launching import sent
from lab.runs.launching.detached import working
from lab.runs.process import Worker

LOG = ".sent.log"
"""What these processes say, in the folder of runs."""


def start(runs: Sequence[Run], to: sent.Sent, outlives: bool) -> Worker:
    """Start that process for runs of one folder; it outlives this one.

    Raises:
        ValueError: one of them is at work, or in the hands of a cluster.
        OSError: the process or its log cannot be made.
    """
    for run in runs:
        if working(run) or sent.under_way(run):
            raise ValueError(f"Run {run.name} is {run.state}, so it cannot be sent; stop it first.")
    words = ["-m", "lab.launchers", json.dumps(to.as_dict()), *(str(run.path.resolve()) for run in runs)]
    with appending(runs[0].path.parent / LOG) as log:
        process = subprocess.Popen(
            children.python(*words),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=children.environment(),
        )
    worker = Worker.of(process.pid) or Worker(Worker.this().host, process.pid, 0.0)
    for run in runs:
        sent.hand_over(run, to, worker, outlives)
    return worker
