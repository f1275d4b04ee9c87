"""Two pictures side by side, with what each of their regions adds to the similarity laid over them.

Blue raises the similarity; vermillion lowers it and is hatched as well: never colour alone. How strong the colours are
is a slider in the browser, which asks the server nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from app.components import component


@dataclass(frozen=True)
class Regions:
    """One picture. src: a data URI. values: rows of cells from the upper left, in `unit`. words: says the same."""

    src: str
    title: str
    values: Sequence[Sequence[float]]
    words: str


def regions(pictures: Sequence[Regions], *, key: str, largest: float, unit: str) -> None:
    """Draw the pictures; a cell of the amount `largest`, in `unit`, has the full colour."""
    data = {"pictures": [asdict(one) for one in pictures], "largest": largest, "unit": unit}
    component("regions")(key=key, data=data)
