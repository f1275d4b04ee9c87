"""A recipe trained again: what its paper published, what came out here, and whether one meets the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lab.papers.recipes
from lab.core.estimates import Estimate
from lab.core.knobs import knob
from lab.protocols._base import Judgement, Protocol, seeded
from lab.protocols._outcome import OutcomeRow
from lab.runs.config import RunConfig

if TYPE_CHECKING:
    from lab.papers.tables import PublishedRow
    from lab.sweeps import Bench


class Reproduction(Protocol):
    """Train a recipe as it stands, once a seed, and hold its test scores against the rows that it was written for.

    `lab papers reproduce RECIPE` does so after a look at the data. A number is met where the mean, or the upper end of
    its interval over several seeds, reaches what was printed. Rows that are measured in another way are named.
    """

    source = "RS@k, table 2; ROADMAP, tables 1 to 4; CAM, tables 1 to 4; Contextual, tables 2 to 10"

    recipe: str = knob("Recipe that is trained; see `lab list recipes`.", default="rsk_cars196_r50_512")
    seeds: int = knob("Number of runs to train, each with another seed.", default=1, ge=1, le=1000)

    def folder_name(self, config: RunConfig) -> str:
        return f"reproduce-{self.knobs.recipe}"

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        """Train one run a seed, and compare."""
        runs = yield from bench.trained(seeded(config, self.knobs.seeds))
        scores = [(run.scores("test") or {}).get("values", {}) for run in runs.values()]
        rows, notes = [], []
        for row in lab.papers.recipes.get(self.knobs.recipe).rows:
            if elsewhere := _elsewhere(row, config):
                notes.append(f"Not measured here: {row.source}, {elsewhere}.")
                continue
            notes += [f"{row.source}: {row.note}"] if row.note else []
            for column, printed in row.values.items():
                ours = [one[column] for one in scores if column in one]
                rows += [compared(row.source, column, printed, Estimate.of(ours))] if ours else []
        return self.outcome(rows, "seeds", list(dict.fromkeys(notes)))


def compared(source: str, column: str, printed: float, ours: Estimate) -> OutcomeRow:
    """One number of a published row beside what came out here; both are shares."""
    reached = ours.mean if ours.high is None else ours.high
    missing = 100 * (printed - ours.mean)
    met = "met" if reached >= printed - 5e-4 else f"missed by {missing:.1f} points"  # as far as digits are printed
    setting = {"row": source, "score": column, "published": f"{printed:.4f}", "outcome": met}
    return OutcomeRow(setting, {"ours": ours, "difference": Estimate.of([value - printed for value in ours.values])})


def _elsewhere(row: PublishedRow, config: RunConfig) -> str:
    """Where a row is measured, if the run's own test scores are not what it reports."""
    if row.data != config.data.name:
        return f"{row.data} {row.part}".strip() + ", which `lab papers protocol revisited RUN` measures"
    if row.part not in ("", config.data.values.get("test_size")):
        return f"the test set {row.part}, which `lab papers protocol random_galleries RUN` measures"
    return ""
