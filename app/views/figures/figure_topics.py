"""All figures, by the question that their folder asks. A new one shows up without an edit here."""

import importlib
import re

import lab.figures

FLAGSHIP = "surrogates"
"""The figure that the page opens with."""
MORE = "More"
"""Topic of the figures from outside the package."""


def topics() -> dict[str, list[str]]:
    """Question, as the docstring of a folder asks it, to names of figures: the flagship's first, and in the order in
    which a paper prints them."""

    def place(name: str) -> tuple[bool, str, int, str]:
        source = lab.figures.get(name).source
        match = re.search(r"figures? (\d+)", source)  # what only equations and slides tell comes last
        return name != FLAGSHIP, source[:3], int(match[1]) if match else 99, name

    shelves: dict[str, list[str]] = {}
    for group, names in lab.figures.groups().items():
        question = "" if group == "more" else importlib.import_module(f"lab.figures.{group}").__doc__ or group
        if whole := [name for name in names if name in lab.figures.entries()]:
            shelves[question.strip() or MORE] = sorted(whole, key=place)
    order = sorted(shelves, key=lambda title: (FLAGSHIP not in shelves[title], title == MORE))
    return {title: shelves[title] for title in order}
