"""List the metrics, or explain one with every knob.

`lab metrics` lists them; `lab metrics map_at_r` explains one.
"""

from lab.cli import _catalogued


def add_arguments(parser):
    _catalogued.add_arguments(parser, "metric")


def run(arguments):
    import lab.metrics

    _catalogued.run(arguments, lab.metrics)
