"""Follow a training from another terminal, until it ends.

It ends with the run; of a run that has ended it shows the last steps. The exit status is 0 when the run finished, else
1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lab.cli._output import add_flags

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
    from lab.cli._scores import say_state
    from lab.cli.runs import say_if_queued

    run = lab.runs.open(arguments.run, arguments.runs)
    say_if_queued(run)
    records = _with_findings(run, itertools.chain(run.metrics()[-LAST:], coming(run)))
    if arguments.json:
        for record in records:
            print(json.dumps(record), flush=True)
    else:
        drain(filter(None, map(record_of, records)))
    status = run.status
    say_state(run.name, status)
    return 0 if status["state"] == "finished" else 1


def _with_findings(run: Run, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the records, and after each check-up its new findings, as a note and as a finding in JSON."""
    from lab.report.curves import verdict
    from lab.verdict import in_words

    seen: set[str] = set()
    for record in records:
        yield record
        if record["kind"] != "checkup":
            continue
        for finding in verdict(run):
            if finding.name not in seen:
                yield {
                    "kind": "note",
                    "sentence": in_words([finding])[0],
                    "finding": finding.as_dict(),
                }
            seen.add(finding.name)
