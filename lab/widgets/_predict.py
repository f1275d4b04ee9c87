"""Questions to predict, lock and reveal: readers who commit to a guess remember the answer better."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from lab.core.style import BLUE, RIGHT, VERMILLION, WRONG

if TYPE_CHECKING:
    import ipywidgets as widgets


class Prediction:
    """A question whose answer is a number. The answer is computed only after a prediction is locked.

    answer: the number, or a function that computes it.
    within: largest error of a right prediction, in the unit of the answer.
    unit: unit of the answer.
    hints: sentences that the reader can show one after the other.
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
        self.question = question
        self.within = within
        self.unit = unit
        self.hints = hints
        self._answer = answer
        self.predicted: float | None = None
        self._widget = None

    def lock(self, predicted: float) -> str:
        """Lock a prediction, which is possible once; return the answer in words.

        Raises:
            ValueError: a prediction was locked before, or this is not a number.
        """
        if self.predicted is not None:
            raise ValueError(
                f"Your prediction {self.predicted:g} is locked; run the cell again to start over."
            )
        self.predicted = float(predicted)
        return self.verdict()

    @property
    def answer(self) -> float:
        """The answer to the question."""
        if callable(self._answer):
            return float(self._answer())
        return float(self._answer)

    @property
    def right(self) -> bool:
        """Whether the locked prediction is close enough to the answer."""
        return self.predicted is not None and abs(self.predicted - self.answer) <= self.within

    def verdict(self) -> str:
        """Return the prediction and the answer in words."""
        unit = f" {self.unit}" if self.unit else ""
        sign = RIGHT if self.right else WRONG
        return f"{sign} You said {self.predicted:g}{unit}; it is {self.answer:.4g}{unit}."

    def widget(self) -> widgets.VBox:
        """Return the question with its input field, its lock button and its hints."""
        import ipywidgets as widgets

        if self._widget is not None:
            return self._widget
        field = widgets.FloatText(description="I predict", layout={"width": "220px"})
        lock = widgets.Button(description="Lock and reveal", icon="lock", button_style="primary")
        hint = widgets.Button(description="Hint", icon="lightbulb-o", disabled=not self.hints)
        verdict = widgets.HTML()
        shown_hints: list[str] = []

        def on_lock(_: object) -> None:
            field.disabled = lock.disabled = hint.disabled = True
            sentence = self.lock(field.value)
            colour = BLUE if self.right else VERMILLION
            verdict.value = f"<b style='color:{colour}'>{escape(sentence)}</b>"

        def on_hint(_: object) -> None:
            number = len(shown_hints) + 1
            shown_hints.append(f"<div>Hint {number}: {escape(self.hints[number - 1])}</div>")
            hint.disabled = number == len(self.hints)
            verdict.value = "".join(shown_hints)

        lock.on_click(on_lock)
        hint.on_click(on_hint)
        unit = widgets.HTML(escape(self.unit))
        question = widgets.HTML(f"<b>{escape(self.question)}</b>")
        self._widget = widgets.VBox([question, widgets.HBox([field, unit, lock, hint]), verdict])
        return self._widget

    def __repr__(self) -> str:
        if self.predicted is None:
            return f"Predict, then reveal: {self.question}"
        return self.verdict()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        html = (
            f"<p><b>Predict:</b> {escape(self.question)} <i>(run this notebook to answer)</i></p>"
        )
        return {**self.widget()._repr_mimebundle_(), "text/html": html, "text/plain": repr(self)}


def predict(question: str, answer: float | Callable[[], float], **settings: Any) -> Prediction:
    """Ask for a number before it is shown; see `Prediction` for the settings."""
    return Prediction(question, answer, **settings)
