"""Two runs of the benchmark side by side: what got slower, or larger, by more than the noise."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from lab.bench._measure import BenchRow

UNKNOWN = 0.15
"""Noise of a row that was measured once, as a share of its value."""
LEAST = 0.05
"""Nothing below this share is called a change."""
ALIKE: tuple[str, ...] = ("share",)
"""Units of what is the same with any number of threads: a product gains more by a second one than what stands beside
it, and each thread holds a tile."""
TRAVEL: tuple[str, ...] = (*ALIKE, "x", "MB")
"""Units of what another machine may be compared by."""
ALL: tuple[str, ...] = (*TRAVEL, "s", "ms", "us")
"""A power of n is a fit, and told by the rows that it is fitted to."""
MACHINE = ("processor", "cores", "gpu", "kernels", "threads", "clock")
"""Facts of which none may differ where times are compared."""


def earlier(path: str | Path) -> tuple[list[BenchRow], dict]:
    """Rows and machine of a file that `lab bench --output FILE.json` wrote.

    Raises:
        ValueError: it is no such file.
    """
    try:
        whole = json.loads(Path(path).read_text(encoding="utf-8"))
        return [BenchRow(**row) for row in whole["rows"]], dict(whole["machine"])
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(
            f"{path} is not a benchmark to compare with: {reason}. Write one with `lab bench --output FILE.json`."
        ) from None


def compared(before: tuple[Sequence[BenchRow], dict], after: Sequence[BenchRow], now: dict) -> str:
    """What got worse or better since an earlier benchmark by more than the noise, as sentences, a line each."""
    rows, then = before
    unlike = [name for name in MACHINE if then.get(name) != now.get(name)]
    units, left_out = TRAVEL if unlike else ALL, "times are left out"
    if "threads" in unlike:
        advice = f"; set OMP_NUM_THREADS={then['threads']}" if then.get("threads") else ""
        units, left_out = ALIKE, f"times, ratios and memory are left out{advice}"
    old = {_key(row): row for row in rows}
    pairs = [(old[_key(row)], row) for row in after if _key(row) in old and row.unit in units]
    lines = []
    if pairs:
        lines.append(f"Compared with {then.get('date', 'an unknown date')}, {len(pairs)} rows.")
    if unlike:
        words = ", ".join(f"{one} {then.get(one, 'unknown')} then and {now.get(one, 'unknown')} now" for one in unlike)
        lines.append(f"The machines differ ({words}): {left_out}.")
    if not pairs and unlike:
        return f"{lines[0]}\nNo row of the two benchmarks can be compared."
    if not pairs:
        return "The two benchmarks have no row in common; measure the same sections at the same sizes."
    changed = sorted(filter(None, (_change(*pair) for pair in pairs)), reverse=True)
    return "\n".join(
        [*lines, *(sentence for _, sentence in changed or [(0, "Nothing changed by more than the noise.")])]
    )


def _key(row: BenchRow) -> tuple[str, str, str, str]:
    return row.section, row.name, row.setting, row.unit


def _change(was: BenchRow, row: BenchRow) -> tuple[float, str] | None:
    """By what factor a row got worse, slower, larger or less of something good, and a sentence; None for noise."""
    noise = max(LEAST, sum(UNKNOWN if one.spread is None else one.spread for one in (was, row)))
    quicker = row.unit == "x" and (row.section == "search" or "times quicker" in row.name)
    high, low = (was.value, row.value) if quicker or row.unit == "share" else (row.value, was.value)
    worse = high / low if low else 1.0 if high == low else math.inf
    if 1 / (1 + noise) <= worse <= 1 + noise:
        return None
    word, factor = ("worse", worse) if worse > 1 else ("better", 1 / worse if worse else math.inf)
    return worse, (
        f"{row.section}: {row.name}, {row.setting}: {word} by a factor of {factor:.2f}, from {was.value:.3g} to "
        f"{row.value:.3g} {row.unit} (noise {100 * noise:.0f} %)."
    )
