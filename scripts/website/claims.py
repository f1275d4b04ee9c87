"""The long page of claims: how they were tried, all verdicts, and every number behind them.

The site holds it in the place of docs/claims.md, which is the table of verdicts alone. It is made from the stored
trainings; `python -m scripts.website.claims FILE` writes it by itself. What a person made of the numbers, and how they
were made, is claims.md beside this file.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from string import Template
from typing import Any

import lab.claims
from lab import trials
from lab.claims._report import MARKS, Judgement, counted, judgements, section
from lab.claims._study import LEAST, RELEASED, SEEDS, SEEN_AMONG, SEEN_CLASSES, TESTED, Claim, Study
from lab.claims._verdicts import FAILS, HOLDS, LEVEL, NOT_RUN, Judged
from lab.trials import key_of


def page(seeds: int = SEEDS) -> str:
    """The whole page as Markdown."""
    found = judgements(lab.claims.names(), trials.BUNDLED, seeds)
    parts = [
        "# Do the claims hold?",
        Template(Path(__file__).with_name("claims.md").read_text("utf-8")).substitute(facts(found, seeds)).strip(),
        summary(found),
        *(section(name, one, seeds) for name, one in found.items()),
    ]
    return "\n\n".join(parts) + "\n"


def facts(found: dict[str, Judgement], seeds: int) -> dict[str, object]:
    """What claims.md leaves open: how the numbers were made and how they decide."""
    made = [trial for one in found.values() for trial in one.trials]
    whole = [t.cpu for one in found.values() if one.study.tier == "end_to_end" for t in one.trials]
    sessions = [s for one in found.values() for s in one.results.sessions]
    versions = sorted({", ".join(f"{k} {v}" for k, v in s["versions"].items()) for s in sessions})
    ratio = {name: tested / (1 - tested) for name, tested in TESTED.items()}  # as `Study.shared`
    return {
        "made": f"{len(made):,}",
        "minutes": f"{sum(trial.cpu for trial in made) / 60:.0f}",
        "machines": "; ".join(sorted({s["machine"] for s in sessions})),
        "versions": "; ".join(versions),
        "seconds": f"{sum(whole) / len(whole):.0f}",
        "whole": len(whole),
        "hours": f"{5 * len(whole) / 60:.0f}",
        "seeds": seeds,
        "least": f"{LEAST:g}",
        "level": f"{LEVEL:.0%}",
        "comparisons": sum(f.verdict != NOT_RUN for one in found.values() for j in one.claims for f in j.findings),
        "seen_classes": SEEN_CLASSES,
        "seen_among": SEEN_AMONG,
        **{f"ratio_{name}": f"{r:.2f}" for name, r in ratio.items()},
        **{f"wider_{name}": f"{math.sqrt(1 + seeds * r):.1f}" for name, r in ratio.items()},
    }


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
