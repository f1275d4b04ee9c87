"""How every picture of the lab looks: one palette, one layout, and never colour alone.

The inspector's records and `lab.figures` both draw with these. plotly is imported when the first picture is drawn.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from lab.core.explain import need

if TYPE_CHECKING:
    import plotly.graph_objects as go

BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#6E6E6E"
"""Okabe-Ito. Blue says right (same label, bound holds, towards the metric), vermillion says wrong."""

COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")
MARKERS = ("circle", "x", "square", "triangle-up", "diamond", "cross", "star", "pentagon")

RIGHT, WRONG, UNSURE = "✓", "✗", "?"

DIVERGING = ((0.0, VERMILLION), (0.5, "#F7F7F7"), (1.0, BLUE))
"""Colour scale for signed quantities; centre it with zmid=0."""

SEQUENTIAL = "Cividis"
"""Colour scale for quantities of one sign, made for colour-blind readers."""

IN_THE_DARK = {
    BLACK: "#F2F0EB", GREY.lower(): "#A3A8AF", BLUE.lower(): "#3D9BD4",
    "#222": "#E8E6E1", "#222222": "#E8E6E1", "#444": "#BDBBB6", "#888": "#7B8087", "#bbb": "#5A6067",
    "white": "#15171A", "#fff": "#15171A", "#ffffff": "#15171A", "#f7f7f7": "#2A2E33",
    "#eee": "#24272C", "#e8e8e8": "#2C3035", "#ddd": "#363B41",
    "#eaf3f9": "#1D3442", "#a9cfe8": "#24536F", "#f6c9ad": "#6E3A17", "#d9d9d9": "#3A3F45",
    "rgba(255,255,255,0.6)": "rgba(21,23,26,0.6)", "rgba(255,255,255,0.8)": "rgba(21,23,26,0.8)",
    "rgba(255,255,255,0.85)": "rgba(21,23,26,0.85)",
}  # fmt: skip
"""What becomes of inks and papers, in small letters, on a dark ground; all other colours stand on both."""


def in_the_dark(part: Any) -> Any:
    """A figure, or any part of it, as plain dictionaries and lists, in the colours for a dark ground."""
    if isinstance(part, str):
        within = part.replace(BLUE, IN_THE_DARK[BLUE.lower()])  # spans in titles
        return IN_THE_DARK.get(part.lower(), within)
    if isinstance(part, dict):
        return {name: in_the_dark(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [in_the_dark(one) for one in part]
    return part


def line(index: int, width: float = 2.5) -> dict:
    """The line style of the index-th series of a figure: its own colour and its own dash."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "dash": DASHES[index % len(DASHES)],
        "width": width,
    }


def marker(index: int, size: float = 9) -> dict:
    """The marker style of the index-th series of a figure: its own colour and its own symbol.

    From the ninth on, colours come again with other symbols; no two of sixty-four are alike.

    Example:
        >>> marker(0)["symbol"], marker(8)["symbol"], marker(0)["color"] == marker(8)["color"]
        ('circle', 'x', True)
    """
    rounds, place = divmod(index, len(COLOURS))
    return {
        "color": COLOURS[place],
        "symbol": MARKERS[(place + rounds) % len(MARKERS)],
        "size": size,
    }


def badge(holds: bool, text: str) -> str:
    """A mark, a colour and words, as HTML that plotly draws."""
    colour, sign = (BLUE, RIGHT) if holds else (VERMILLION, WRONG)
    return f"<span style='color:{colour}'><b>{sign} {text}</b></span>"


