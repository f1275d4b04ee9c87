"""Draw a figure: as a page with living sliders, or as a picture.

`lab papers figure h_minus` writes h_minus.html, whose sliders need no Python; `--save h_minus.png --figure.tau 0.02` a
picture (png, svg, pdf) with that setting. In a page `--slide tau rho` names the sliders. Figures of finished runs take
them from `--of RUN RUN`. `lab list figures` lists them all.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, check_place, say
from lab.core.files import write_text

if TYPE_CHECKING:
    from lab.figures import Figure
    from lab.runs import Run


WIDEST = 10_000
"""Pixels that a picture may be wide."""


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    import lab.figures
    from lab.cli._flags import add_knobs

    flag = parser.add_argument
    flag("figure", metavar="FIGURE", help="figure to draw")
    flag(
        "--save",
        metavar="FILE",
        help="draw into this html, png, svg, pdf, webp or jpeg (default FIGURE.html)",
    )
    flag(
        "--slide",
        nargs="+",
        metavar="KNOB",
        help="in html: at most two knobs that move (default: what the figure names, else up to two that need no "
        "training; none with --of)",
    )
    flag("--width", type=int, default=1000, help="width in pixels (default 1000)")
    flag(
        "--of",
        nargs="+",
        metavar="RUN",
        default=(),
        help="runs to show, for figures of runs (default those bundled)",
    )
    add_flags(parser, "runs", "allow")
    if words and words[0] in lab.figures.names():
        add_knobs(parser, "figure", lab.figures.get(words[0]).Knobs, f"knobs of {words[0]}")


def run(arguments: argparse.Namespace) -> None:
    import lab.figures
    import lab.runs
    from lab.cli._flags import collect
    from lab.figures.saving import check_format

    if not 1 <= arguments.width <= WIDEST:
        raise ValueError(f"--width must be from 1 to {WIDEST:,}, got {str(arguments.width)[:20]}.")
    kind = lab.figures.get(arguments.figure)
    place = Path(arguments.save or f"{arguments.figure}.html")
    check_place(place)
    page = place.suffix.lower() == ".html"
    if not page:
        check_format(place.suffix.removeprefix(".").lower())
    runs = [lab.runs.open(name, arguments.runs, arguments.allow) for name in arguments.of] or None
    figure = kind(**collect(arguments, "figure", kind.Knobs))
    if page:
        _save_page(figure, place, arguments.slide, runs)
        return
    if arguments.slide:
        raise ValueError("--slide is for a page: give --save a path that ends in .html.")
    drawn = figure.figure(runs)
    saved = lab.figures.save_figure(drawn, place, arguments.width)
    say(drawn.layout.meta["alt"])
    print(saved)


def _save_page(
    figure: Figure, place: Path, slide: list[str] | None, runs: list[Run] | None
) -> None:
    from lab.figures.live_page import live_page, trains

    if trains(figure, slide, runs):
        if type(figure).stops and not slide:  # the figure names few stops, chosen to train quickly
            say("Training at every stop beforehand: up to half a minute.")
        else:
            say("Training what the page shows; this may take minutes.")
    page = live_page(figure, slide, runs)
    write_text(place, page)
    say(f"A page of {len(page) / 1e6:.1f} MB that needs neither Python nor a network.")
    print(place)
