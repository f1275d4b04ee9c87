"""A recipe trained again: what its paper published, what came out here, and whether one meets the other."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

import lab.papers.recipes
from lab.core.estimates import Estimate
from lab.core.knobs import knob
from lab.core.records import Record
from lab.protocols._base import Judgement, Protocol, seeded
from lab.protocols._outcome import Outcome, OutcomeRow
from lab.protocols.random_galleries import RandomGalleries
from lab.protocols.revisited import CROWDED, PLAIN, Revisited
from lab.runs.config import RunConfig
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.sweeps import Bench

MEANS = {"mean": "mean over all set-ups", f"mean, {CROWDED}": "mean over the set-ups with a million distractors"}
GALLERIES = {PLAIN: "", CROWDED: "with a million distractors"}
"""How table 3 of RS@k calls what the protocol `revisited` measures."""


class Reproduction(Protocol):
    """Train a recipe as it stands, once a seed, and hold its test scores against the rows that it was written for.

    `lab papers reproduce RECIPE` does so after a look at the data. A number is met where the mean, or the upper end of
    its interval over several seeds, reaches what was printed. VehicleID is measured on its three test sets, landmarks
    on Revisited Oxford and Paris where these are given; rows that are left are named.
    """

    source = "RS@k, table 2; ROADMAP, tables 1 to 4; CAM, tables 1 to 4; Contextual, tables 2 to 10"

    recipe: str = knob("Recipe that is trained; see `lab list recipes`.", default="rsk_cars196_r50_512")
    seeds: int = knob("Number of runs to train, each with another seed.", default=1, ge=1, le=1000)
    oxford: str | None = knob("Folder that holds Revisited Oxford, for landmarks.", default=None)
    paris: str | None = knob("Folder that holds Revisited Paris, for landmarks.", default=None)
    distractors: str | None = knob("Folder of the million distractors, for landmarks.", default=None)

    def folder_name(self, config: RunConfig) -> str:
        return f"reproduce-{self.knobs.recipe}"

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        """Train one run a seed, and compare."""
        runs = yield from bench.trained(seeded(config, self.knobs.seeds))
        scores = []
        for run in runs.values():
            scores.append((yield from self._measured(run, config)))
        rows, notes = [], []
        for row in lab.papers.recipes.get(self.knobs.recipe).rows:
            found = [one[row.data, row.part] for one in scores if (row.data, row.part) in one]
            if not found:
                notes.append(f"Not measured: {row.source}, {row.data} {row.part}".rstrip() + ".")
                continue
            notes += [f"{row.source}: {row.note}"] if row.note else []
            for column, printed in row.values.items():
                ours = [one[column] for one in found if column in one]
                where = {"row": row.source, "data": f"{row.data} {row.part}".rstrip(), "score": column}
                rows += [compared(where, printed, Estimate.of(ours))] if ours else []
        return self.outcome(rows, "seeds", list(dict.fromkeys(notes)))

    def _measured(
        self, run: Run, config: RunConfig
    ) -> Generator[Record, None, Mapping[tuple[str, str], Mapping[str, float]]]:
        """Scores of a run by test set and the part of it, as a published row names both."""
        name = config.data.name
        if "test_size" in config.data.values:
            outcome = yield from RandomGalleries(gallery="all").judge(run)
            return {(name, str(row.setting["test set"])): _means(row) for row in outcome.rows}
        folders = {"oxford": self.knobs.oxford, "paris": self.knobs.paris}
        if any(folders.values()):
            judge = Revisited(**folders, distractors=self.knobs.distractors, whitening="none")
            return _landmarks((yield from judge.judge(run)))
        return {(name, ""): (run.scores("test") or {}).get("values", {})}


def _landmarks(outcome: Outcome) -> dict[tuple[str, str], dict[str, float]]:
    """Rows of `revisited` by what RS@k calls them; its means stand with Revisited Oxford in the tables."""
    found = {}
    for row in outcome.rows:
        name, gallery = str(row.setting["set"]), str(row.setting.get("gallery", PLAIN))
        place = ("revisited_oxford", MEANS[name]) if name in MEANS else (name, GALLERIES[gallery])
        found[place] = _means(row)
    return found


def _means(row: OutcomeRow) -> dict[str, float]:
    return {column: estimate.mean for column, estimate in row.scores.items()}


def compared(where: Mapping[str, str], printed: float, ours: Estimate) -> OutcomeRow:
    """One number of a published row beside what came out here; both are shares."""
    reached = ours.mean if ours.high is None else ours.high
    missing = 100 * (printed - ours.mean)
    met = "met" if reached >= printed - 5e-4 else f"missed by {missing:.1f} points"  # as far as digits are printed
    setting = {**where, "published": f"{printed:.4f}", "outcome": met}
    return OutcomeRow(setting, {"ours": ours, "difference": Estimate.of([value - printed for value in ours.values])})
