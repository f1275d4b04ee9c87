"""A bar that says how far a small training is, with a button that ends it or begins it anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import ipywidgets as widgets

if TYPE_CHECKING:
    from lab.figures.background import Training


class TrainingBar:
    """Hidden while nothing trains. `stop` and `again` are called when the button is pressed."""

    def __init__(self, stop: Callable[[], None], again: Callable[[], None]):
        self._bar = widgets.FloatProgress(min=0, max=1, description="Training", layout={"width": "60%"})
        self._button = widgets.Button(description="Stop", tooltip="End this training", layout={"width": "8em"})
        self._training: Training | None = None
        self._stop, self._again = stop, again
        self._button.on_click(self._pressed)
        self.box = widgets.HBox([self._bar, self._button])
        self.hide()

    def hide(self) -> None:
        self.box.layout.display = "none"

    def show(self, training: Training) -> None:
        """How far it is; gone when it has its picture."""
        self._training = training
        self._bar.value = training.progress
        self._button.description = "Train again" if training.over else "Stop"
        self.box.layout.display = "none" if training.over and not training.refused else ""

    def _pressed(self, _: widgets.Button) -> None:
        if self._training is not None and self._training.over:
            self._again()
        else:
            self._stop()