def canvas(
    title: str,
    subtitle: str = "",
    x: str | tuple[str, ...] = "",
    y: str | tuple[str, ...] = "",
    height: int = 460,
    panels: tuple[str, ...] = (),
    **grid: Any,
) -> go.Figure:
    """An empty figure in the lab's layout.

    Args:
        title: what is shown; drawn bold.
        subtitle: what to look at, or the reading of the moment.
        x, y: axis titles with units, of all panels, or one for each panel of a row.
        panels: titles of side-by-side panels; none gives one pair of axes.
        grid: passed on to `plotly.subplots.make_subplots`, for instance rows, shared_xaxes.
    """
    need("A figure", "train", "plotly")
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    top = 100 + (18 if panels else 0) + 18 * wrapped(subtitle).count("<br>")
    figure = go.Figure(
        layout={
            "template": _template(),
            "title": _title(title, subtitle, height),
            "font": {
                "family": "Open Sans, Helvetica, Arial, sans-serif",
                "size": 14,
                "color": "#222",
            },
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "height": height,
            "margin": {"l": 70, "r": 30, "t": top, "b": 60},
            "legend": {"bgcolor": "rgba(255,255,255,0.8)", "bordercolor": "#DDD", "borderwidth": 1},
            "hoverlabel": {"font": {"size": 13}},
            "uirevision": "keep",
        }
    )
    if panels or grid:
        grid.setdefault("rows", 1)
        grid.setdefault("cols", max(1, len(panels) // grid["rows"]))
        grid.setdefault("horizontal_spacing", 0.12)
        figure = make_subplots(figure=figure, subplot_titles=panels or None, **grid)
        figure.update_annotations(font_size=14)
    for title_axes, titles in ((figure.update_xaxes, x), (figure.update_yaxes, y)):
        if isinstance(titles, tuple):
            for column, words in enumerate(titles, start=1):
                title_axes(title_text=words or None, row=1, col=column)
        elif titles:
            title_axes(title_text=titles)
    return figure


@cache
def _template() -> str:
    """Name of the lab's plotly template, registered at the first call, so that no panel has to style axes."""
    import plotly.graph_objects as go
    import plotly.io

    axis = {
        "showline": True, "linecolor": "#888", "gridcolor": "#E8E8E8", "zerolinecolor": "#BBB", "zerolinewidth": 2,
        "ticks": "outside", "automargin": True, "title": {"standoff": 12},
    }  # fmt: skip
    hatch = {"fillmode": "overlay", "size": 10, "solidity": 0.2, "fgopacity": 0.4}
    plotly.io.templates["rankscope"] = go.layout.Template(
        layout={"xaxis": axis, "yaxis": axis, "colorway": COLOURS},
        data={"bar": [{"marker": {"pattern": hatch}}]},
    )
    return "rankscope"


def head(figure: go.Figure, title: str, subtitle: str = "") -> None:
    """Set title and subtitle."""
    figure.layout.title = _title(title, subtitle, figure.layout.height or 460)


def _title(title: str, subtitle: str, height: float) -> dict:
    """As many pixels below the upper edge in a tall figure as in a low one."""
    return {
        "text": f"<b>{title}</b>",
        "subtitle": {"text": wrapped(subtitle), "font": {"size": 14, "color": "#444"}},
        "x": 0.01,
        "xanchor": "left",
        "y": 1 - 18 / height,
        "yanchor": "top",
    }


def wrapped(text: str, width: int = 104) -> str:
    """Text broken with <br> where a line would pass `width` letters, and where it has one; tags count nothing."""
    if "<br>" in text:
        return "<br>".join(wrapped(line, width) for line in text.split("<br>"))
    lines: list[list[str]] = [[]]
    length = 0
    for word in re.findall(r"(?:<[^>]*>|[^\s<])+", text):
        size = len(re.sub(r"<[^>]*>", "", word)) + 1
        if lines[-1] and length + size > width:
            lines.append([])
            length = 0
        lines[-1].append(word)
        length += size
    return "<br>".join(" ".join(line) for line in lines)


def legend_below(figure: go.Figure) -> go.Figure:
    """Put the legend into one row under the axes; returns the figure."""
    return figure.update_layout(
        legend={
            "orientation": "h",
            "yref": "container",
            "y": 0.01,
            "yanchor": "bottom",
            "x": 0.5,
            "xanchor": "center",
        },
        margin={"b": 100},
    )


def note(figure: go.Figure, text: str, x: float, y: float, **more: Any) -> None:
    """A few words at data coordinates, on a white ground so that lines do not cross them."""
    look = {"showarrow": False, "bgcolor": "rgba(255,255,255,0.85)", "font": {"size": 12}}
    figure.add_annotation(**{"x": x, "y": y, "text": text, **look, **more})
