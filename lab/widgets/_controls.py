"""One control for one declared knob: the notebook's side of `lab.core.knobs`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from lab.core.knobs import Knob, labels
from lab.core.knobs.sliders import linear_steps, log_steps, span, tidy

STYLE = {"description_width": "135px"}
WIDE = {"width": "auto", "min_width": "300px"}


@dataclass(frozen=True)
class Control:
    """What is shown, what is watched for changes of `value`, and how the knob's value is read and written."""

    box: widgets.Widget
    watched: tuple[widgets.Widget, ...]
    read: Callable[[], Any]
    write: Callable[[Any], None]


def control(knob: Knob, value: Any, live: bool = True, plays: bool = False) -> Control:
    """The control of a knob.

    Args:
        knob: as declared.
        value: where it starts.
        live: report while a slider moves, not only when it is let go.
        plays: give an integer a play button.
    """
    if knob.optional:
        return _optional(knob, value, live)
    field = _field(knob, value, live)

    def read() -> Any:
        return tuple(field.value) if knob.many else tidy(knob, field.value)

    def write(new: Any) -> None:
        _put(field, knob, list(new) if knob.many else new)

    box = field
    if knob.many:  # such a field draws no description of its own
        box = widgets.HBox([widgets.Label(field.description, layout={"width": STYLE["description_width"]}), field])
        field.layout = {"flex": "1 1 auto"}
    if plays:
        play = widgets.Play(value=value, min=field.min, max=field.max, interval=300)
        widgets.jslink((play, "value"), (field, "value"))
        box = widgets.HBox([play, field], layout={"grid_column": "1 / -1"})
        field.layout = {"flex": "1 1 auto"}
    return Control(box, (field,), read, write)


def tooltip(knob: Knob) -> str:
    """Help, legal range and source in one line."""
    unit = f" {knob.unit}" if knob.unit else ""
    parts = [knob.help, f"{knob.range}{unit}." if knob.kind in (int, float) else "", f"({knob.source})"]
    return " ".join(p for p in parts[: 3 if knob.source else 2] if p)


def _optional(knob: Knob, value: Any, live: bool) -> Control:
    """A tick that says whether the knob is set at all, beside the control of its value."""
    low, high = span(knob)
    start = (math.sqrt(low * high) if knob.scale == "log" else (low + high) / 2) if knob.kind in (int, float) else ""
    field = _field(knob, knob.kind(start) if value is None else value, live)
    field.disabled = value is None
    tick = widgets.Checkbox(value=value is not None, description="set", indent=False, layout={"width": "60px"})
    tick.observe(lambda change: setattr(field, "disabled", not change["new"]), "value")

    def write(new: Any) -> None:
        tick.value = new is not None
        if new is not None:
            _put(field, knob, new)

    return Control(
        widgets.HBox([field, tick]), (field, tick), lambda: tidy(knob, field.value) if tick.value else None, write
    )


def _field(knob: Knob, value: Any, live: bool) -> widgets.Widget:
    words = labels.label(knob) if len(knob.unit) <= 8 else labels.name_in_words(knob)  # there is little room
    common: dict[str, Any] = {"description": words, "style": STYLE, "layout": WIDE, "tooltip": tooltip(knob)}
    common["description_allow_html"] = False
    if knob.choices:
        return widgets.Dropdown(options=knob.choices, value=value, **common)
    if knob.kind is bool:
        return widgets.Checkbox(value=value, **common)
    if knob.kind not in (int, float):
        if knob.many:
            return widgets.TagsInput(value=list(value), **common)
        return widgets.Text(value=value, continuous_update=False, **common)
    low, high = span(knob)
    if knob.many:
        chips = widgets.IntsInput if knob.kind is int else widgets.FloatsInput
        return chips(value=list(value), min=low, max=high, format="d" if knob.kind is int else ".3g", **common)
    common["continuous_update"] = live
    if knob.scale == "log":
        return widgets.SelectionSlider(options=_labelled(log_steps(knob, value)), value=value, **common)
    low, high, step = linear_steps(knob, value)
    if knob.kind is int:
        return widgets.IntSlider(value=value, min=low, max=high, **common)
    return widgets.FloatSlider(value=value, min=low, max=high, step=step, readout_format=".4g", **common)


def _labelled(stops: list[float]) -> list[tuple[str, float]]:
    return [(f"{stop:g}", stop) for stop in stops]


def _put(field: widgets.Widget, knob: Knob, value: Any) -> None:
    """Set a control; a slider gets another stop where the value lies between two."""
    if isinstance(field, widgets.SelectionSlider):
        stops = [stop for _, stop in field.options]
        if value not in stops:
            field.options = _labelled(sorted([*stops, value]))
    elif isinstance(field, widgets.IntSlider | widgets.FloatSlider):
        _, high, step = linear_steps(knob, value)
        field.max, field.step = max(field.max, high), step
    field.value = value
