"""What every launcher is: runs are handed over, and each is told as it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lab.core.catalog import name_of
from lab.core.knobs import HasKnobs
from lab.core.knobs import knob as knob
from lab.runs.folder import Run
from lab.runs.process import Sent

PAUSE = 1.0
"""Seconds between two looks at what is at work."""


class Launcher(HasKnobs):
    """Base of every launcher.

    outlives: whether runs that were handed over go on when this process ends.
    """

    outlives: ClassVar[bool] = True

    @property
    def place(self) -> Sent:
        """What is written into the runs that it takes, so that they go on at the same place in the same way."""
        knobs = self.knobs.model_dump()
        return Sent(name_of(type(self)), knobs.pop("address", None), knobs)

    def submit(self, runs: Sequence[Run]) -> None:
        """Hand runs over, in this order; may be called again while others are at work.

        Raises:
            ValueError: the launcher cannot take them; none was handed over then.
            ValueError: the library behind the launcher is missing; says what to install.
        """
        raise NotImplementedError(f"{type(self).__name__} must define submit.")

    def ended(self) -> Iterator[Run | None]:
        """Each run as it ends, whatever its end; None after every look at which none did. Stops when none is left.

        Whoever breaks off, to hand over more, asks again: every run is told once, and none is forgotten.
        """
        raise NotImplementedError(f"{type(self).__name__} must define ended.")
