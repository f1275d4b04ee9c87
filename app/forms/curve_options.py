"""How curves over training are drawn: smoothed as TensorBoard smooths, on linear or logarithmic axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from app.shared import charts, page_frame

SMOOTHING = 0.6
"""TensorBoard's, where nobody chose another."""
PLAIN = ("lr", "memory_bytes")
"""Curves without noise: smoothed they would only come late."""
HELP = (
    "Weight of the exponential moving average: each point takes this share from the smoothed point before it and the "
    "rest from the measured value, which stays visible in a fainter line. 0 is off. Curves of fewer than "
    f"{charts.FEW} points, the learning rate and the memory are never smoothed."
)


@dataclass(frozen=True)
class CurveOptions:
    """smoothing: 0 to .99. log_steps, log_values: which axes are logarithmic."""

    smoothing: float
    log_steps: bool
    log_values: bool

    def of(self, name: str) -> dict[str, Any]:
        """What `charts.curves` and `charts.bands` are told of a curve of this name."""
        smoothing = 0.0 if name in PLAIN else self.smoothing
        return {"smoothing": smoothing, "log_x": self.log_steps, "log": self.log_values or name == "gradient_norm"}


def ask() -> CurveOptions:
    """The controls, in a row; every page that has them shares what was chosen."""
    look: dict[str, Any] = {"step": 0.01, "help": HELP, "width": 260}
    zeros = "Leaves zeros out; a chart with values below 0 stays linear. The gradient norm is always logarithmic."
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        return CurveOptions(
            float(page_frame.slide("Smoothing", 0.0, 0.99, key="smoothing", initial=SMOOTHING, link="smooth", **look)),
            page_frame.toggle("Logarithmic steps", key="log_steps", link="logsteps"),
            page_frame.toggle("Logarithmic values", key="log_values", link="logvalues", help=zeros),
        )
