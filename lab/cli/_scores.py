"""What a run came to, as a table."""

from __future__ import annotations

from lab.cli._output import say


def show_scores(run, *, as_json: bool) -> None:
    """Scores of every evaluated split on stdout; state and sentence on stderr."""
    from lab.cli._output import print_json, show

    scores = {split: (run.scores(split) or {}).get("values", {}) for split in run.splits}
    status = run.status
    if as_json:
        print_json({"run": str(run.path), "state": status["state"], "scores": scores})
        return
    if scores:
        columns = list(dict.fromkeys(c for values in scores.values() for c in values))
        show([{"split": split, **{c: v.get(c) for c in columns}} for split, v in scores.items()], as_json=False)
    say(" ".join(filter(None, (f"{run.path}: {status['state']}.", status.get("sentence")))))
