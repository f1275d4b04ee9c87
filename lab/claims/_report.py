"""What came of the trainings: a page of verdicts, and of each study every number behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import trials
from lab.claims import _study
from lab.claims._study import SEEDS, Study
from lab.claims._sweep import current, file_of
from lab.claims._verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, Judged, among_all, judge
from lab.core.estimates import Estimate
from lab.core.formats import markdown_table
from lab.trials import Results, Scores, Trial, interval, key_of

ALL_OPTIONS = "chosen by seed"

MARKS = {HOLDS: "**holds**", FAILS: "**does not hold here**", UNDECIDED: "cannot be told", NOT_RUN: "not run"}
COUNTED = {HOLDS: "hold", FAILS: "do not hold here", UNDECIDED: "cannot be told", NOT_RUN: "were not run"}


@dataclass(frozen=True)
class Judgement:
    """A study with what came of it. trials: those that it asks for as it is declared now."""

    study: Study
    results: Results
    trials: list[Trial]
    claims: list[Judged]


def judgements(names: Sequence[str], folder: Path | str, seeds: int = SEEDS) -> dict[str, Judgement]:
    """Every study by its name, the verdicts corrected for all comparisons of them all.

    Raises:
        ValueError: a results file is damaged.
    """
    studies = {name: _study.get(name) for name in names}
    results = {name: trials.read(file_of(name, folder)) for name in names}
    made = {name: current(studies[name], results[name], seeds) for name in names}
    verdicts = among_all({name: judge(studies[name], made[name], seeds) for name in names})
    return {name: Judgement(studies[name], results[name], made[name], verdicts[name]) for name in names}


def report(names: Sequence[str], folder: Path | str, seeds: int = SEEDS) -> str:
    """The page of verdicts as Markdown: docs/claims.md.

    Raises:
        ValueError: a results file is damaged.
    """
    found = judgements(names, folder, seeds)

    def says(one: Judgement, verdict: str) -> str:
        those = [j for j in one.claims if j.verdict == verdict]
        return " ".join(f"**{j.claim.says}**" if j.sure else j.claim.says for j in those)

    shown = [HOLDS, FAILS, UNDECIDED]
    shown += [NOT_RUN] * any(j.verdict == NOT_RUN for one in found.values() for j in one.claims)
    rows = [
        [f"{name}: {one.study.title} ({one.study.source})", *(says(one, verdict) for verdict in shown)]
        for name, one in found.items()
    ]
    return f"""# Do the claims hold?

<!-- written by `lab papers claims report` -->

