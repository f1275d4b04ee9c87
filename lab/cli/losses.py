"""List the losses, or explain one with every knob.

`lab losses` lists them; `lab losses roadmap` explains one.
"""

import argparse

from lab.cli import _catalogued


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _catalogued.add_arguments(parser, "loss")


def run(arguments: argparse.Namespace) -> None:
    import lab.losses

    _catalogued.run(arguments, lab.losses)
