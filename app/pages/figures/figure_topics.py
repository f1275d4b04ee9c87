"""The figures that answer at once, shelved by the paper they come from. A new figure shows up without an edit here."""

from __future__ import annotations

import re

import lab.figures

FLAGSHIP = "surrogates"
TOGETHER = "All surrogates on one axis"
PAPERS = {
    "000": "Recall@k (RS@k)",
    "001": "Average precision (ROADMAP)",
    "002": "Metrics and protocols",
    "003": "Class anchors",
    "004": "Contextual similarity",
}
"""Papers by the number under which figures quote them in `source`."""
OTHERS = "Elsewhere"
AT_ONCE = ("instant", "static")


def topics() -> dict[str, list[str]]:
    """Topic to names of figures: the flagship first, then paper by paper, in the order in which a paper prints them."""
    shelves: dict[str, list[str]] = {TOGETHER: [FLAGSHIP]} | {title: [] for title in (*PAPERS.values(), OTHERS)}
    for name in lab.figures.names():
        kind = lab.figures.get(name)
        if name != FLAGSHIP and kind.tier in AT_ONCE:
            shelves[_topic(kind.source)].append(name)
    ordered = {title: sorted(names, key=_place) for title, names in shelves.items()}
    return {title: names for title, names in ordered.items() if names}


def _topic(source: str) -> str:
    return PAPERS.get(source[:3], OTHERS)


def _place(name: str) -> tuple[int, str]:
    """Figures by number, then what only equations and slides tell."""
    found = re.search(r"figures? (\d+)", lab.figures.get(name).source)
    return (int(found.group(1)) if found else 99, name)
