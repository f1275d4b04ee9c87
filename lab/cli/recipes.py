"""List the recipes of published results, or print one.

`lab recipes` lists them with published score and expected hours (estimated, not measured: steps x images x work);
`lab recipes NAME` prints one, with a head that says where its knobs come from. `lab train --config NAME --data.root
FOLDER` trains it; any other flag changes a knob. Pretrained weights come from timm; on a machine without a network
download them elsewhere and name the file: `--encoder.weights FILE`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, print_json, show

if TYPE_CHECKING:
    from lab.papers.recipes import Recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="print this recipe instead of listing all")
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> None:
    import lab.papers.recipes

    if arguments.name is None:
        listed = [lab.papers.recipes.get(name) for name in lab.papers.recipes.names()]
        show([_line(recipe) for recipe in listed], as_json=arguments.json)
        return
    recipe = lab.papers.recipes.get(arguments.name)
    if not arguments.json:
        print(recipe.text, end="")
        return
    print_json(
        {
            **_line(recipe),
            "command": recipe.command,
            "head": recipe.head,
            "config": recipe.sections,
            "published": [vars(row) for row in recipe.rows],
            "cost": vars(recipe.cost),
        }
    )


def _line(recipe: Recipe) -> dict:
    first = recipe.rows[0]
    column, value = next(iter(first.values.items()))
    return {
        "recipe": recipe.name,
        "data": " ".join(filter(None, (first.data, first.part))),
        "method": first.method,
        "encoder": first.encoder,
        "dim": first.dim,
        "published": f"{column} {100 * value:.1f}",
        "source": first.source,
        "million weights": recipe.cost.millions,
        "hours (estimated)": float(f"{recipe.cost.hours:.2g}"),
    }
