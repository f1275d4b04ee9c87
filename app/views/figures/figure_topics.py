"""All figures, by the question that their folder asks. A new one shows up without an edit here."""

from __future__ import annotations

import importlib
import re

import lab.figures

FLAGSHIP = "surrogates"
"""The figure that the page opens with."""
MORE = "More"
"""Topic of the figures from outside the package."""


def topics() -> dict[str, list[str]]:
    """Question to names of figures: the flagship's first, and in the order in which a paper prints them."""
    shelves: dict[str, list[str]] = {}
    for group, names in lab.figures.groups().items():
        whole = [name for name in names if name in lab.figures.entries()]
        if whole:
            shelves[_question(group)] = sorted(whole, key=_place)
    order = sorted(shelves, key=lambda title: (FLAGSHIP not in shelves[title], title == MORE))
    return {title: shelves[title] for title in order}


def _kind(name: str) -> type[lab.figures.Figure]:
    return lab.figures.get(name)


def _question(group: str) -> str:
    """What the docstring of a folder of figures asks."""
    return MORE if group == "more" else (importlib.import_module(f"lab.figures.{group}").__doc__ or group).strip()


def _place(name: str) -> tuple[bool, str, int, str]:
    """The flagship, then figures by paper and number, then what only equations and slides tell."""
    source = _kind(name).source
    match = re.search(r"figures? (\d+)", source)
    return (name != FLAGSHIP, source[:3], int(match.group(1)) if match else 99, name)
