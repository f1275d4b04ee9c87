"""What a run holds and came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.cli._output import print_json, say, show

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
    status = run.status
    if as_json:
        scores = {split: (run.scores(split) or {}).get("values", {}) for split in run.splits}
        of = {split: run.origin(split, "scores").words for split in scores}
        print_json({"run": str(run.path), "state": status["state"], "scores": scores, "of": of})
        return
    if rows := rows_of(run):
        show(rows, as_json=False)
    say(" ".join(filter(None, (f"{run.path}: {status['state']}.", status.get("sentence")))))


def told_import(run: Any, as_json: bool) -> int:
    """Say what a run that was made at once holds, and where to look at it."""
    sizes = {split: [len(one) for one in _parts(run, split)] for split in run.splits}
    if as_json:
        scores = {split: (run.scores(split) or {}).get("values", {}) for split in run.splits}
        print_json({"run": str(run.path), "queries": {split: of[0] for split, of in sizes.items()}, "scores": scores})
        return 0
    print(f"Run {run.name}: " + ", ".join(_counted(split, *of) for split, of in sizes.items()))
    if not any(run.scores(split) for split in run.splits):
        print(f"Nothing was measured{_why_not(run)}")
    say(f"Look at it: lab app --runs {run.path.parent}")
    return 0


def _parts(run: Any, split: str) -> list[Any]:
    """The embeddings of the queries, and of the gallery where it is another part."""
    return [one for part in ("query", "gallery") if (one := run.embeddings(split, part)) is not None]


def _counted(split: str, queries: int, gallery: int | None = None) -> str:
    if gallery is None:
        return f"{queries:,} vectors in the {split} split"
    return f"{queries:,} queries and a gallery of {gallery:,} in the {split} split"


def _why_not(run: Any) -> str:
    import numpy as np

    labels = [np.concatenate([one.labels for one in _parts(run, split)]) for split in run.splits]
    if all(len(np.unique(of)) == len(of) for of in labels):
        return ": no class has two images, so nothing is a true match."
    return f"; `lab evaluate {run.path}` does it."
