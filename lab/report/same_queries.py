"""Runs against each other on the same queries: paired differences, classes gained and lost, and where they disagree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np

import lab.search
from lab.core.estimates import Estimate
from lab.core.results import EmbeddingSet, Evidence
from lab.data import ImageSet, SplitKnobs, read_corrections
from lab.evaluation.collection import per_query
from lab.evaluation.paired import Difference, difference
from lab.runs import difference as changed_knobs
from lab.runs.folder import Run

SHARES = {*SplitKnobs.Knobs.model_fields, "test", "validation"}
"""Knobs of data sets that number no image: they share images out, or change what is trained on."""


@dataclass(frozen=True)
class SameQueries:
    """Scores of r runs on the n queries that all of them have, searched in the images that all of them have.

    items, labels: int64 [n]. values: column to float64 [r n]. own: queries that each run has by itself. corrected:
    whether some labels are not those that every run was measured with.
    """

    names: tuple[str, ...]
    split: str
    items: np.ndarray
    labels: np.ndarray
    values: Mapping[str, np.ndarray]
    own: tuple[int, ...]
    corrected: bool

    @cached_property
    def words(self) -> str:
        """Which queries: "the same 332 corrected test images (without 2 of first)"."""
        count, corrected = len(self.items), "corrected " if self.corrected else ""
        less = [f"{own - count:,} of {name}" for name, own in zip(self.names, self.own, strict=True) if own > count]
        return f"the same {count:,} {corrected}{self.split} images" + (f" (without {', '.join(less)})" if less else "")

    def difference(self, column: str, before: int, after: int) -> Difference:
        """Of two runs, by their places."""
        return difference(self.values[column][before], self.values[column][after], self.labels)

    def by_class(self, column: str, before: int, after: int) -> dict[int, Estimate]:
        """Class to the mean difference of two runs over its queries, with its 95 % interval by Student's t (none for a
        single query), highest first. Classes without a score are left out."""
        change = self.values[column][after] - self.values[column][before]
        known = np.flatnonzero(~np.isnan(change))
        order = known[np.argsort(self.labels[known], kind="stable")]
        labels, starts = np.unique(self.labels[order], return_index=True)
        parts = np.split(change[order], starts[1:])
        found = {int(label): Estimate.of(part.tolist()) for label, part in zip(labels, parts, strict=True) if len(part)}
        return dict(sorted(found.items(), key=lambda one: -one[1].mean))

    def effect(self, column: str, before: int, after: int) -> str:
        """How two runs differ: "On the same 332 corrected test images: r@1 0.545 → 0.563 (+0.018, 95 % interval -0.010
        to +0.046: cannot be told from chance)."."""
        one, other = np.nanmean(self.values[column][[before, after]], axis=1)
        return f"On {self.words}: {column} {one:.3f} → {other:.3f} ({self.difference(column, before, after)})."

    def helped(self, column: str, before: int, after: int, class_names: Sequence[str]) -> str:
        """Which classes the second run gains and loses against the first, in a sentence."""
        found = self.by_class(column, before, after)
        if not any(one.mean for one in found.values()):
            return f"{self.names[after]} and {self.names[before]} have the same score for every class."
        gained = [label for label, one in found.items() if one.low is not None and one.low > 0]
        lost = [label for label, one in reversed(found.items()) if one.high is not None and one.high < 0]
        parts = []
        for verb, labels in (("gains at", gained), ("loses at", lost)):
            most = ", ".join(f"{class_names[label]} {found[label].mean:+.2f}" for label in labels[:3])
            parts.append(f"{verb} {len(labels):,}" + (f" ({most})" if most else ""))
        return (
            f"{self.names[after]} {' and '.join(parts)} of {len(found):,} classes, beyond the interval of each; some "
            f"{0.05 * len(found):.0f} of them would by chance alone."
        )

    def disagreement(self, column: str) -> np.ndarray:
        """Places int64 [m] of the queries at which the best and the worst run differ, those that differ most first."""
        spread = np.ptp(self.values[column], axis=0)
        order = np.argsort(-spread, kind="stable")
        return order[spread[order] > 0]


