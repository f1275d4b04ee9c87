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


def dark() -> bool:
    """Whether this person looks at the dark theme."""
    return st.context.theme.type == "dark"


def dressed(figure: go.Figure) -> dict[str, Any]:
    """A figure of the lab as `st.plotly_chart` takes it with `theme=None`: on the page's own ground."""
    drawn = figure.to_plotly_json()
    if dark():
        drawn = style.in_the_dark(drawn)
    layout = drawn["layout"]
    layout |= {"paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "font": {**layout.get("font", {}), "family": FONT}}
    for name, axis in layout.items():
        if name[:5] in ("xaxis", "yaxis") and "title" in axis:
            axis["title"] = {"font": {"size": 14}, **axis["title"]}
    return drawn
