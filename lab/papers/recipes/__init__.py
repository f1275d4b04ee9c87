"""Recipes: a YAML configuration for each published row that can be trained, headed by command, cost and score.

`lab list recipes` lists them, `lab train --config NAME --data.root FOLDER` trains one. The numbers in the heads are
those of `lab.papers.tables` and `Recipe.cost`; tests check that they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import lab.papers.tables
from lab.core import yaml_reader
from lab.papers.cost import Cost

__all__ = ["Cost", "Recipe", "get", "names", "path"]

FOLDER = Path(__file__).parent


@cache
def names() -> tuple[str, ...]:
    """Return the names of the recipes in alphabetical order, without importing anything heavy."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.yaml")))


def path(name: str) -> Path:
    """Return the YAML file of a recipe.

    Raises:
        ValueError: there is no recipe of that name; the message lists similar names.
    """
    if name not in names():
        import difflib

        near = difflib.get_close_matches(name, names(), n=3)
        hint = f" Near: {', '.join(near)}." if near else ""
        raise ValueError(
            f"There is no recipe {name!r}; `lab list recipes` lists the {len(names())} there are.{hint}"
        )
    return FOLDER / f"{name}.yaml"


def get(name: str) -> Recipe:
    """Return a recipe by its name.

    Raises:
        ValueError: there is no recipe of that name.
    """
    return Recipe(name, path(name).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Recipe:
    """One recipe: its name and the text of its file."""

    name: str
    text: str

    @cached_property
    def sections(self) -> dict[str, Any]:
        """The configuration as YAML gives it; `lab.runs.RunConfig.of` checks and completes it."""
        return dict(yaml_reader.load(self.text))

    @cached_property
    def rows(self) -> tuple[lab.papers.tables.PublishedRow, ...]:
        """The published rows that it reproduces: one, or one for each of its test sets."""
        return lab.papers.tables.of_recipe(self.name)

    @property
    def head(self) -> str:
        """The comment at the top of the file: title, command, scores, cost and sources of the knobs."""
        lines = []
        for line in self.text.splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.removeprefix("#").removeprefix(" "))
        return "\n".join(lines)

    @property
    def command(self) -> str:
        """The command that trains it, given the folder of the data set in its official layout."""
        return f"lab train --config {self.name} --data.root FOLDER"

    @property
    def cost(self) -> Cost:
        """Estimated work and hours of training; see `Cost`."""
        return Cost.of(self.sections)
