"""Follow a running training from another terminal: steps, validations, scores, until it ends.

Of a run that has ended it shows the last steps. The exit status is 0 when the run finished, else 1.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, say

LAST = 20
"""Records of the past to begin with."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "run", "runs", "json")


def run(arguments: argparse.Namespace) -> int:
    import itertools
    import json

    import lab.runs
    from lab.cli._following import coming, record_of
    from lab.cli._progress import drain

    run = lab.runs.open(arguments.run, arguments.runs)
    records = itertools.chain(run.metrics()[-LAST:], coming(run))
    if arguments.json:
        for one in records:
            print(json.dumps(one), flush=True)
    else:
        drain(record for one in records if (record := record_of(one)) is not None)
    status = run.status
    say(" ".join(filter(None, (f"{run.name}: {status['state']}.", status.get("sentence")))))
    return 0 if status["state"] == "finished" else 1
