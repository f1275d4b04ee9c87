"""Follow a training from another terminal, until it ends.

It ends with the run; of a run that has ended it shows the last steps. The exit status is 0 when the run finished, else
1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lab.cli._output import add_flags, say

if TYPE_CHECKING:
    from lab.runs import Run

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
    from lab.launchers.background.queue import Queue

    run = lab.runs.open(arguments.run, arguments.runs)
    if run.name in (queue := Queue(run.path.parent)).names and (sentence := queue.sentence):
        say(sentence)
    records = _judged(run, itertools.chain(run.metrics()[-LAST:], coming(run)))
    if arguments.json:
        for one in records:
            print(json.dumps(one), flush=True)
    else:
        drain(record for one in records if (record := record_of(one)) is not None)
    status = run.status
    say(" ".join(filter(None, (f"{run.name}: {status['state']}.", status.get("sentence")))))
    return 0 if status["state"] == "finished" else 1


def _judged(run: Run, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records, and after each check-up what it brought to light, as a note or as a finding in JSON."""
    from lab.report.curves import verdict
    from lab.verdict import in_words

    told: set[str] = set()
    for record in records:
        yield record
        for one in verdict(run) if record["kind"] == "checkup" else ():
            if one.name not in told:
                yield {"kind": "note", "sentence": in_words([one])[0], "finding": one.as_dict()}
            told.add(one.name)
