"""Every study by its name: a sentence of a paper, the trainings that try it, and what the paper found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from lab.core.explain import near
from scripts.studies import anchors, contextual, recall, roadmap
from scripts.studies.study import Study


@cache
def studies() -> dict[str, Study]:
    """All studies under the names of their variables, paper by paper."""
    found = {}
    for paper in (recall, roadmap, anchors, contextual):
        for name, value in vars(paper).items():
            if isinstance(value, Study):
                found[name] = value
    return found


def select(names: Sequence[str] = ()) -> dict[str, Study]:
    """Studies by name; all unless some are named.

    Raises:
        ValueError: no such study; lists those there are.
    """
    known = studies()
    for name in names:
        if name not in known:
            meant = near(name, known)
            hint = f" Did you mean {meant!r}?" if meant else ""
            raise ValueError(f"There is no study {name!r}.{hint} Known: {', '.join(known)}.")
    return {name: known[name] for name in names or known}