What the papers say, tried on emoji, letters and digits: {sum(len(one.trials) for one in found.values()):,} short
trainings, most of a linear map on the fixed features of a pretrained network, {seeds} seeds a setting. "Does not hold
here" means that an effect does not show at this scale, not that a paper is wrong; "holds" means that it can be seen
without a GPU. Verdicts follow from Student's t intervals over seeds, 95 %, widened for the classes that seeds share;
most differences below two points cannot be told. Verdicts in bold stand corrected for all comparisons of this page
(Holm's method), too; the others are hints.

`lab papers claims show STUDY` tells a study's scores, comparisons and intervals; the site has all of them on one page,
with how they were made and a reading. `lab papers claims run` tries them again.

{counted(found)}

{markdown_table(["study", *shown], rows)}
"""


def counted(found: dict[str, Judgement]) -> str:
    """How many claims have which verdict, and the command that makes what is missing."""
    every = [judged for one in found.values() for judged in one.claims]
    counts = [f"{sum(j.verdict == v for j in every)} {words}" for v, words in COUNTED.items()]
    lacking = [name for name, one in found.items() if any(j.verdict == NOT_RUN for j in one.claims)]
    rest = f" To run the rest: `lab papers claims run --only {' '.join(lacking)}`." if lacking else ""
    sure = [sum(j.verdict == v and j.sure for j in every) for v in (HOLDS, FAILS)]
    return (
        f"Of {len(every)} claims {', '.join(counts)}.{rest} Corrected for all comparisons of this page, {sure[0]} "
        f"still hold and {sure[1]} still do not."
    )


def section(name: str, judgement: Judgement, seeds: int = SEEDS) -> str:
    """One study: what was run, every setting, every comparison."""
    study, trials = judgement.study, judgement.trials
    failed = sum(bool(t.failed) for t in trials)
    lines = [
        f"## {name.replace('_', '-')}",
        f"*{study.title}.* {study.source}. Tier `{study.tier}`, learning rate{'s' * (len(study.lrs) > 1)} "
        f"{', '.join(f'{lr:g}' for lr in study.lrs)}. {len(trials)} of {len(study.trainings(seeds))} trainings were "
        f"run ({sum(t.cpu for t in trials):.0f} CPU seconds)"
        + (f"; {failed} diverged" if failed else "")
        + (f". {study.remark}" if study.remark else "."),
    ]
    if trials:
        lines += [_scores_table(study, trials), *map(_claim_table, judgement.claims)]
    return "\n\n".join(lines)


def _scores_table(study: Study, trials: list[Trial]) -> str:
    """Mean test scores of every setting with their intervals, in points; under it its options, each by itself."""
    known = {"r@1", "r@4", "MAP@R", "mAP"}
    extra = [c for t in trials for c in t.test if c not in known] if study.extra else []
    columns = list(dict.fromkeys([study.column, "r@1", "MAP@R", *extra]))
    axes = list(dict.fromkeys(axis for point in study.points for axis in point.setting))
    options = ["option"] if any(point.option for point in study.points) else []
    rows = []
    for setting, option, kept in _lines(study, trials):
        scores = Scores(kept, study.column, None if option else study.options())
        if not (by_seed := scores.by_seed(**setting)):
            continue
        places = (setting.get(axis, "") for axis in axes)
        cells = [f"{one:g}" if isinstance(one, int | float) else str(one) for one in places]
        cells += [option or ALL_OPTIONS] * len(options)
        for column in columns:
            found = interval(list(scores.by_seed(column, **setting).values()), shared=study.shared)
            half = "" if found.half is None else f" ± {100 * found.half:.1f}"
            cells.append(f"{100 * found.mean:.1f}{half}" if found.count else "-")
        rows.append([*cells, str(len(by_seed))])
    return markdown_table([*axes, *options, *columns, "seeds"], rows) if rows else "No setting is complete."


def _lines(study: Study, trials: list[Trial]) -> Iterator[tuple[dict, str, list[Trial]]]:
    """Setting, option and the trials that count: every setting by all of its options, then by each."""
    digests = {(key_of(t.point.setting), t.point.option): t.digest for t in study.trainings(seeds=1)}
    for key in dict.fromkeys(key for key, _ in digests):
        yield dict(key), "", trials
        for option in [option for other, option in digests if other == key and option]:
            yield dict(key), option, [t for t in trials if t.digest == digests[key, option]]


def _claim_table(judged: Judged) -> str:
    """Every comparison of a claim."""
    rows = [
        [
            f.contrast.words,
            _signed(f.interval, f.contrast.points),
            "-" if math.isnan(f.effect) else f"{f.effect:+.1f}",
            "-" if math.isnan(f.holm) else "< .01" if f.holm < 0.01 else f"{f.holm:.2f}",
            str(f.interval.count),
            f.verdict,
        ]
        for f in judged.findings
    ]
    head = ["comparison", "mean and interval", "effect", "p (Holm)", "seeds", "verdict"]
    title = f"{judged.claim.source}: {judged.claim.says} Here: {MARKS[judged.verdict]}."
    return f"{title}\n\n{markdown_table(head, rows)}"


def _signed(interval: Estimate, points: bool) -> str:
    """A difference with its interval, in points or plain."""
    if not interval.count:
        return "-"
    factor, unit = (100, " points") if points else (1, "")
    low, high = interval.low, interval.high
    ends = "" if low is None or high is None else f" [{factor * low:+.2f}, {factor * high:+.2f}]"
    return f"{factor * interval.mean:+.2f}{ends}{unit}"
