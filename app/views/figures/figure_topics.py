"""All figures, grouped by the question of their folder. New figures appear without an edit here."""

import importlib
import re

import lab.figures

FLAGSHIP = "surrogates"
"""The figure that the page shows first."""

MORE = "More"
"""Topic of figures of plug-ins."""


def topics() -> dict[str, list[str]]:
    """Return the names of figures by question (the docstring of their folder).

    The topic of the flagship comes first. Figures have the order of the paper.
    """

    def position(name: str) -> tuple[bool, str, int, str]:
        source = lab.figures.get(name).source
        match = re.search(r"figures? (\d+)", source)
        number = int(match[1]) if match else 99  # figures after an equation or a slide come last
        return name != FLAGSHIP, source[:3], number, name

    by_question: dict[str, list[str]] = {}
    for group, names in lab.figures.groups().items():
        question = MORE
        if group != "more":
            question = (importlib.import_module(f"lab.figures.{group}").__doc__ or group).strip()
        usable = [name for name in names if name in lab.figures.entries()]
        if usable:
            by_question[question] = sorted(usable, key=position)
    order = sorted(
        by_question, key=lambda question: (FLAGSHIP not in by_question[question], question == MORE)
    )
    return {question: by_question[question] for question in order}
