"""Notebook controls for declared knobs, one control per knob of `lab.core.knobs`."""

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
    """A control of a knob.

    box: the widget to show. watched: the widgets whose `value` changes when the user moves the control.
    read, write: functions that get and set the value of the knob.
    """

    box: widgets.Widget
    watched: tuple[widgets.Widget, ...]
    read: Callable[[], Any]
    write: Callable[[Any], None]


def control(knob: Knob, value: Any, live: bool = True, plays: bool = False) -> Control:
    """Make the control of a knob.

    Args:
        value: initial value.
        live: whether a slider reports while it moves, and not only when it is released.
        plays: whether an integer gets a play button.
    """
    if knob.optional:
        return _optional(knob, value, live)
    field = _field(knob, value, live)

    def read() -> Any:
        if knob.many:
            return tuple(field.value)
        return tidy(knob, field.value)

    def write(new: Any) -> None:
        _set_value(field, knob, list(new) if knob.many else new)

    box = field
    if knob.many:  # such a field draws no description of its own
        box = widgets.HBox(
            [widgets.Label(field.description, layout={"width": STYLE["description_width"]}), field]
        )
        field.layout = {"flex": "1 1 auto"}
    if plays:
        play = widgets.Play(value=value, min=field.min, max=field.max, interval=300)
        widgets.jslink((play, "value"), (field, "value"))
        box = widgets.HBox([play, field], layout={"grid_column": "1 / -1"})
        field.layout = {"flex": "1 1 auto"}
    return Control(box, (field,), read, write)


def tooltip(knob: Knob) -> str:
    """Return help, legal range and source in one line."""
    parts = [knob.help]
    if knob.kind in (int, float):
        unit = f" {knob.unit}" if knob.unit else ""
        parts.append(f"{knob.range}{unit}.")
    if knob.source:
        parts.append(f"({knob.source})")
    return " ".join(part for part in parts if part)


def _optional(knob: Knob, value: Any, live: bool) -> Control:
    """Make the control of a knob that may be None: the control of its value, and a tick that sets it."""
    is_set = value is not None
    field = _field(knob, value if is_set else _middle(knob), live)
    field.disabled = not is_set
    tick = widgets.Checkbox(value=is_set, description="set", indent=False, layout={"width": "60px"})
    tick.observe(lambda change: setattr(field, "disabled", not change["new"]), "value")

    def read() -> Any:
        return tidy(knob, field.value) if tick.value else None

    def write(new: Any) -> None:
        tick.value = new is not None
        if new is not None:
            _set_value(field, knob, new)

    return Control(widgets.HBox([field, tick]), (field, tick), read, write)


def _middle(knob: Knob) -> Any:
    """Return the middle of a knob's range on its scale; "" for words."""
    if knob.kind not in (int, float):
        return knob.kind("")
    low, high = span(knob)
    if knob.scale == "log":
        return knob.kind(math.sqrt(low * high))
    return knob.kind((low + high) / 2)


def _field(knob: Knob, value: Any, live: bool) -> widgets.Widget:
    """Make the widget that shows a value of the knob."""
    if len(knob.unit) <= 8:
        description = labels.label(knob)
    else:  # a long unit does not fit beside the name
        description = labels.name_in_words(knob)
    common: dict[str, Any] = {
        "description": description,
        "style": STYLE,
        "layout": WIDE,
        "tooltip": tooltip(knob),
        "description_allow_html": False,
    }
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
        if knob.kind is int:
            return widgets.IntsInput(value=list(value), min=low, max=high, format="d", **common)
        return widgets.FloatsInput(value=list(value), min=low, max=high, format=".3g", **common)
    common["continuous_update"] = live
    if knob.scale == "log":
        return widgets.SelectionSlider(
            options=_labelled(log_steps(knob, value)), value=value, **common
        )
    low, high, step = linear_steps(knob, value)
    if knob.kind is int:
        return widgets.IntSlider(value=value, min=low, max=high, **common)
    return widgets.FloatSlider(
        value=value, min=low, max=high, step=step, readout_format=".4g", **common
    )


def _labelled(stops: list[float]) -> list[tuple[str, float]]:
    return [(f"{stop:g}", stop) for stop in stops]


def _set_value(field: widgets.Widget, knob: Knob, value: Any) -> None:
    """Set the value of a widget; a slider gets another stop if the value is between two stops."""
    if isinstance(field, widgets.SelectionSlider):
        stops = [stop for _, stop in field.options]
        if value not in stops:
            field.options = _labelled(sorted([*stops, value]))
    elif isinstance(field, widgets.IntSlider | widgets.FloatSlider):
        _, high, step = linear_steps(knob, value)
        field.max = max(field.max, high)
        field.step = step
    field.value = value
