"""Runs on the queries that all of them have: differences with intervals, classes, and where they disagree most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from lab.core.explain import explain
from lab.data import ImageSet
from lab.report.page import _look, _queries
from lab.report.same_queries import same_queries
from lab.runs.folder import Run

MOST = 3
"""Queries that are shown where the runs disagree."""


def of(runs: Sequence[Run], split: str, images_of: Callable[[Run], ImageSet], most: int = MOST) -> str:
    """Every run against the first one, with so many queries; a sentence where they cannot be compared so."""
    try:
        found, images = same_queries(runs, split), images_of(runs[-1])
    except (OSError, ValueError) as error:
        return f"<p>{escape(explain(error))}</p>"
    column = next(name for name in (*_queries.PREFERRED, *found.values) if name in found.values)
    means = np.nanmean(found.values[column], axis=1)
    rows = [[found.names[0], f"{means[0]:.3f}", None]]
    rows += [
        [name, f"{means[at]:.3f}", str(found.difference(column, 0, at))] for at, name in enumerate(found.names) if at
    ]
    parts = [_look.table(f"{column} on {found.words}.", ["run", column, f"against {found.names[0]}"], rows)]
    parts += [f"<p>{escape(found.helped(column, 0, at, images.class_names))}</p>" for at in range(1, len(runs))]
    for place in found.disagreement(column)[:most]:
        parts.append(f"<h3>They disagree on {escape(str(images.keys[found.items[place]]))}</h3>")
        for at in dict.fromkeys(
            (int(found.values[column][:, place].argmax()), int(found.values[column][:, place].argmin()))
        ):
            run, values = runs[at], found.values[column][at]
            row = np.flatnonzero(run.embeddings(split).items == found.items[place])
            shown = np.zeros(len(run.embeddings(split)))
            shown[row] = values[place]
            parts.append(f"<p>{escape(run.name)}</p>{''.join(_queries.drawn(run, split, images, row, shown))}")
    return "".join(parts)
