"""Recipes: a YAML configuration for each row that a paper's authors trained, headed by command, cost and score.

`lab list recipes` lists them, `lab train --config NAME --data.root FOLDER` trains one. The numbers in the heads are
those of `lab.papers.tables` and `Recipe.cost`; the tests hold them to each other.
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
    """The recipes in alphabetical order; reads a folder and imports nothing."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.yaml")))


def path(name: str) -> Path:
    """The YAML file of a recipe.

    Raises:
        ValueError: there is no recipe of that name; names the nearest ones.
    """
    if name not in names():
        import difflib

        near = difflib.get_close_matches(name, names(), n=3)
        hint = f" Near: {', '.join(near)}." if near else ""
        raise ValueError(f"There is no recipe {name!r}; `lab list recipes` lists the {len(names())} there are.{hint}")
    return FOLDER / f"{name}.yaml"


def get(name: str) -> Recipe:
    """A recipe by its name.

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
        """The published rows that it trains for: one, or one for each of its test sets."""
        return lab.papers.tables.of_recipe(self.name)

    @property
    def head(self) -> str:
        """The comment at its top, without the comment signs: what, command, scores, cost, where the knobs come from."""
        lines = self.text.splitlines()
        end = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
        return "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:end])

    @property
    def command(self) -> str:
        """What trains it; the data set lies in its official layout."""
        return f"lab train --config {self.name} --data.root FOLDER"

    @property
    def cost(self) -> Cost:
        """Estimated work and hours of training; see `Cost`."""
        return Cost.of(self.sections)
