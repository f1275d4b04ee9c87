"""docs/claims.md: every claim with its verdict, the numbers behind it, and what was not run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab import trials
from lab.claims import _studies
from lab.claims._axes import tried
from lab.claims._study import LEAST, SEEDS, SEEN_AMONG, SEEN_CLASSES, TESTED, Study
from lab.claims._sweep import current, file_of
from lab.claims._verdicts import FAILS, HOLDS, LEVEL, MOST, NOT_RUN, UNTOLD, Answer, Judged, among_all, judge
from lab.trials import Interval, Results, Scores, interval, key_of

READING = Path(__file__).parent / "reading.md"
"""What a person made of the numbers; stands at the top of the report."""

ALL_OPTIONS = "chosen by seed"

MARKS = {HOLDS: "**holds**", FAILS: "**does not hold here**", UNTOLD: "cannot be told", NOT_RUN: "not run"}


def report(names: Sequence[str], folder: Path | str, seeds: int = SEEDS) -> str:
    """The whole page as Markdown.

    Raises:
        ValueError: a results file is damaged.
    """
    studies = {name: _studies.get(name) for name in names}
    results = {name: trials.read(file_of(name, folder)) for name in names}
    current_trials = {name: current(studies[name], results[name], seeds) for name in names}
    verdicts = among_all({name: judge(studies[name], current_trials[name], seeds) for name in names})
    parts = [
        "# Do the claims hold?",
        "<!-- written by `lab claims report`; edit lab/claims/reading.md and the studies instead -->",
        READING.read_text(encoding="utf-8").strip(),
        how(results, current_trials, verdicts, seeds),
        summary(studies, verdicts),
        *(section(name, studies[name], current_trials[name], verdicts[name], seeds) for name in names),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def how(results: dict[str, Results], trials: dict[str, list], verdicts: dict[str, list[Judged]], seeds: int) -> str:
    """How the numbers were made and how they decide."""
    made = sum(map(len, trials.values()))
    cpu = sum(t.cpu for one in trials.values() for t in one)
    sessions = [s for one in results.values() for s in one.sessions]
    machines = sorted({s["machine"] for s in sessions})
    versions = sorted({", ".join(f"{k} {v}" for k, v in s["versions"].items()) for s in sessions})
    comparisons = sum(f.verdict != NOT_RUN for one in verdicts.values() for j in one for f in j.findings)
    return f"""## How it was done

{made:,} trainings, {cpu / 60:.0f} minutes of processor time, on {"; ".join(machines) or "no machine yet"}.
Versions: {"; ".join(versions) or "none yet"}.

- **Three tiers.** `head`: a linear embedding of 128 numbers on frozen EfficientNet-Lite0 features of Emoji-7 (seen at
  128 pixels), batches of 128 with four images a class, 150 steps of AdamW. `cnn`: the whole small CNN, 100 steps.
  `end_to_end`: a pretrained EfficientNet-Lite0 that learns as a whole at 64 pixels, batches of 64, 40 steps.
{_short(trials)}  What a study changes stands in its table. The loop, samplers, losses and metrics are those of
  `lab train`.
- **Three sets.** Emoji-7, 1,014 emoji as seven vendors drew them; and, where a study says so, letters, 497 letters of
  three scripts in ten typefaces, or digits, ten handwritten digits of some 180 images each.
- **Seeds.** {seeds} a setting. The seed decides which classes train, validate and test, the weights and the batches.
  Comparisons are paired: same seed, same classes, same batches. All seeds split the same classes: any two share
  half of their test classes and three tenths of their training classes, so they are no {seeds} independent experiments.
- **Choice.** All losses of a study had the same learning rates, and each seed takes the rate that did best on its
  validation classes. Ranking losses had two variants as well, as printed (`paper`) and as the authors' code has it
  (`released`): each seed takes what did best, and the rows below it show each variant by itself. Where a claim was
  tried with fewer, the table of all claims says so, and its verdict is of those alone. The variants of the contextual
  loss are two ways to weigh its parts; a study that gives the weights itself has none. Nothing is chosen on test
  classes.
- **Intervals** are Student's t, 95 %, over seeds, widened for what the seeds share: the variance of a mean is
  s² (1/n + r), n being the seeds and r the classes that a seed tests on for each that it does not (Nadeau and Bengio,
  2003). Half of the classes test, so r = 1 and intervals are {_wider("unseen", seeds)} times as wide as for
  independent seeds. Where images of the training's classes test, a seed draws {SEEN_CLASSES} of {SEEN_AMONG} classes
  (r = {_ratio("seen"):.2f}, {_wider("seen", seeds)} times); of digits, whose ten classes are always the same, it
  tests a fifth of the images (r = {_ratio("digits"):.2f}, {_wider("digits", seeds)} times). More seeds would narrow
  them little: it takes more classes. The correction is a rule of thumb; with it an interval may be read as
  speaking of other classes of this kind, or of other images of the ten digits.
