"""`python -m lab.launchers PLACE RUN ...`: hand runs to a launcher and wait until they end, for `lab.launchers.send`.

PLACE is JSON: the fields of `lab.runs.process.Sent`. Ray ends the tasks of a process that is gone, as the process of a
page is once its tab is closed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lab import launchers
from lab.core.explain import explain
from lab.runs import lock
from lab.runs.folder import FAILED, Run
from lab.runs.process import Sent
from lab.runs.writer import Writer


def main(words: Sequence[str]) -> int:
    """Train the runs; an error of the launcher is written into them."""
    place, *paths = words
    runs = [Run(Path(path)) for path in paths]
    try:
        launcher = launchers.from_sent(Sent(**json.loads(place)))
        launcher.submit(runs)
    except Exception as error:  # submitit and Ray have their own errors; nobody else would see them
        for run in runs:
            with suppress(lock.Held), Writer(run) as writer:
                writer.log(explain(error))
                writer.status(FAILED, phase="failed", sentence=explain(error))
        return 1
    for _ in launcher.ended():
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
