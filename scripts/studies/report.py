"""What came of the trainings: a page of verdicts, the numbers of its figure, and every number behind a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.core.formats import markdown_table
from lab.figures.measured import Trial
from lab.papers.tables import TITLES
from scripts.studies.catalogue import select
from scripts.studies.study import SEEDS, Study
from scripts.studies.sweep import read
from scripts.studies.verdicts import (
    BLIND,
    NOT_SEEN,
    POWER,
    SHOWS,
    TESTED,
    VERDICTS,
    Judged,
    chosen_by,
    judge,
    rates,
)

MEANINGS = (
    f"*{SHOWS.capitalize()}*: the interval lies above zero, though the effect may be far smaller than published.",
    f"*{NOT_SEEN['head'].capitalize()}*: the interval lies below every published number. A whole network on photos "
    "may still show it.",
    f"*{BLIND.capitalize()}*: an effect of the published size would be found in fewer than four of five repetitions.",
)
"""What the verdicts mean, in the words of docs/claims.md and of lesson 8."""


def judgements(folder: Path | str, seeds: int = SEEDS) -> dict[str, Judged]:
    """Every study by its name, with its verdict.

    Raises:
        ValueError: a results file is damaged.
    """
    studies = select()
    return judge(studies, read([*studies.values()], folder), seeds)


def effects(found: dict[str, Judged]) -> list[dict[str, Any]]:
    """What the figure `published_effects` shows, in points, study by study."""
    return [
        {
            "study": name,
            "paper": TITLES[one.study.paper].short,
            "says": one.study.says,
            "published": [gain.points for gain in one.study.published],
            "verdict": one.verdict,
            "visible": None if one.visible is None else round(one.visible, 3),
            "interval": one.effect
            and [round(x, 3) for x in (one.effect.low, one.effect.mean, one.effect.high)],
        }
        for name, one in found.items()
    ]


def report(folder: Path | str, seeds: int = SEEDS) -> str:
    """The page of verdicts as Markdown: docs/claims.md.

    Raises:
        ValueError: a results file is damaged.
    """
    found = judgements(folder, seeds)
    made = read([*select().values()], folder)
    counts = Counter(one.verdict for one in found.values())
    told = ", ".join(f"{counts[verdict]} “{verdict}”" for verdict in VERDICTS if counts[verdict])
    hours = sum(trial.cpu for trial in made) / 3600
    meanings = "\n".join(f"- {one}" for one in MEANINGS)
    parts = [
        f"""# Do the claims hold?

<!-- written by `python -m scripts.studies report` -->

Each figure shows what one paper reports and what its claims come to here, on emoji. A circle is a published difference
of two scores; a bar is the difference here, with its 95 % interval over classes and trainings. Where nothing was tried,
a grey bar says how large an effect would have to be.

{meanings}

Nearly all are short trainings of a linear head on the frozen features of a pretrained network: {len(made):,} of them,
{hours:.1f} processor hours, one split, {seeds} an arm. Each arm has its own best learning rate, chosen on other classes
than those of the tests, with a worse one on either side.

Behind each name stands the smallest effect, in points, that a two-sided t test finds four times in five: as pilot
trainings promised, and as the {seeds} trainings reached. The studies are not blind: version 0.2 had judged losses on
the same emoji, seven trainings were measured while the code was tried, and `cam_repeller` got another start after other
verdicts were known.

Of {len(found)} claims {told}."""
    ]
    for number, title in TITLES.items():
        those = {name: one for name, one in found.items() if one.study.paper == number}
        if those:
            parts.append(f"## {title.short}\n\n![{title.short}: published effects and those measured here]"
                         f"(images/claims_{number}.webp)\n\n{_lines(those)}")  # fmt: skip
    parts.append(
        "In a checkout, `python -m scripts.studies show STUDY` tells all numbers of a study; `run` tries it again."
    )
    return "\n\n".join(parts) + "\n"


def _lines(found: dict[str, Judged]) -> str:
    """One line a verdict."""
    lines = []
    for verdict in VERDICTS:
        those = [_line(name, one) for name, one in found.items() if one.verdict == verdict]
        lines += [f"- **{verdict[0].upper()}{verdict[1:]}.** {' '.join(those)}"] if those else []
    return "\n".join(lines)


def _line(name: str, judged: Judged) -> str:
    """The sentence of a claim, with the effects that could be seen."""
    sizes = [f"{size:.2f}" for size in (judged.visible, judged.reached) if size is not None]
    return f"{judged.study.says} (`{name}`{', ' if sizes else ''}{' → '.join(sizes)})"


def sections(folder: Path | str, seeds: int = SEEDS, only: Sequence[str] = ()) -> list[str]:
    """Each study as Markdown: what was compared, every number. All studies, unless some are named.

    Raises:
        ValueError: no such study, or a results file is damaged.
    """
    # power and Holm's method take all of them
    wanted, found = (
        select(only),
        judgements(folder, seeds),
    )
    return [
        _section(name, found[name], read([study], folder), seeds) for name, study in wanted.items()
    ]


def _section(name: str, judged: Judged, trials: Sequence[Trial], seeds: int) -> str:
    study = judged.study
    lines = [
        f"## {name}",
        f"{study.says} {study.source}. Here: **{judged.verdict}**."
        + (f" {study.remark}" if study.remark else ""),
        f"Published, in points of {study.columns[0]}: "
        + "; ".join(f"{gain.points:+g} ({gain.data})" for gain in study.published)
        + f". Their mean is {study.expected:+.2f}.",
        _arms(study, trials, seeds),
    ]
    if judged.power is not None:
        lines.append(
            f"With {seeds} seeds and {TESTED[study.first.protocol]} test classes an effect of the mean published size "
            f"is found in {100 * judged.power:.0f} % of all cases; one of {judged.visible:.2f} points in "
            f"{100 * POWER:.0f} %."
            + (
                f" Such a one has {judged.reached:.2f} points by the trainings themselves."
                if judged.reached
                else ""
            )
        )
    if judged.effect is not None:
        one = judged.effect
        lines.append(
            f"First less second: {one.mean:+.2f} points, 95 % interval {one.low:+.2f} to {one.high:+.2f} "
            f"over seeds and classes; p {_chance(one.p)}, among all studies {_chance(judged.holm or 0)} (Holm)."
        )
    return "\n\n".join(lines)


def _chance(p: float) -> str:
    return "below .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _arms(study: Study, trials: Sequence[Trial], seeds: int) -> str:
    """Each arm with the rates that were tried, the one that was chosen, and its mean score."""
    rows = []
    for arm, column in zip((study.first, study.second), study.columns, strict=True):
        best = rates(arm, trials, chosen_by(column)).best
        mine = [t for t in trials if t.digest == arm.digest]
        tried = ", ".join(f"{lr:g}" for lr in sorted({t.lr for t in mine if t.validation}))
        scores = [t.test[column] for t in mine if t.lr == best and t.seed < seeds and t.test]
        mean = f"{100 * sum(scores) / len(scores):.2f}" if scores else "-"
        rows.append(
            [arm.name, tried or "-", f"{best:g}" if best else "-", column, mean, str(len(scores))]
        )
    return markdown_table(
        ["arm", "rates tried", "chosen", "score", "mean on test classes", "trainings"], rows
    )
