"""`python -m lab.launchers PLACE RUN ...`: hand runs to a launcher and see them through, as `lab.launchers.send` asks.

PLACE is JSON: what `lab.runs.process.Sent` holds. Ray ends the tasks of a process that is gone, and a page is gone
whenever somebody closes it.
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
    """Train them; what the launcher cannot do stands in the runs."""
    place, *paths = words
    runs = [Run(Path(path)) for path in paths]
    try:
        launcher = launchers.from_sent(Sent(**json.loads(place)))
        launcher.submit(runs)
    except Exception as error:  # submitit and Ray have kinds of their own; nobody else would hear of it
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
