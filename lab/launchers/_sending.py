"""Handing runs to a cluster and going on with something else: a process of its own stays until they have ended.

Ray ends the tasks of a process that is gone, and a page is gone whenever somebody closes it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lab.core.explain import explain
from lab.core.files import appending
from lab.install import children
from lab.launchers import create, get
from lab.runs import lock
from lab.runs.folder import FAILED, Run
from lab.runs.launching import sent
from lab.runs.process import Worker
from lab.runs.writer import Writer

LOG = ".sent.log"
"""What these processes say, in the folder of runs."""


def send(runs: Sequence[Run], to: sent.Sent) -> Worker:
    """Start the process that hands runs of one folder over; it outlives this one. What it cannot do stands in the runs.

    Raises:
        ValueError: there is no such launcher. OSError: the process or its log cannot be made.
    """
    outlives = get(to.launcher).outlives
    with appending(runs[0].path.parent / LOG) as log:
        process = subprocess.Popen(
            children.python("-m", __name__, to.launcher, to.address or "", *(str(run.path.resolve()) for run in runs)),
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


def main(words: Sequence[str]) -> int:
    """Hand runs over and see them through."""
    name, address, *paths = words
    runs = [Run(Path(path)) for path in paths]
    launcher = create(name, **({"address": address} if address else {}))
    try:
        launcher.submit(runs)
    except (ValueError, ImportError, OSError) as error:
        for run in runs:
            _refused(run, explain(error))
        return 1
    for _ in launcher.ended():
        pass
    return 0


def _refused(run: Run, sentence: str) -> None:
    with suppress(lock.Held), Writer(run) as writer:
        writer.log(sentence)
        writer.status(FAILED, phase="failed", sentence=sentence)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
