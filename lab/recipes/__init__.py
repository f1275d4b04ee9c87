"""Recipes: one YAML configuration for each published row, headed by its command, its cost and its published score.

`lab recipes` lists them, `lab train --config NAME --data.root FOLDER` trains one.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """The recipes in alphabetical order; reads a folder and imports nothing."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.yaml")))


def path(name: str) -> Path:
    """The YAML file of a recipe.

    Raises:
        ValueError: there is no recipe of that name.
    """
    if name not in names():
        raise ValueError(f"There is no recipe {name!r}; `lab recipes` lists the {len(names())} there are.")
    return FOLDER / f"{name}.yaml"
