"""Print what a run holds and its scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.cli._output import print_json, say, show, visible_lines

if TYPE_CHECKING:
    from lab.runs import Run


def rows_of(run: Run) -> list[dict]:
    """Return one row per split that has scores: the checkpoint they are of, then every column."""
    scores = {split: values for split, values in values_of(run).items() if values}
    columns = dict.fromkeys(column for values in scores.values() for column in values)
    rows = []
    for split, values in scores.items():
        row: dict[str, Any] = {"split": split, "of": run.origin(split, "scores").words}
        for column in columns:
            row[column] = values.get(column)
        rows.append(row)
    return rows


def values_of(run: Run) -> dict[str, dict]:
    """Return each split's scores, empty where it has none."""
    return {split: (run.scores(split) or {}).get("values", {}) for split in run.splits}


def show_scores(run: Run, *, as_json: bool) -> None:
    """Print the scores of every evaluated split to standard output; state and sentence to standard error."""
    status = run.status
    if as_json:
        scores = values_of(run)
        print_json(
            {
                "run": str(run.path),
                "state": status["state"],
                "scores": scores,
                "of": {split: run.origin(split, "scores").words for split in scores},
                "warnings": run.score_warnings(),
            }
        )
        return
    rows = rows_of(run)
    if rows:
        show(rows, as_json=False)
    warn(run)
    say_state(run.path, status)


def say_state(run: object, status: dict) -> None:
    """Print a run's state, and the sentence that explains it, if there is one."""
    say(f"{run}: {status['state']}. {status.get('sentence') or ''}".rstrip())


def warn(run: Run) -> None:
    """Print what a reader of the scores has to know, each sentence once."""
    for words in run.score_warnings():
        say(f"Note: {words}")


def show_import(run: Any, as_json: bool) -> None:
    """Print what an imported run holds, its scores, and where to look at it."""
    import numpy as np

    from lab.evaluation.scores import left_out_sentence
    from lab.integrations.importing.run import has_match

    # Labels of the queries of each split, and of the gallery where it is another part.
    labels: dict[str, list[np.ndarray]] = {}
    for split in run.splits:
        parts = [run.embeddings(split, part) for part in ("query", "gallery")]
        labels[split] = [part.labels for part in parts if part is not None]
    if as_json:
        queries = {split: len(parts[0]) for split, parts in labels.items()}
        facts = {
            "run": str(run.path),
            "queries": queries,
            "scores": values_of(run),
            "warnings": run.score_warnings(),
        }
        print_json(facts)
        return
    # Say how many vectors there are, then the scores, or why there are none.
    sizes = []
    for split, parts in labels.items():
        size = f"{len(parts[0]):,} vectors"
        if len(parts) == 2:
            size = f"{len(parts[0]):,} queries and a gallery of {len(parts[1]):,}"
        sizes.append(f"{size} in the {split} split")
    print(f"Run {run.name}: {', '.join(sizes)}")
    print(visible_lines(run.status["sentence"]))
    rows = rows_of(run)
    if rows:
        show(rows, as_json=False)
        for split, parts in labels.items():
            left_out = (run.scores(split) or {}).get("left_out", 0)
            sentence = left_out_sentence(left_out, len(parts[-1]))
            if sentence:
                print(f"{split.capitalize()}: {sentence}")
        warn(run)
    elif not run.dataset().class_names:
        print("Nothing was measured: the rows have no labels; say which column with --label.")
    elif not any(has_match(np.concatenate(parts)) for parts in labels.values()):
        print("Nothing was measured: no class has two images, so nothing is a true match.")
    else:
        print(f"Nothing was measured; `lab evaluate {run.path}` does it.")
    say(f"Look at it: lab app --runs {run.path.parent}")
