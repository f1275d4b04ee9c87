"""List the losses, or explain one with every knob.

`lab losses` lists them; `lab losses roadmap` explains one.
"""

from lab.cli import _catalogued


def add_arguments(parser):
    _catalogued.add_arguments(parser, "loss")


def run(arguments):
    import lab.losses

    _catalogued.run(arguments, lab.losses)
