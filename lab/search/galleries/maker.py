"""Who made vectors: those of two encoders cannot be compared, though they may be as wide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Maker:
    """words: the encoder as people know it. weights: its fingerprint.

    Example:
        >>> mine, other = Maker("run a", "11"), Maker("run b", "22")
        >>> mine.note_on(Maker("run a, moved", "11"), "photos")
        ''
        >>> mine.note_on(other, "photos")
        Traceback (most recent call last):
        ValueError: photos was embedded by another encoder (run b) than the pictures to search with (run a), so their \
vectors cannot be compared; embed it again with this one.
    """

    words: str
    weights: str

    @classmethod
    def planned(cls, plan: Mapping[str, Any]) -> Maker | None:
        """That of a gallery in shards; None for one of somebody else's making."""
        return (
            cls(str(plan["encoder"]), str(plan["weights"]))
            if {"encoder", "weights"} <= plan.keys()
            else None
        )

    def note_on(self, made: Maker | None, what: str) -> str:
        """What to add about vectors that are searched with those of this encoder: nothing, if it made them.

        Raises:
            ValueError: another one made them.
        """
        if made is None:
            return " (which encoder made it is not written down; scores mean something only if it was this one)"
        if made.weights != self.weights:
            raise ValueError(
                f"{what} was embedded by another encoder ({made.words}) than the pictures to search with "
                f"({self.words}), so their vectors cannot be compared; embed it again with this one."
            )
        return ""