- **Verdicts.** An expected advantage *holds* if its interval lies above 0, *does not hold here* if the interval lies
  below half a point ({LEAST:g}), else it *cannot be told*. "No difference" holds if the interval lies within half a
  point, "no loss" if it lies above minus half a point. A claim of several comparisons holds if all hold, and does not
  hold if one of them fails at {LEVEL:.0%} divided by their number. Slopes and shares have bounds of their own in the
  studies, a tenth of a point to one.
- **Many comparisons.** Of {comparisons} comparisons some look like effects by chance. p is how often chance would give
  the verdict that is nearest, here corrected for all {comparisons} by Holm's method; the column *Holm* tells whether a
  claim's verdict stands then, too. One that does not is a hint.
- **Effects.** The column *effect* is the mean in standard deviations over seeds. Where nothing can be told, *needed* is
  the number of seeds that would tell if mean and deviation stayed as they are: seeds such as these, which share
  classes; or, where no number of those would, seeds *apart*, each with classes of its own, which takes a larger set.

`lab claims run --folder lab/trials/results` makes what is missing here; `lab claims report` writes this page again."""


FIVE_MINUTES = 300
"""Seconds of processor time that a training of a whole pretrained network should have."""


def _short(trials: dict[str, list]) -> str:
    """What trainings of the last tier cost, and what they would have cost at their full length."""
    whole = [t.cpu for name, made in trials.items() if _studies.get(name).tier == "end_to_end" for t in made]
    if not whole:
        return ""
    return (
        f"  These took {sum(whole) / len(whole):.0f} seconds of a core each, where five minutes were the goal: all "
        f"{len(whole)} would\n  have taken {FIVE_MINUTES * len(whole) / 3600:.0f} hours of it, more than there was.\n"
    )


def _ratio(protocol: str) -> float:
    """As `Study.shared`."""
    return TESTED[protocol] / (1 - TESTED[protocol])


def _wider(protocol: str, seeds: int) -> str:
    """How many times as wide intervals are as for independent seeds."""
    return f"{math.sqrt(1 + seeds * _ratio(protocol)):.1f}"


def summary(studies: dict[str, Study], verdicts: dict[str, list[Judged]]) -> str:
    """One row a claim."""
    every = [(name, judged) for name, judgements in verdicts.items() for judged in judgements]
    counts = [f"{sum(j.verdict == v for _, j in every)} {words}" for v, words in _COUNTED.items()]
    rows = [
        f"| {j.claim.source} | {j.claim.says} | {MARKS[j.verdict]}{_share(j)} | {_stands(j)} "
        f"| {tried(studies[name], j.claim)} | [{name}](#{name.replace('_', '-')}) |"
        for name, j in every
    ]
    sure = [sum(j.verdict == v and j.sure for _, j in every) for v in (HOLDS, FAILS)]
    head = (
        f"## All claims\n\nOf {len(every)} claims {', '.join(counts)}.{_missing(verdicts)} Corrected for all "
        f"comparisons of this page, {sure[0]} still hold and {sure[1]} still do not.\n\n"
    )
    return head + "\n".join(
        ["| paper | claim | here | Holm | tried with | study |", "|---|---|---|---|---|---|", *rows]
    )


def _stands(judged: Judged) -> str:
    """Whether a verdict stands among all comparisons, where there is one."""
    return ("stands" if judged.sure else "a hint") if judged.verdict in (HOLDS, FAILS) else ""


_COUNTED = {HOLDS: "hold", FAILS: "do not hold here", UNTOLD: "cannot be told", NOT_RUN: "were not run"}


def _missing(verdicts: dict[str, list[Judged]]) -> str:
    """Names the studies that lack trainings, and the command that makes them."""
    names = [name for name, judgements in verdicts.items() if any(j.verdict == NOT_RUN for j in judgements)]
    return f" To run the rest: `lab claims run --only {' '.join(names)}`." if names else ""


def _share(judged: Judged) -> str:
    """How many of several comparisons hold."""
    count = len(judged.findings)
    if count == 1 or judged.verdict in (HOLDS, NOT_RUN):
        return ""
    return f" ({sum(f.verdict == HOLDS for f in judged.findings)} of {count} comparisons hold)"


def section(name: str, study: Study, trials: list, verdicts: list[Judged], seeds: int) -> str:
    """One study: what was run, every setting, every comparison."""
    planned = len(study.trainings(seeds))
    failed = sum(bool(t.failed) for t in trials)
    cpu = sum(t.cpu for t in trials)
    rates = ", ".join(f"{lr:g}" for lr in study.lrs)
    lines = [
        f"## {name.replace('_', '-')}",
        f"*{study.title}.* {study.source}. Tier `{study.tier}`, learning rate{'s' * (len(study.lrs) > 1)} {rates}. "
        f"{len(trials)} of {planned} trainings were run ({cpu:.0f} CPU seconds)"
        + (f"; {failed} diverged" if failed else "")
        + (f". {study.remark}" if study.remark else "."),
    ]
    if trials:
        lines += [scores_table(study, trials), claims_table(verdicts)]
    return "\n\n".join(lines)


def scores_table(study: Study, trials: list) -> str:
    """Mean test scores of every setting with their intervals, in points; under it its options, each by itself."""
    columns = list(dict.fromkeys([study.column, "r@1", "MAP@R", *(_extra(study, trials))]))
    axes = list(dict.fromkeys(axis for point in study.points for axis in point.setting))
    names = {t.digest: t.point.option for t in study.trainings(seeds=1)}
    options = ["option"] if any(names.values()) else []
    chosen = ["chosen"] if len(study.lrs) > 1 or options else []
    rows = []
    for setting, option, kept in _lines(study, trials):
        scores = Scores(kept, study.column, None if option else study.options())
        by_seed = scores.by_seed(**setting)
        if not by_seed:
            continue
        cells = [_plain(setting.get(axis, "")) for axis in axes] + [option or ALL_OPTIONS] * len(options)
        cells += [_points(interval(list(scores.by_seed(c, **setting).values()), shared=study.shared)) for c in columns]
        cells += [_chosen(scores.chosen_of(**setting), {} if option else names)] * len(chosen)
        rows.append([*cells, str(len(by_seed))])
    return _table([*axes, *options, *columns, *chosen, "seeds"], rows) if rows else "No setting is complete."


def _lines(study: Study, trials: list) -> Iterator[tuple[dict, str, list]]:
    """Setting, option and the trials that count: every setting by all of its options, then by each."""
    digests = {(key_of(t.point.setting), t.point.option): t.digest for t in study.trainings(seeds=1)}
    for key in dict.fromkeys(key for key, _ in digests):
        yield dict(key), "", trials
        for option in [option for other, option in digests if other == key and option]:
            yield dict(key), option, [t for t in trials if t.digest == digests[key, option]]


def _chosen(trials: list, names: dict[str, str]) -> str:
    """What was chosen how often, as `0.001 released x3`."""
    words = [f"{trial.lr:g} {names.get(trial.digest, '')}".strip() for trial in trials]
    return ", ".join(f"{one} x{words.count(one)}" for one in sorted(set(words)))


def claims_table(verdicts: list[Judged]) -> str:
    """Every comparison of every claim."""
    blocks = []
    for j in verdicts:
        rows = [
            [
                f.contrast.words,
                _signed(f.interval, f.contrast.points),
                _effect(f.effect),
                _chance(f.holm),
                str(f.interval.n),
                _needed(f),
                f.verdict,
            ]
            for f in j.findings
        ]
        blocks.append(
            f"{j.claim.source}: {j.claim.says} Here: {MARKS[j.verdict]}.\n\n"
            + _table(["comparison", "mean and interval", "effect", "p (Holm)", "seeds", "needed", "verdict"], rows)
        )
    return "\n\n".join(blocks)


def _extra(study: Study, trials: list) -> list[str]:
    """Columns that only this study measures."""
    known = {"r@1", "r@4", "MAP@R", "mAP"}
    return list(dict.fromkeys(c for t in trials for c in t.test if c not in known)) if study.extra else []


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _points(interval: Interval) -> str:
    """A score in points with half its interval."""
    if not interval.n:
        return "-"
    half = (interval.high - interval.low) / 2
    return f"{100 * interval.mean:.1f} ± {100 * half:.1f}" if math.isfinite(half) else f"{100 * interval.mean:.1f}"


def _effect(effect: float) -> str:
    """In standard deviations over seeds."""
    return "-" if math.isnan(effect) else f"{effect:+.1f}"


def _needed(answer: Answer) -> str:
    """Seeds that would tell: such as these, or with classes of their own where no number of these would."""
    if answer.verdict != UNTOLD or math.isnan(answer.effect):
        return "-"
    like_these, independent = answer.seeds_needed(), answer.seeds_needed(shared=0)
    if math.isfinite(like_these):
        return f"{like_these:.0f}"
    return f"{independent:.0f} apart" if math.isfinite(independent) else f"> {MOST:,} apart"


def _chance(p: float) -> str:
    """A corrected probability, to two places."""
    return "-" if math.isnan(p) else "< .01" if p < 0.01 else f"{p:.2f}"


def _signed(interval: Interval, points: bool) -> str:
    """A difference with its interval, in points or plain."""
    if not interval.n:
        return "-"
    factor, unit = (100, " points") if points else (1, "")
    ends = f" [{factor * interval.low:+.2f}, {factor * interval.high:+.2f}]" if math.isfinite(interval.low) else ""
    return f"{factor * interval.mean:+.2f}{ends}{unit}"
