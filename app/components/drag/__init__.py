"""The notebooks' controls that are dragged, on the dashboard: a ranked list, and points in the plane.

The drawing is that of `lab/widgets/strip.js` and `points.js`; only the model behind it differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

import lab

WIDGETS = Path(lab.__file__).parent / "widgets"
MARK = "export default { render };"
"""The last line of the notebooks' scripts, in whose place Streamlit's entry point is put."""


@cache
def _component(name: str) -> Callable[..., Any]:
    here = Path(__file__).parent
    drawing = (WIDGETS / f"{name}.js").read_text("utf-8")
    if MARK not in drawing:
        raise ValueError(f"lab/widgets/{name}.js must end in {MARK!r}, which the dashboard replaces.")
    return st.components.v2.component(
        f"rankscope_drag_{name}",
        html='<div class="drag"></div>\n',
        css=(WIDGETS / "drag.css").read_text("utf-8") + (here / "drag.css").read_text("utf-8"),
        js=drawing.replace(MARK, (here / "model.js").read_text("utf-8")),
    )


def drag(
    name: Literal["strip", "points"], values: Mapping[str, Any], *, key: str, on_move: Callable[[dict[str, Any]], None]
) -> None:
    """Draw the control.

    Args:
        name: which one.
        values: what it shows: `scores` and `pattern` of a strip; `x`, `y`, `classes` and `fixed` of points. While
            somebody drags, the browser's own values win over those that come back from here.
        on_move: called with what was moved, before the page is drawn again. Comes from a browser: check it.
    """

    def moved() -> None:
        state = st.session_state[key]["moved"]
        if isinstance(state, dict) and isinstance(state.get("values"), dict):
            st.session_state[f"{key} heard"] = state.get("count", 0)
            on_move(state["values"])

    heard = st.session_state.get(f"{key} heard", 0)
    _component(name)(key=key, data={"values": dict(values), "heard": heard}, on_moved_change=moved)
