"""List losses, metrics, data sets, recipes, ...; or explain one.

`lab list` names the kinds, `lab list losses` lists the losses, `lab list losses roadmap` explains one. `lab list
recipes NAME` prints a recipe of a published result (its hours are estimated, not measured: steps x images x work; an
embedding layer of 512 makes the 23.5 million weights of ResNet-50 24.5, and the 87.5 of ViT-B/32 87.8). `lab list data
sop ~/data/sop` reads the files of a data set where you put it: what is missing, wrong or corrupt, how many images its
classes have; `--download` fetches it there first, if it may be fetched.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lab.cli._kept import kept
from lab.cli._output import add_flags, print_json, say, show
from lab.core.explain import near

if TYPE_CHECKING:
    from lab.papers.recipes import Recipe

HEADING = "Look up and keep in order"
PLACE = 40

KINDS = {
    "losses": "losses",
    "metrics": "metrics",
    "data": "data",
    "encoders": "encoders",
    "samplers": "samplers",
    "wrappers": "wrappers",
    "indexes": "search",
    "rerankers": "reranking",
    "exporters": "exporters",
    "launchers": "launchers",
    "figures": "figures",
    "protocols": "protocols",
    "recipes": "papers.recipes",
}
"""What can be listed, and the package of `lab` that holds the entries."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("kind", nargs="?", metavar="KIND", help=f"what to list: {', '.join(KINDS)}")
    flag("name", nargs="?", metavar="NAME", help="explain this one instead of listing all")
    flag(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="of a data set: where it lies, to be checked and counted",
    )
    flag("--download", action="store_true", help="fetch the data set into FOLDER first")
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> int:
    kind = arguments.kind
    name = arguments.name
    if arguments.folder and kind != "data" or arguments.download and not arguments.folder:
        raise ValueError(
            "A folder is a data set's, and --download fetches into one: lab list data NAME FOLDER."
        )
    if kind is None:
        rows = []
        for listed_kind, package_name in KINDS.items():
            entries = importlib.import_module(f"lab.{package_name}").names()
            rows.append({"kind": listed_kind, "there are": len(entries)})
        show(rows, as_json=arguments.json)
        return 0
    if kind not in KINDS:
        meant = near(kind, KINDS)
        hint = f" Did you mean {meant!r}?" if meant else ""
        raise ValueError(f"There is no kind {kind!r} to list.{hint} Known: {', '.join(KINDS)}.")
    package = importlib.import_module(f"lab.{KINDS[kind]}")
    if arguments.folder:
        return _folder(name, arguments)
    if kind == "recipes":
        _recipes(arguments)
    elif name is None:
        show(kept(f"catalogue-{kind}", lambda: listed(package)), as_json=arguments.json)
    else:
        _explain(package.get(name), arguments)
    return 0


def _explain(entry: Any, arguments: argparse.Namespace) -> None:
    """Print the docstring of an entry, and each of its knobs."""
    from lab.core.knobs import describe

    if not arguments.json:
        print(f"{arguments.name}: {inspect.getdoc(entry)}\n")
    rows = []
    for knob in describe(entry.Knobs):
        row = {"knob": knob.name, "default": "required" if knob.required else str(knob.default)}
        for fact in ("range", "scale", "unit", "source", "help"):
            row[fact] = getattr(knob, fact)
        rows.append(row)
    show(rows, as_json=arguments.json, empty="It has no knobs.")


def listed(package: ModuleType) -> list[dict]:
    """Return name, purpose and knobs of every entry, and the family of a loss; the reason if it cannot be loaded."""
    from lab.core.knobs import describe

    rows = []
    errors = {}
    for name in package.names():
        try:
            entry = package.get(name)
        except ImportError as error:  # a plug-in of another package
            errors[name] = str(error)
            continue
        row = {"name": name}
        if hasattr(entry, "family"):
            row["family"] = entry.family
        row["purpose"] = " ".join((inspect.getdoc(entry) or "").split("\n\n")[0].split())
        row["knobs"] = " ".join(knob.name for knob in describe(entry.Knobs))
        rows.append(row)
    blank = dict.fromkeys(rows[0], "")
    return rows + [
        {**blank, "name": name, "purpose": sentence} for name, sentence in errors.items()
    ]


def _folder(name: str, arguments: argparse.Namespace) -> int:
    """Print what is wrong with a data set in its folder, or how large its classes are; return 1 if it has problems."""
    import lab.data

    problems = []
    if arguments.download:
        problems = _problems(lab.data.download(name, arguments.folder))
    if not problems:
        problems = _problems(lab.data.checking(name, arguments.folder))
    sizes = [] if problems else _sizes(name, arguments.folder)
    if arguments.json:
        print_json({"problems": problems, "splits": sizes})
    elif problems:
        show([{"problem": problem} for problem in problems], as_json=False)
    else:
        say(f"{name} at {arguments.folder} is complete.")
        show(sizes, as_json=False)
    return 1 if problems else 0


def _sizes(name: str, path: str) -> list[dict]:
    """One row a split: images, classes and images a class."""
    import numpy as np

    import lab.data
    from lab.core.knobs import describe

    required = [knob.name for knob in describe(lab.data.get(name).Knobs) if knob.required]
    dataset = lab.data.create(name, **dict.fromkeys(required, path))
    quartiles = {"least": 0, "quarter": 25, "half": 50, "three quarters": 75, "most": 100}
    rows = []
    for split, part in dataset.splits.items():
        counts = part.by_class(dataset.labels)[1]
        row = {
            "split": split,
            "images": len(part),
            "classes": len(counts),
            "mean": round(float(counts.mean()), 1),
        }
        for label, share in quartiles.items():
            row[label] = int(np.percentile(counts, share, method="lower"))
        rows.append(row)
    return rows


def _problems(records: Iterator[Any]) -> list[str]:
    """Show how far the work is, and return the problems that were found, each once."""
    from lab.cli._progress import follow

    return list(
        dict.fromkeys(record.sentence for record in follow(records) if hasattr(record, "sentence"))
    )


def _recipes(arguments: argparse.Namespace) -> None:
    """Print all recipes with published score and expected hours, or one with the sources of its knobs."""
    import lab.papers.recipes

    if arguments.name is None:
        recipes = map(lab.papers.recipes.get, lab.papers.recipes.names())
        show([_line(recipe) for recipe in recipes], as_json=arguments.json)
        return
        return
    recipe = lab.papers.recipes.get(arguments.name)
    if not arguments.json:
        print(recipe.text, end="")
        return
    facts = _line(recipe)
    facts |= {
        "command": recipe.command,
        "head": recipe.head,
        "config": recipe.sections,
        "cost": vars(recipe.cost),
    }
    print_json({**facts, "published": [vars(row) for row in recipe.rows]})


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
        "million weights (backbone)": recipe.cost.millions,
        "hours (estimated)": float(f"{recipe.cost.hours:.2g}"),
    }
