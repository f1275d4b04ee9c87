"""Predict, lock, reveal: whoever commits to a guess first remembers the answer better."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from lab.core.style import BLUE, RIGHT, VERMILLION, WRONG

if TYPE_CHECKING:
    import ipywidgets as widgets


class Prediction:
    """A question with a number for an answer. The answer is computed only once a prediction has been locked.

    question: what is asked.
    answer: the number, or a function that computes it.
    within: how far off a prediction may be and still count as right, in the answer's own unit.
    unit: of the answer.
    hints: shown one after the other on demand.
    """

    def __init__(
        self,
        question: str,
        answer: float | Callable[[], float],
        *,
        within: float,
        unit: str = "",
        hints: tuple[str, ...] = (),
    ):
        if within < 0:
            raise ValueError(f"within must not be negative, got {within!r}.")
        self.question, self.within, self.unit, self.hints = question, within, unit, hints
        self._answer = answer
        self.predicted: float | None = None
        self._widget = None

    def lock(self, predicted: float) -> str:
        """Commit to a prediction, once; returns the answer in words.

        Raises:
            ValueError: a prediction has been locked before, or this is none.
        """
        if self.predicted is not None:
            raise ValueError(f"Your prediction {self.predicted:g} is locked; run the cell again to start over.")
        self.predicted = float(predicted)
        return self.verdict()

    @property
    def answer(self) -> float:
        """The number asked for."""
        return float(self._answer()) if callable(self._answer) else float(self._answer)

    @property
    def right(self) -> bool:
        """Whether the locked prediction is near enough."""
        return self.predicted is not None and abs(self.predicted - self.answer) <= self.within

    def verdict(self) -> str:
        """Prediction and answer in words."""
        unit = f" {self.unit}" if self.unit else ""
        sign = RIGHT if self.right else WRONG
        return f"{sign} You said {self.predicted:g}{unit}; it is {self.answer:.4g}{unit}."

    def widget(self) -> widgets.VBox:
        """The question with its field, its lock and its hints."""
        import ipywidgets as widgets

        if self._widget is not None:
            return self._widget
        field = widgets.FloatText(description="I predict", layout={"width": "220px"})
        lock = widgets.Button(description="Lock and reveal", icon="lock", button_style="primary")
        hint = widgets.Button(description="Hint", icon="lightbulb-o", disabled=not self.hints)
        verdict = widgets.HTML()
        guesses: list[str] = []

        def on_lock(_: object) -> None:
            field.disabled = lock.disabled = hint.disabled = True
            words = self.lock(field.value)
            verdict.value = f"<b style='color:{BLUE if self.right else VERMILLION}'>{escape(words)}</b>"

        def on_hint(_: object) -> None:
            guesses.append(self.hints[len(guesses)])
            hint.disabled = len(guesses) == len(self.hints)
            verdict.value = "".join(f"<div>Hint {i}: {escape(text)}</div>" for i, text in enumerate(guesses, 1))

        lock.on_click(on_lock)
        hint.on_click(on_hint)
        unit = widgets.HTML(escape(self.unit))
        question = widgets.HTML(f"<b>{escape(self.question)}</b>")
        self._widget = widgets.VBox([question, widgets.HBox([field, unit, lock, hint]), verdict])
        return self._widget

    def __repr__(self) -> str:
        return f"Predict, then reveal: {self.question}" if self.predicted is None else self.verdict()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        html = f"<p><b>Predict:</b> {escape(self.question)} <i>(run this notebook to answer)</i></p>"
        return {**self.widget()._repr_mimebundle_(), "text/html": html, "text/plain": repr(self)}


def predict(question: str, answer: float | Callable[[], float], **settings: Any) -> Prediction:
    """Ask for a number before it is shown; see `Prediction` for the settings."""
    return Prediction(question, answer, **settings)
