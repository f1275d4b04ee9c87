"""Base class of all launchers: runs are handed over, and each is returned when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lab.core.catalog import name_of
from lab.core.knobs import HasKnobs
from lab.core.knobs import knob as knob
from lab.runs.folder import Run
from lab.runs.process import Sent

PAUSE = 1.0
"""Seconds between two polls of the runs."""


class Launcher(HasKnobs):
    """Base of every launcher.

    outlives: whether runs that were handed over go on when this process ends.
    """

    outlives: ClassVar[bool] = True

    @property
    def place(self) -> Sent:
        """The launcher and its settings, as they are stored in its runs to resume them at the same place."""
        knobs = self.knobs.model_dump()
        return Sent(name_of(type(self)), knobs.pop("address", None), knobs)

    def submit(self, runs: Sequence[Run]) -> None:
        """Hand runs over, in this order; may be called again while others are running.

        Raises:
            ValueError: the launcher cannot take them; none was handed over then.
            ValueError: the library behind the launcher is missing; says what to install.
        """
        raise NotImplementedError(f"{type(self).__name__} must define submit.")

    def ended(self) -> Iterator[Run | None]:
        """Yield each run when it ends, however it ends; None after every poll in which none did. Stops if none is left.

        A caller that breaks off, to hand over more, calls it again: every run is returned once, and none is lost.
        """
        raise NotImplementedError(f"{type(self).__name__} must define ended.")
