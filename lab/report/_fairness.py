"""Why lines of a report may not compare: a sentence for each reason."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lab.report._facts import ReportLine


def warnings(lines: Sequence[ReportLine], split: str) -> tuple[str, ...]:
    """Every reason that holds, the gravest first."""
    ours = [line for line in lines if not line.published]
    sentences = [
        _different(
            "data sets", lines, lambda line: line.data, "Scores on different images do not compare."
        ),
        _protocols(lines),
        _other_images(ours),
        _different(
            "backbones",
            lines,
            lambda line: line.facts.encoder,
            "A larger backbone scores higher by itself.",
        ),
        _different(
            "widths",
            lines,
            lambda line: line.facts.dim,
            "A wider embedding scores higher by itself.",
        ),
        _different(
            "image sizes",
            lines,
            lambda line: line.facts.size,
            "Larger images score higher by themselves.",
        ),
        _different(
            "initial weights",
            ours,
            lambda line: line.facts.weights,
            "Pretraining scores higher by itself.",
        ),
        _different(
            "numbers of training images", ours, lambda line: line.facts.images, "More score higher."
        ),
        _selected(ours, lines, split),
        *map(_same_seed, ours),
        *map(_counted_twice, ours),
    ]
    return tuple(sentence for sentence in sentences if sentence)


def _same_seed(line: ReportLine) -> str | None:
    """Runs of a line of which two have the same seed."""
    if len(set(line.seeds)) == len(line.seeds):
        return None
    return (
        f"Runs {', '.join(line.runs)} of {line.label} share a seed: they are not independent, and its interval is too "
        "narrow."
    )


def _counted_twice(line: ReportLine) -> str | None:
    """Runs of a line whose embeddings are equal: one training that was imported or copied again."""
    runs: dict[str, list[str]] = {}
    for name, checksum in zip(line.runs, line.vectors, strict=False):
        if checksum:
            runs.setdefault(checksum, []).append(name)
    twice = [_listed(names) for names in runs.values() if len(names) > 1]
    if not twice:
        return None
    return f"Runs {' / '.join(twice)} of {line.label} hold equal embeddings: one training is counted more than once."


def _different(
    what: str, lines: Sequence[ReportLine], fact: Callable[[ReportLine], Any], why: str
) -> str | None:
    """Lines of which a fact is known and not the same."""
    known = [line for line in lines if fact(line) is not None]
    groups = _grouped(known, map(fact, known))
    if len(groups) < 2:
        return None
    parts = []
    for value, names in groups.items():
        word = f"{value:,}" if isinstance(value, int) else str(value)
        parts.append(f"{word} ({names})")
    return f"Different {what}: {'; '.join(parts)}. {why}"


def _grouped(lines: Sequence[ReportLine], values: Iterable[Any]) -> dict[Any, str]:
    """Each value of a fact to the lines that have it."""
    groups: dict[Any, list[str]] = {}
    for line, value in zip(lines, values, strict=True):
        groups.setdefault(value, []).append(line.label)
    return {value: _listed(names) for value, names in groups.items()}


def _protocols(all_lines: Sequence[ReportLine]) -> str | None:
    """Lines on one data set that were not measured on the same images in the same way.

    A published line counts where its protocol is told.
    """
    parts = []
    for data in dict.fromkeys(line.facts.data for line in all_lines):
        lines = [line for line in all_lines if line.facts.data == data]
        knobs = [knob for line in lines for knob in line.facts.protocol]
        for knob in dict.fromkeys(knobs):
            compared = [line for line in lines if not line.published or knob in line.facts.protocol]
            groups = _grouped(compared, [str(line.facts.protocol.get(knob)) for line in compared])
            if len(groups) > 1:
                values = [f"{value} ({names})" for value, names in groups.items()]
                parts.append(f"{knob} {', '.join(values)}")
    if not parts:
        return None
    return f"Different split or protocol: {'; '.join(parts)}. Measure all in the same way."


def _other_images(ours: Sequence[ReportLine]) -> str | None:
    """Runs whose settings name the same images, but that were measured on others: a folder or table has changed."""
    parts = []
    settings = [(line.facts.data, str(line.facts.protocol)) for line in ours]
    for setting in dict.fromkeys(settings):
        runs: dict[str, list[str]] = {}
        for line, other in zip(ours, settings, strict=True):
            for name, digest in zip(line.runs, line.measured, strict=False):
                if other == setting and digest:  # version 0.2 recorded no digest
                    runs.setdefault(digest, []).append(name)
        if len(runs) > 1:
            parts.append(" / ".join(_listed(names) for names in runs.values()))
    if not parts:
        return None
    return (
        f"Measured on different images or labels, though the settings are the same: {'; '.join(parts)}. The folder or "
        "table has changed in between; evaluate all runs on the same images."
    )


def _selected(ours: Sequence[ReportLine], lines: Sequence[ReportLine], split: str) -> str | None:
    """Scores that something was chosen by."""
    parts = []
    chosen = [line.label for line in ours if line.facts.validated]
    if split == "validation" and chosen:
        parts.append(
            f"the checkpoints of {_listed(chosen)} were chosen by the very scores that are shown"
        )
    papers = [line.label for line in lines if line.published and line.facts.validated is False]
    if papers:
        parts.append(f"{_listed(papers)}: checkpoint chosen by the test score")
    blind = [line.label for line in ours if line.facts.validated is False]
    if blind:
        parts.append(
            f"{_listed(blind)}: trained without validation, so only test scores were there to choose knobs by"
        )
    if not parts:
        return None
    return f"Selected on {split}: {'; '.join(parts)}. Such scores are too good."


def _listed(names: Sequence[str], most: int = 4) -> str:
    """The first names, and how many more there are."""
    listed = ", ".join(names[:most])
    if len(names) > most:
        listed += f" and {len(names) - most} more"
    return listed
