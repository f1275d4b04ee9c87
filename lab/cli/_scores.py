"""What a run came to, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.cli._output import say

if TYPE_CHECKING:
    from lab.runs import Run


def rows_of(run: Run) -> list[dict]:
    """One row a split that has scores: which weights they are of, then every column."""
    scores = {split: stored["values"] for split in run.splits if (stored := run.scores(split))}
    columns = dict.fromkeys(column for values in scores.values() for column in values)
    return [
        {"split": split, "of": run.origin(split, "scores").words, **{column: values.get(column) for column in columns}}
        for split, values in scores.items()
    ]


def show_scores(run: Run, *, as_json: bool) -> None:
    """Scores of every evaluated split on stdout; state and sentence on stderr."""
    from lab.cli._output import print_json, show

    status = run.status
    if as_json:
        scores = {split: (run.scores(split) or {}).get("values", {}) for split in run.splits}
        of = {split: run.origin(split, "scores").words for split in scores}
        print_json({"run": str(run.path), "state": status["state"], "scores": scores, "of": of})
        return
    if rows := rows_of(run):
        show(rows, as_json=False)
    say(" ".join(filter(None, (f"{run.path}: {status['state']}.", status.get("sentence")))))
