"""Scores of each run with intervals over the classes that were tested."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.core.estimates import over_groups
from lab.report._lines import Report
from lab.report.page import _look
from lab.runs.folder import Run


def over_classes(runs: Sequence[Run], report: Report) -> str:
    """A table: one line a run. Columns that are no mean over queries have no interval."""
    rows = []
    for run in runs:
        per_query, labels = run.per_query(report.split), run.embeddings(report.split).labels
        values = (run.scores(report.split) or {})["values"]
        rows.append([run.name, *(_cell(values.get(c), per_query.get(c), labels, report.level) for c in report.columns)])
    caption = (
        f"Each run by itself, in percent: ± half of the {100 * report.level:g} % interval over the classes of the "
        "queries, for queries of one class are not independent. It says how far other classes would move "
        "the score, not another seed."
    )
    return _look.table(caption, ["run", *report.columns], rows)


def _cell(value: float | None, measured: np.ndarray | None, labels: np.ndarray, level: float) -> str | None:
    if value is None:
        return None
    estimate = None if measured is None else over_groups(measured, labels, level)
    if estimate is None or estimate.half is None or not np.isclose(estimate.mean, value, atol=1e-6):
        return f"{100 * value:.1f}"
    return f"{100 * value:.1f} ± {100 * estimate.half:.1f}"
