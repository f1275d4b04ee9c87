"""Two runs of the benchmark side by side: what got slower, or larger, by more than the noise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.bench._measure import BenchRow

UNKNOWN = 0.15
"""Noise of a row that was measured once, as a share of its value."""
LEAST = 0.05
"""Nothing below this share is called a change."""
MORE_IS_BETTER = ("share",)
TIMES = ("s", "ms", "us")
TRAVEL = ("x", "MB", "share")
"""Units of what another machine may be compared by."""
ALIKE = ("share",)
"""Units of what is the same with any number of threads: a product gains more by a second one than what stands beside
it, and each thread holds a tile."""
MACHINE = ("processor", "cores", "gpu", "kernels", "threads", "clock")
"""Facts of which none may differ where times are compared."""


@dataclass(frozen=True)
class Change:
    """A row in two runs. row: as it is now; before: its value then; noise: the share by which chance may move it."""

    row: BenchRow
    before: float
    noise: float

    @property
    def worse(self) -> float:
        """By what factor the row got worse: above 1 is slower, larger, or less of something good."""
        pair = (self.before, self.row.value) if better_when_more(self.row) else (self.row.value, self.before)
        return pair[0] / pair[1] if pair[1] else 1.0 if pair[0] == pair[1] else float("inf")

    @property
    def matters(self) -> bool:
        return self.worse > 1 + self.noise or self.worse < 1 / (1 + self.noise)

    @property
    def sentence(self) -> str:
        word = "worse" if self.worse > 1 else "better"
        factor = max(self.worse, 1 / self.worse) if self.worse else float("inf")
        row = self.row
        return (
            f"{row.section}: {row.name}, {row.setting}: {word} by a factor of {factor:.2f}, from {self.before:.3g} to "
            f"{row.value:.3g} {row.unit} (noise {100 * self.noise:.0f} %)."
        )


def better_when_more(row: BenchRow) -> bool:
    """Whether a larger number is the better one: a share found, or how many times quicker than a peer."""
    return row.unit in MORE_IS_BETTER or (row.unit == "x" and (row.section == "search" or "times quicker" in row.name))


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


def changes(
    before: Sequence[BenchRow], after: Sequence[BenchRow], units: Sequence[str] = (*TIMES, *TRAVEL)
) -> list[Change]:
    """Every row of these units that both runs hold, the one that got worst first. A power of n is a fit, and told by
    the rows that it is fitted to."""

    def key(row: BenchRow) -> tuple[str, str, str, str]:
        return row.section, row.name, row.setting, row.unit

    def noise(row: BenchRow) -> float:
        return UNKNOWN if row.spread is None else row.spread

    old = {key(row): row for row in before}
    pairs = [(old[key(row)], row) for row in after if key(row) in old and row.unit in units]
    all_changes = [Change(new, was.value, max(LEAST, noise(was) + noise(new))) for was, new in pairs]
    return sorted(all_changes, key=lambda change: -change.worse)


def compared(before: tuple[Sequence[BenchRow], dict], after: Sequence[BenchRow], now: dict) -> str:
    """What got worse or better since an earlier benchmark by more than the noise, as sentences, a line each."""
    rows, then = before
    unlike = [name for name in MACHINE if then.get(name) != now.get(name)]
    units: tuple[str, ...] = (*TIMES, *TRAVEL)
    left_out = "times are left out"
    if "threads" in unlike:
        advice = f"; set OMP_NUM_THREADS={then['threads']}" if then.get("threads") else ""
        units, left_out = ALIKE, f"times, ratios and memory are left out{advice}"
    elif unlike:
        units = TRAVEL
    found, lines = changes(rows, after, units), []
    if found:
        lines.append(f"Compared with {then.get('date', 'an unknown date')}, {len(found)} rows.")
    if unlike:
        words = ", ".join(f"{one} {then.get(one, 'unknown')} then and {now.get(one, 'unknown')} now" for one in unlike)
        lines.append(f"The machines differ ({words}): {left_out}.")
    if not found and unlike:
        return f"{lines[0]}\nNo row of the two benchmarks can be compared."
    if not found:
        return "The two benchmarks have no row in common; measure the same sections at the same sizes."
    changed = [change.sentence for change in found if change.matters]
    return "\n".join([*lines, *(changed or ["Nothing changed by more than the noise."])])
