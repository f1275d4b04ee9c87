"""Schema of the file that `lab layers --output` writes. The figure `which_layer`, in a layer below, reads it."""

from __future__ import annotations

from pathlib import Path

from lab.core.explain import explain
from lab.core.stored import Count, Scores, Stored, Text, Texts, read


class LayerRow(Stored):
    """One layer of a file that `lab layers --output` writes. scores: numbers kept, "0" for plain, to the share of right
    first answers."""

    layer: Text
    width: Count
    scores: Scores


class LayersFile(Stored):
    """What `lab layers --output` writes; the first row is the output of the network."""

    source: Text
    network: Text
    pixels: Count
    sentence: Text
    protocol: Text
    best: Text
    chosen: Texts
    gain: Scores
    rows: list[LayerRow]


def read_layers(file: str | Path, who: str) -> LayersFile:
    """Read the file of a person.

    Args:
        who: the figure that shows it, with which a message begins.

    Raises:
        ValueError: the file cannot be read, or it is none of `lab layers`.
    """
    try:
        found = read(Path(file).expanduser(), LayersFile)
        missing = {"source", "network", "sentence", "best", "rows"} - found.keys()
        if missing or not found["rows"]:
            raise ValueError(f"it lacks {', '.join(sorted(missing)) or 'rows'}")
        for row in found["rows"]:
            if missing := {"layer", "scores"} - row.keys():
                raise ValueError(f"a row lacks {', '.join(sorted(missing))}")
            if not all(
                column.isascii() and column.isdecimal() and len(column) < 6
                for column in row["scores"]
            ):
                raise ValueError("a score is of no number of kept numbers")
        return found
    except (OSError, ValueError, RuntimeError) as error:
        reason = explain(error).rstrip(".")
        raise ValueError(f"{who}: {file} is no file of `lab layers --output` ({reason}).") from None
