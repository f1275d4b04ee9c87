"""List the figures, explain one, or draw it into a picture.

`lab figures` lists them; `lab figures h_minus` explains one; `lab figures h_minus --save h_minus.png --figure.tau 0.02`
draws it, as png, svg or pdf; as html its sliders live without Python, and `--slide tau rho` names which.
Figures of finished runs take them from `--of RUN RUN`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.cli import _catalogued
from lab.cli._output import add_flags, check_place, say
from lab.core.files import write_text

if TYPE_CHECKING:
    from lab.figures import Figure
    from lab.runs import Run


WIDEST = 10_000
"""Pixels that a picture may be wide."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    flag = parser.add_argument
    _catalogued.add_arguments(parser, "figure")
    flag("--save", metavar="FILE", help="draw into this png, svg, pdf, webp, jpeg or html")
    flag(
        "--slide",
        nargs="+",
        metavar="KNOB",
        help="in html: at most two knobs that move (default: what the figure names, else up to two that need no "
        "training; none with --of)",
    )
    flag("--width", type=int, default=1000, help="width in pixels (default 1000)")
    flag("--of", nargs="+", metavar="RUN", default=(), help="runs to show, for figures of runs (default those bundled)")
    add_flags(parser, "runs")
    named = next((word for word in words[1:] if not word.startswith("-")), None)
    if named is not None and words[:1] == ["figures"]:
        import lab.figures
        from lab.cli._flags import add_knobs

        if named in lab.figures.names():
            add_knobs(parser, "figure", lab.figures.get(named).Knobs, f"knobs of {named}")


def run(arguments: argparse.Namespace) -> int:
    import lab.figures
    import lab.runs
    from lab.cli._flags import collect
    from lab.figures.saving import check_format

    if arguments.save is None:
        _catalogued.run(arguments, lab.figures)
        return 0
    if arguments.name is None:
        raise ValueError("Name a figure to draw: `lab figures NAME --save FILE`; `lab figures` lists them.")
    if not 1 <= arguments.width <= WIDEST:
        raise ValueError(f"--width must be from 1 to {WIDEST:,}, got {str(arguments.width)[:20]}.")
    kind = lab.figures.get(arguments.name)
    check_place(arguments.save)
    if not arguments.save.lower().endswith(".html"):
        check_format(Path(arguments.save).suffix.removeprefix(".").lower())
    runs = [lab.runs.open(name, arguments.runs) for name in arguments.of] or None
    figure = kind(**collect(arguments, "figure", kind.Knobs))
    if arguments.save.lower().endswith(".html"):
        return _save_page(figure, arguments, runs)
    if arguments.slide:
        raise ValueError("--slide is for a page: give --save a path that ends in .html.")
    drawn = figure.figure(runs)
    saved = lab.figures.save_figure(drawn, arguments.save, arguments.width)
    say(drawn.layout.meta["alt"])
    print(saved)
    return 0


def _save_page(figure: Figure, arguments: argparse.Namespace, runs: list[Run] | None) -> int:
    from lab.figures.live_page import live_page, trains

    if trains(figure, arguments.slide, runs):
        chosen = type(figure).stops and not arguments.slide  # with a view to how long they take
        every = "Training at every stop beforehand: up to half a minute."
        say(every if chosen else "Training what the page shows; this may take minutes.")
    page = live_page(figure, arguments.slide, runs)
    write_text(Path(arguments.save), page)
    say(f"A page of {len(page) / 1e6:.1f} MB that needs neither Python nor a network.")
    print(arguments.save)
    return 0
