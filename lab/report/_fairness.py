"""Why lines of a report may not compare: one sentence for each reason, with the lines that it concerns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lab.report._line import Line


def warnings(lines: Sequence[Line], split: str) -> tuple[str, ...]:
    """Every reason that holds, the gravest first."""
    own = [line for line in lines if not line.published]
    found = [
        _different("data sets", lines, lambda line: line.data, "Scores on different images do not compare."),
        _protocols(lines),
        _different("backbones", lines, lambda line: line.facts.encoder, "A larger backbone scores higher by itself."),
        _different("widths", lines, lambda line: line.facts.dim, "A wider embedding scores higher by itself."),
        _different("image sizes", lines, lambda line: line.facts.size, "Larger images score higher by themselves."),
        _different("initial weights", own, lambda line: line.facts.weights, "Pretraining scores higher by itself."),
        _budgets(own),
        _selected(own, lines, split),
        *_seeds(own),
    ]
    return tuple(sentence for sentence in found if sentence)


def _different(what: str, lines: Sequence[Line], fact: Callable[[Line], Any], why: str) -> str | None:
    """Lines of which a fact is known and not the same."""
    groups: dict[Any, list[str]] = {}
    for line in lines:
        if (value := fact(line)) is not None:
            groups.setdefault(value, []).append(line.told)
    if len(groups) < 2:
        return None
    said = "; ".join(f"{value} ({_listed(names)})" for value, names in groups.items())
    return f"Different {what}: {said}. {why}"


def _protocols(given: Sequence[Line]) -> str | None:
    """Lines on one data set that were not measured on the same images in the same way.

    A published line counts where its protocol is told.
    """
    said = []
    for data in dict.fromkeys(line.facts.data for line in given):
        lines = [line for line in given if line.facts.data == data]
        for knob in dict.fromkeys(key for line in lines for key in line.facts.protocol):
            groups: dict[str, list[str]] = {}
            for line in lines:
                if not line.published or knob in line.facts.protocol:
                    groups.setdefault(str(line.facts.protocol.get(knob)), []).append(line.told)
            if len(groups) > 1:
                said.append(f"{knob} " + ", ".join(f"{value} ({_listed(names)})" for value, names in groups.items()))
    return f"Different split or protocol: {'; '.join(said)}. Measure all in the same way." if said else None


def _budgets(own: Sequence[Line]) -> str | None:
    images = {line.told: line.facts.images for line in own if line.facts.images is not None}
    if len(set(images.values())) < 2:
        return None
    said = "; ".join(
        f"{line.told} {line.facts.steps:,} steps x {line.facts.batch:,} = {line.facts.images:,} images"
        for line in own
        if line.facts.images is not None
    )
    return f"Unequal budgets: {said}. Longer training scores higher by itself."


def _selected(own: Sequence[Line], lines: Sequence[Line], split: str) -> str | None:
    """Scores that something was chosen by."""
    said = []
    if split == "validation" and (chosen := [line.told for line in own if line.facts.validated]):
        said.append(f"the checkpoints of {_listed(chosen)} were chosen by the very scores that are shown")
    if papers := [line.told for line in lines if line.published and not line.facts.validated]:
        said.append(f"{_listed(papers)}: checkpoint chosen by the test score")
    if blind := [line.told for line in own if not line.facts.validated]:
        said.append(f"{_listed(blind)}: trained without validation, so only test scores were there to choose knobs by")
    return f"Selected on {split}: {'; '.join(said)}. Such scores are too good." if said else None


def _seeds(own: Sequence[Line]) -> list[str]:
    return [
        f"Runs {', '.join(line.runs)} of {line.told} share a seed: they are not independent, and its interval is too "
        "narrow."
        for line in own
        if len(set(line.seeds)) < len(line.seeds)
    ]


def _listed(names: Sequence[str], shown: int = 4) -> str:
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")
