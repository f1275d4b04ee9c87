"""List the metrics, or explain one with every knob.

`lab metrics` lists them; `lab metrics map_at_r` explains one.
"""

import argparse

from lab.cli import _catalogued


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _catalogued.add_arguments(parser, "metric")


def run(arguments: argparse.Namespace) -> None:
    import lab.metrics

    _catalogued.run(arguments, lab.metrics)
