"""Why lines of a report may not compare: a sentence for each reason, and marks on numbers measured in another way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_lowercase
from typing import Any

from lab.report._facts import ReportLine

UNSEARCHED = ("NMI", "AMI", "F1", "anchor accuracy", "classifier accuracy")
"""Columns that no search has a part in."""


def warnings(lines: Sequence[ReportLine], split: str) -> tuple[str, ...]:
    """Every reason that holds, the gravest first."""
    ours = [line for line in lines if not line.published]
    sentences = [
        _different("data sets", lines, lambda line: line.data, "Scores on different images do not compare."),
        _protocols(lines),
        _different("backbones", lines, lambda line: line.facts.encoder, "A larger backbone scores higher by itself."),
        _different("widths", lines, lambda line: line.facts.dim, "A wider embedding scores higher by itself."),
        _different("image sizes", lines, lambda line: line.facts.size, "Larger images score higher by themselves."),
        _different("initial weights", ours, lambda line: line.facts.weights, "Pretraining scores higher by itself."),
        _budgets(ours),
        _selected(ours, lines, split),
        *_seeds(ours),
    ]
    return tuple(sentence for sentence in sentences if sentence)


def _different(what: str, lines: Sequence[ReportLine], fact: Callable[[ReportLine], Any], why: str) -> str | None:
    """Lines of which a fact is known and not the same."""
    groups: dict[Any, list[str]] = {}
    for line in lines:
        if (value := fact(line)) is not None:
            groups.setdefault(value, []).append(line.label)
    if len(groups) < 2:
        return None
    listed = "; ".join(f"{value} ({_listed(names)})" for value, names in groups.items())
    return f"Different {what}: {listed}. {why}"


def _protocols(all_lines: Sequence[ReportLine]) -> str | None:
    """Lines on one data set that were not measured on the same images in the same way.

    A published line counts where its protocol is told.
    """
    parts = []
    for data in dict.fromkeys(line.facts.data for line in all_lines):
        lines = [line for line in all_lines if line.facts.data == data]
        for knob in dict.fromkeys(key for line in lines for key in line.facts.protocol):
            groups: dict[str, list[str]] = {}
            for line in lines:
                if not line.published or knob in line.facts.protocol:
                    groups.setdefault(str(line.facts.protocol.get(knob)), []).append(line.label)
            if len(groups) > 1:
                parts.append(f"{knob} " + ", ".join(f"{value} ({_listed(names)})" for value, names in groups.items()))
    return f"Different split or protocol: {'; '.join(parts)}. Measure all in the same way." if parts else None


def _budgets(ours: Sequence[ReportLine]) -> str | None:
    images = {line.label: line.facts.images for line in ours if line.facts.images is not None}
    if len(set(images.values())) < 2:
        return None
    listed = "; ".join(
        f"{line.label} {line.facts.steps:,} steps x {line.facts.batch:,} = {line.facts.images:,} images"
        for line in ours
        if line.facts.images is not None
    )
    return f"Unequal budgets: {listed}. Longer training scores higher by itself."


def _selected(ours: Sequence[ReportLine], lines: Sequence[ReportLine], split: str) -> str | None:
    """Scores that something was chosen by."""
    parts = []
    if split == "validation" and (chosen := [line.label for line in ours if line.facts.validated]):
        parts.append(f"the checkpoints of {_listed(chosen)} were chosen by the very scores that are shown")
    if papers := [line.label for line in lines if line.published and not line.facts.validated]:
        parts.append(f"{_listed(papers)}: checkpoint chosen by the test score")
    if blind := [line.label for line in ours if not line.facts.validated]:
        parts.append(f"{_listed(blind)}: trained without validation, so only test scores were there to choose knobs by")
    return f"Selected on {split}: {'; '.join(parts)}. Such scores are too good." if parts else None


def _seeds(ours: Sequence[ReportLine]) -> list[str]:
    return [
        f"Runs {', '.join(line.runs)} of {line.label} share a seed: they are not independent, and its interval is too "
        "narrow."
        for line in ours
        if len(set(line.seeds)) < len(line.seeds)
    ]


def _listed(names: Sequence[str], most: int = 4) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def apart(lines: Sequence[ReportLine], columns: Sequence[str]) -> dict[tuple[int, str], str]:
    """Position of a line and column to what sets the number apart from those above it on the same data, if anything.

    In each thing that can be told the first line that tells it sets the standard. A published line is compared in what
    its paper tells, and in its search.
    """
    reasons = {}
    for column in columns:
        usual: dict[str, dict[str, object]] = {}
        for at, line in enumerate(lines):
            if column not in line.scores:
                continue
            mine, theirs = _measured(line, column), usual.setdefault(line.data, {})
            parts = [f"{k} {mine[k]} instead of {theirs[k]}" for k in mine if k in theirs and mine[k] != theirs[k]]
            if parts:
                reasons[at, column] = ", ".join(parts)
            usual[line.data] = {**mine, **theirs}
    return reasons


def letters(sentences: Sequence[str]) -> dict[str, str]:
    """A letter for each different sentence, in their order: a, b, ... z, aa."""
    different = list(dict.fromkeys(sentences))
    return {reason: ascii_lowercase[at % 26] * (1 + at // 26) for at, reason in enumerate(different)}


def _measured(line: ReportLine, column: str) -> dict[str, object]:
    protocol = dict(line.facts.protocol)
    usual = protocol.pop("search", "exact")
    return protocol if column in UNSEARCHED else {**protocol, "search": line.facts.search.get(column, usual)}
