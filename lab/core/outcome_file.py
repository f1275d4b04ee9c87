"""Schema of outcome.json, which `lab papers protocol` and `lab papers reproduce` write, and of what is measured for it.

Protocols read them, and so do figures, which lie in a layer below.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from lab.core.estimates import EstimateFile
from lab.core.explain import explain
from lab.core.stored import Few, Fields, Stored, Text, Texts, read


def _setting_value(value: Any) -> Any:
    """Refuse what distinguishes no row of a table: a list, an object, a number that no JSON reader could hold."""
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError("must be a text or a number")
    if isinstance(value, int) and abs(value) > 2**53:
        raise ValueError("must be at most 2^53")
    return value


SettingFile = Annotated[dict[Text, Annotated[Any, BeforeValidator(_setting_value)]], Few]


class RowFile(Stored):
    """One row: what distinguishes it, and column to estimate."""

    setting: SettingFile
    scores: Annotated[dict[Text, EstimateFile], Few]


class OutcomeFile(Stored):
    """outcome.json, and what `measured/RUN.json` holds of one judged run."""

    protocol: Text
    source: Text
    over: Text
    knobs: Fields
    rows: list[RowFile]
    notes: Texts
    shown: Texts


def read_outcome(file: str, who: str, command: str) -> OutcomeFile:
    """Return the outcome in a file that a person named.

    Args:
        who: the figure that shows it, with which a message begins.
        command: what writes such files.

    Raises:
        ValueError: the file cannot be read, or it is no outcome.
    """
    try:
        return read(Path(file).expanduser(), OutcomeFile)
    except (OSError, ValueError, RuntimeError) as error:
        reason = explain(error).rstrip(".")
        raise ValueError(f"{who}: {file} is no outcome of `{command}` ({reason}).") from None
