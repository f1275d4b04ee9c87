"""Draw the papers' figures, use their protocols, try their claims.

`lab papers` names them. `lab list recipes` has a configuration for each row that their authors trained.
"""

import argparse

from lab.cli._output import add_flags, show

HEADING = "Look up and keep in order"
PLACE = 42


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> None:
    from lab.papers.tables import TITLES

    show(
        [{"paper": title.short, "title": title.full} for title in TITLES.values()],
        as_json=arguments.json,
    )
