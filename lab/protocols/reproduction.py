"""Train a recipe again, and compare the scores with those that its paper published."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

import lab.papers.recipes
from lab.core.estimates import Estimate
from lab.core.knobs import knob
from lab.core.records import Record
from lab.protocols._base import Judgement, Protocol, one_run_per_seed
from lab.protocols._outcome import Outcome, OutcomeRow
from lab.protocols.random_galleries import RandomGalleries
from lab.protocols.revisited import CROWDED, PLAIN, Revisited
from lab.runs.config import RunConfig
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.sweeps import Bench

MEANS = {
    "mean": "mean over all set-ups",
    f"mean, {CROWDED}": "mean over the set-ups with a million distractors",
}
GALLERIES = {PLAIN: "", CROWDED: "with a million distractors"}
"""Names in table 3 of RS@k of the rows and galleries that the protocol `revisited` measures."""


class Reproduction(Protocol):
    """Train a recipe unchanged, once per seed, and compare its test scores with the published rows it was written for.

    `lab papers reproduce RECIPE` does this after a check of the data. A published number is met if the mean, or the
    upper end of its interval over several seeds, reaches it. VehicleID is measured on its three test sets, landmarks
    on Revisited Oxford and Paris if their folders are given; the notes name the rows that were not measured.
    """

    source = "RS@k, table 2; ROADMAP, tables 1 to 4; CAM, tables 1 to 4; Contextual, tables 2 to 10"

    recipe: str = knob(
        "Recipe that is trained; see `lab list recipes`.", default="rsk_cars196_r50_512"
    )
    seeds: int = knob("Number of runs to train, each with another seed.", default=1, ge=1, le=1000)
    oxford: str | None = knob("Folder that holds Revisited Oxford, for landmarks.", default=None)
    paris: str | None = knob("Folder that holds Revisited Paris, for landmarks.", default=None)
    distractors: str | None = knob(
        "Folder of the million distractors, for landmarks.", default=None
    )

    def folder_name(self, config: RunConfig) -> str:
        return f"reproduce-{self.knobs.recipe}"

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        """Train one run per seed, and compare the scores with the published rows."""
        runs = yield from bench.trained(one_run_per_seed(config, self.knobs.seeds))
        run_scores = []
        for run in runs.values():
            scores = yield from self._scores(run, config)
            run_scores.append(scores)

        rows = []
        notes = []
        for published in lab.papers.recipes.get(self.knobs.recipe).rows:
            test_set = (published.data, published.part)
            name = " ".join(test_set).rstrip()
            measured = [scores[test_set] for scores in run_scores if test_set in scores]
            if not measured:
                notes.append(f"Not measured: {published.source}, {name}.")
                continue
            if published.note:
                notes.append(f"{published.source}: {published.note}")
            for column, printed in published.values.items():
                values = [scores[column] for scores in measured if column in scores]
                if values:
                    setting = {"row": published.source, "data": name, "score": column}
                    rows.append(compare(setting, printed, Estimate.of(values)))
        return self.outcome(rows, "seeds", list(dict.fromkeys(notes)))

    def _scores(
        self, run: Run, config: RunConfig
    ) -> Generator[Record, None, Mapping[tuple[str, str], Mapping[str, float]]]:
        """Return the scores of a run by test set and part of it, named as in a published row."""
        name = config.data.name
        if "test_size" in config.data.values:
            outcome = yield from RandomGalleries(gallery="all").judge(run)
            return {(name, str(row.setting["test set"])): _means(row) for row in outcome.rows}
        folders = {"oxford": self.knobs.oxford, "paris": self.knobs.paris}
        if any(folders.values()):
            protocol = Revisited(**folders, distractors=self.knobs.distractors, whitening="none")
            outcome = yield from protocol.judge(run)
            return _landmark_scores(outcome)
        return {(name, ""): (run.scores("test") or {}).get("values", {})}


def _landmark_scores(outcome: Outcome) -> dict[tuple[str, str], dict[str, float]]:
    """Return the scores of `revisited` by their names in RS@k, whose tables list the means with Revisited Oxford."""
    scores = {}
    for row in outcome.rows:
        name = str(row.setting["set"])
        gallery = str(row.setting.get("gallery", PLAIN))
        if name in MEANS:
            test_set = ("revisited_oxford", MEANS[name])
        else:
            test_set = (name, GALLERIES[gallery])
        scores[test_set] = _means(row)
    return scores


def _means(row: OutcomeRow) -> dict[str, float]:
    return {column: estimate.mean for column, estimate in row.scores.items()}


def compare(setting: Mapping[str, str], printed: float, ours: Estimate) -> OutcomeRow:
    """Return a row that compares a published number with our estimate; both are shares."""
    reached = ours.mean if ours.high is None else ours.high
    if reached >= printed - 5e-4:  # equal to the digits that are printed
        result = "met"
    else:
        missing = 100 * (printed - ours.mean)
        result = f"missed by {missing:.1f} points"
    difference = Estimate.of([value - printed for value in ours.values])
    setting = {**setting, "published": f"{printed:.4f}", "outcome": result}
    return OutcomeRow(setting, {"ours": ours, "difference": difference})
