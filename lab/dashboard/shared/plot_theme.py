"""The lab's figures on the dashboard's ground: drawn for white paper, shown in the light and in the dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from lab.core import style

if TYPE_CHECKING:
    import plotly.graph_objects as go

CLEAR = "rgba(0,0,0,0)"
FONT = '"Source Sans", sans-serif'
"""That of the pages around the figures."""
IN_THE_DARK = {
    style.BLACK: "#F2F0EB", style.GREY: "#A3A8AF", style.BLUE: "#3D9BD4",
    "#222": "#E8E6E1", "#222222": "#E8E6E1", "#444": "#BDBBB6", "#888": "#7B8087", "#bbb": "#5A6067",
    "white": "#15171A", "#fff": "#15171A", "#ffffff": "#15171A", "#f7f7f7": "#2A2E33",
    "#eee": "#24272C", "#e8e8e8": "#2C3035", "#ddd": "#363B41",
    "#eaf3f9": "#1D3442", "#a9cfe8": "#24536F", "#f6c9ad": "#6E3A17", "#d9d9d9": "#3A3F45",
    "rgba(255,255,255,0.6)": "rgba(21,23,26,0.6)", "rgba(255,255,255,0.8)": "rgba(21,23,26,0.8)",
    "rgba(255,255,255,0.85)": "rgba(21,23,26,0.85)",
}  # fmt: skip
"""What becomes of the inks and papers of `lab.core.style` on a dark ground; all other colours stand on both."""

_DARK = {colour.lower(): dark for colour, dark in IN_THE_DARK.items()}


def dark() -> bool:
    """Whether this person looks at the dark theme."""
    return st.context.theme.type == "dark"


def dressed(figure: go.Figure) -> dict[str, Any]:
    """A figure of the lab as `st.plotly_chart` takes it with `theme=None`: on the page's own ground."""
    drawn = figure.to_plotly_json()
    if dark():
        drawn = _recoloured(drawn)
    layout = drawn["layout"]
    layout |= {"paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "font": {**layout.get("font", {}), "family": FONT}}
    for name, axis in layout.items():
        if name[:5] in ("xaxis", "yaxis") and "title" in axis:
            axis["title"] = {"font": {"size": 14}, **axis["title"]}
    return drawn


def _recoloured(part: Any) -> Any:
    if isinstance(part, str):
        within = part.replace(style.BLUE, IN_THE_DARK[style.BLUE])  # spans in titles
        return _DARK.get(part.lower(), within)
    if isinstance(part, dict):
        return {name: _recoloured(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_recoloured(one) for one in part]
    return part
