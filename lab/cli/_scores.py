"""What a run holds and came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.cli._output import print_json, say, show, visible_lines

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


def values_of(run: Run) -> dict[str, dict]:
    """Each split's scores, empty where it has none."""
    return {split: (run.scores(split) or {}).get("values", {}) for split in run.splits}


def show_scores(run: Run, *, as_json: bool) -> None:
    """Scores of every evaluated split on stdout; state and sentence on stderr."""
    status = run.status
    if as_json:
        scores = values_of(run)
        of = {split: run.origin(split, "scores").words for split in scores}
        about = {"run": str(run.path), "state": status["state"], "scores": scores, "of": of}
        print_json(about | {"warnings": run.score_warnings()})
        return
    if rows := rows_of(run):
        show(rows, as_json=False)
    warn(run)
    say(" ".join(filter(None, (f"{run.path}: {status['state']}.", status.get("sentence")))))


def warn(run: Run) -> None:
    """Say what a reader of the scores has to know, each sentence once."""
    for words in run.score_warnings():
        say(f"Note: {words}")


def told_import(run: Any, as_json: bool) -> None:
    """Say what a run that was made at once holds, and where to look at it."""
    import numpy as np

    from lab.evaluation.scores import left_out_sentence
    from lab.integrations.importing.run import has_match

    def labels_of(split: str) -> list[np.ndarray]:
        """Of the queries, and of the gallery where it is another part."""
        return [one.labels for part in ("query", "gallery") if (one := run.embeddings(split, part)) is not None]

    labels, scores = {split: labels_of(split) for split in run.splits}, values_of(run)
    if as_json:
        queries = {split: len(of[0]) for split, of in labels.items()}
        about = {"run": str(run.path), "queries": queries, "scores": scores, "warnings": run.score_warnings()}
        print_json(about)
        return
    counts = {split: [f"{len(one):,}" for one in of] for split, of in labels.items()}
    words = {1: "{} vectors", 2: "{} queries and a gallery of {}"}
    sizes = [f"{words[len(of)].format(*of)} in the {split} split" for split, of in counts.items()]
    print(f"Run {run.name}: {', '.join(sizes)}")
    print(visible_lines(run.status["sentence"]))
    if rows := rows_of(run):
        show(rows, as_json=False)
        for split, of in labels.items():
            scores_of = run.scores(split) or {}
            if told := left_out_sentence(scores_of.get("left_out", 0), len(of[-1])):
                print(f"{split.capitalize()}: {told}")
        warn(run)
    else:
        whole = [np.concatenate(of) for of in labels.values()]
        why = "" if any(map(has_match, whole)) else ": no class has two images, so nothing is a true match."
        why = why if run.dataset().class_names else ": the rows have no labels; say which column with --label."
        print(f"Nothing was measured{why or f'; `lab evaluate {run.path}` does it.'}")
    say(f"Look at it: lab app --runs {run.path.parent}")
