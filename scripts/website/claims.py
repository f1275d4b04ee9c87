"""The long page of claims: how they were tried, all verdicts, and every number behind them.

The site holds it in the place of docs/claims.md, which is the table of verdicts alone. It is made from the stored
trainings; `python -m scripts.website.claims FILE` writes it by itself. What a person made of the numbers is claims.md
beside this file.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import lab.claims
from lab import trials
from lab.claims._axes import RELEASED
from lab.claims._report import MARKS, Judgement, counted, judgements, section
from lab.claims._study import LEAST, SEEDS, SEEN_AMONG, SEEN_CLASSES, TESTED, Claim, Study
from lab.claims._verdicts import FAILS, HOLDS, LEVEL, NOT_RUN, Judged
from lab.trials import key_of

READING = Path(__file__).with_name("claims.md")


def page(seeds: int = SEEDS) -> str:
    """The whole page as Markdown."""
    found = judgements(lab.claims.names(), trials.BUNDLED, seeds)
    parts = [
        "# Do the claims hold?",
        READING.read_text(encoding="utf-8").strip(),
        how(found, seeds),
        summary(found),
        *(section(name, one, seeds) for name, one in found.items()),
    ]
    return "\n\n".join(parts) + "\n"


def how(found: dict[str, Judgement], seeds: int) -> str:
    """How the numbers were made and how they decide."""
    made = sum(len(one.trials) for one in found.values())
    cpu = sum(t.cpu for one in found.values() for t in one.trials)
    sessions = [s for one in found.values() for s in one.results.sessions]
    machines = sorted({s["machine"] for s in sessions})
    versions = sorted({", ".join(f"{k} {v}" for k, v in s["versions"].items()) for s in sessions})
    comparisons = sum(f.verdict != NOT_RUN for one in found.values() for j in one.claims for f in j.findings)
    return f"""## How it was done

{made:,} trainings, {cpu / 60:.0f} minutes of processor time, on {"; ".join(machines) or "no machine yet"}.
Versions: {"; ".join(versions) or "none yet"}.

- **Three tiers.** `head`: a linear embedding of 128 numbers on frozen EfficientNet-Lite0 features of Emoji-7 (seen at
  128 pixels), batches of 128 with four images a class, 150 steps of AdamW. `cnn`: the whole small CNN, 100 steps.
  `end_to_end`: a pretrained EfficientNet-Lite0 that learns as a whole at 64 pixels, batches of 64, 40 steps.
{_short(found)}  What a study changes stands in its table. The loop, samplers, losses and metrics are those of
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

`lab claims run --folder lab/trials/results` makes what is missing here; `python -m scripts.website.claims FILE`
writes this page again."""


FIVE_MINUTES = 300
"""Seconds of processor time that a training of a whole pretrained network should have."""


def _short(found: dict[str, Judgement]) -> str:
    """What trainings of the last tier cost, and what they would have cost at their full length."""
    whole = [t.cpu for one in found.values() if one.study.tier == "end_to_end" for t in one.trials]
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


def summary(found: dict[str, Judgement]) -> str:
    """One row a claim."""
    rows = [
        f"| {j.claim.source} | {j.claim.says} | {MARKS[j.verdict]}{_share(j)} "
        f"| {('stands' if j.sure else 'a hint') if j.verdict in (HOLDS, FAILS) else ''} "
        f"| {tried(one.study, j.claim)} | [{name}](#{name.replace('_', '-')}) |"
        for name, one in found.items()
        for j in one.claims
    ]
    head = ["| paper | claim | here | Holm | tried with | study |", "|---|---|---|---|---|---|"]
    return "\n".join(["## All claims", "", counted(found), "", *head, *rows])


def _share(judged: Judged) -> str:
    """How many of several comparisons hold."""
    count = len(judged.findings)
    if count == 1 or judged.verdict in (HOLDS, NOT_RUN):
        return ""
    return f" ({sum(f.verdict == HOLDS for f in judged.findings)} of {count} comparisons hold)"


def tried(study: Study, claim: Claim) -> str:
    """With how many rates, and in which variants where a loss has some, a claim was tried: `2 rates, both variants`.

    Where a study weighs the parts of the contextual loss itself, its variants, which weigh them, say nothing.
    """
    rates = f"{len(study.lrs)} rate{'s' * (len(study.lrs) > 1)}"
    compared, variants = _compared(claim), dict[str, set[str]]()
    for point in study.points:
        loss = dict(point.config["loss"])
        weighed = loss["name"] == "contextual" and "lam" in loss
        if key_of(point.setting) in compared and loss["name"] in RELEASED and not weighed:
            variant = loss.pop("variant", "paper")
            same = json.dumps([{**point.config, "loss": loss}, vars(point.task)], sort_keys=True)
            variants.setdefault(same, set()).add(variant)
    words = {_VARIANTS[tuple(sorted(one))] for one in variants.values()}
    return ", ".join([rates, " or ".join(sorted(words))] if words else [rates])


_VARIANTS = {("paper",): "as printed", ("released",): "as released", ("paper", "released"): "both variants"}


def _compared(claim: Claim) -> set[tuple]:
    """Keys of the settings whose scores a claim compares."""
    keys = set()

    def score(_column: str | None = None, **setting: Any) -> float:
        keys.add(key_of(setting))
        return 1.0

    for contrast in claim.contrasts:
        contrast.of(score)
    return keys


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