def same_queries(runs: Sequence[Run], split: str = "test", ruler: ImageSet | None = None) -> SameQueries:
    """Measure runs on the same queries, by their stored embeddings: nothing is trained or embedded again.

    Where all runs embedded the same images with the same labels, the scores are those that their evaluations kept; else
    all are measured anew, by exact search, with the labels of the run that has the most corrections: they mend the
    ruler for every run.

    Args:
        ruler: a data set whose split and labels count instead, for instance one with other corrections.

    Raises:
        ValueError: a run has no embeddings of the split, or they have no query in common that labels can judge.
    """
    if any(numbering(run) != numbering(runs[0]) for run in runs):
        raise ValueError("These runs are of different data sets, so they have no query in common.")
    asked = [run.embeddings(split) for run in runs]
    searched = [run.embeddings(split, "gallery") or one for run, one in zip(runs, asked, strict=True)]
    items, kept_items = (reduce(np.intersect1d, [one.items for one in sets]) for sets in (asked, searched))
    last = max(range(len(runs)), key=lambda at: len(_corrections(runs[at])))
    mended = [(one.items.tolist(), one.labels) for one in (searched[last], asked[last])]
    labels = {item: label for part in mended for item, label in zip(*part, strict=True)}
    if ruler is not None:
        items, kept_items = (
            np.intersect1d(items, ruler.splits[split].query),
            np.intersect1d(kept_items, ruler.splits[split].items),
        )
        labels = dict(enumerate(ruler.labels.tolist()))
    if not len(items):
        raise ValueError(f"These runs have no {split} query in common.")
    same = [one is of for one, of in zip(searched, asked, strict=True)]
    queries = [_taken(one, items, labels) for one in asked]
    galleries = [_taken(one, kept_items, labels) for one in searched]
    pairs = [*zip(asked, queries, strict=True), *zip(searched, galleries, strict=True)]
    relabelled = any((one.labels[rows_of(one, new.items)] != new.labels).any() for one, new in pairs)
    kept = all(run.scores(split) and not run.outdated(split) for run in runs)
    if not relabelled and all(len(one) == len(new) for one, new in pairs) and kept:
        values = [
            {name: column[rows_of(one, items)] for name, column in run.per_query(split).items()}
            for run, one in zip(runs, asked, strict=True)
        ]
    elif split in (ruler or runs[last].dataset()).relevance:
        raise ValueError(
            f"The {split} split has judgements of its own, and these runs embedded different images of it."
        )
    else:
        values = []
        for run, query, gallery, alone in zip(runs, queries, galleries, same, strict=True):
            config = run.config_of(split)
            index = lab.search.create("exact", k=1, similarity=config.similarity).build(gallery)
            ranking = index.rank(query, same_source=alone, distractors=config.evaluation.knobs.distractors)
            values.append(per_query(Evidence(ranking, query, gallery)))
    columns = [name for name in values[0] if all(name in one for one in values)]
    table = {name: np.stack([one[name] for one in values]) for name in columns}
    names, own = tuple(run.name for run in runs), tuple(len(one) for one in asked)
    corrected = relabelled or ruler is not None or any(map(_corrections, runs))
    return SameQueries(names, split, items, queries[0].labels, table, own, corrected)


def numbering(run: Run) -> dict[str, Any]:
    """What numbers the images of a run: runs in which it is equal speak of the same image by the same number."""
    return {knob: value for knob, value in run.config.data.as_dict().items() if knob not in SHARES}


def rows_of(one: EmbeddingSet, items: np.ndarray) -> np.ndarray:
    """Rows of some of its items [n], int64 [n]."""
    order = np.argsort(one.items)
    return order[np.searchsorted(one.items, items, sorter=order)]


def _taken(one: EmbeddingSet, items: np.ndarray, labels: Mapping[int, int]) -> EmbeddingSet:
    return replace(one.take(rows_of(one, items)), labels=np.array([labels[item] for item in items.tolist()]))


def _corrections(run: Run) -> dict[str, str]:
    """The corrections that a run was trained with; none where their table is gone."""
    table = run.config.data.values.get("corrections")
    try:
        return read_corrections(Path(table).expanduser()) if table else {}
    except ValueError:
        return {}


def predecessor(run: Run, known: Sequence[Run]) -> Run | None:
    """The run that this one repeats with other corrections: the last one before it, which differs in nothing else.

    Args:
        known: runs, newest first, as `lab.runs.list` gives them; this one among them.
    """
    if run.config.data.values.get("corrections") is None:
        return None
    names = [one.name for one in known]
    older = known[names.index(run.name) + 1 :]
    return next((one for one in older if set(changed_knobs(one.config, run.config)) == {"data.corrections"}), None)


def effect(before: Run, after: Run, split: str = "test") -> str:
    """What a second training gained by the score that chose its checkpoint, on queries that both answer: see
    `SameQueries.effect`."""
    found, column = same_queries([before, after], split), after.config.training.knobs.select_by
    return found.effect(column if column in found.values else next(iter(found.values)), 0, 1)
