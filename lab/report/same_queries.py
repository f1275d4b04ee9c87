"""Runs against each other on the same queries: paired differences, classes gained and lost, and where they disagree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import lab.search
from lab.core.estimates import Estimate
from lab.core.results import EmbeddingSet, Evidence, no_class
from lab.data import ImageSet, read_corrections
from lab.evaluation import identity
from lab.evaluation.collection import per_query
from lab.evaluation.identity import Joined, Pictures, rows_of
from lab.inference.paired import SOURCE, Difference, difference
from lab.runs import difference as changed_knobs
from lab.runs.folder import Run


@dataclass(frozen=True)
class SameQueries:
    """Scores of r runs on the n queries that all of them have, searched in the images that all of them have.

    numbers: int64 [r n], the number of each query in the list of each run. labels: int64 [n], places in `class_names`.
    values: column to float64 [r n]. own: queries that each run has by itself. corrected: whether a run was trained with
    corrections. unlike: runs that have other classes for some of these images than `judge`, whose classes count.
    joined: all images that the runs have in common, queries or not.
    """

    names: tuple[str, ...]
    split: str
    numbers: np.ndarray
    labels: np.ndarray
    class_names: list[str]
    values: Mapping[str, np.ndarray]
    own: tuple[int, ...]
    corrected: bool
    unlike: tuple[str, ...]
    judge: str
    joined: Joined

    @property
    def items(self) -> np.ndarray:
        """int64 [n]: the number of each query in the list of the first run."""
        return self.numbers[0]

    @cached_property
    def words(self) -> str:
        """Which queries: "the same 332 corrected test images (without 2 of first)"."""
        count = len(self.labels)
        corrected = "corrected " if self.corrected else ""
        words = f"the same {count:,} {corrected}{self.split} images"
        less = []
        for name, own in zip(self.names, self.own, strict=True):
            if own > count:
                less.append(f"{own - count:,} of {name}")
        if less:
            words += f" (without {', '.join(less)})"
        return words

    @property
    def note(self) -> str:
        """What the intervals of two networks are over, and `images`."""
        return f"{SOURCE} {self.images}"

    @property
    def images(self) -> str:
        """How many images were joined, how many were not, and whose classes count where they differ."""
        joined = self.joined.sentence
        if not self.unlike:
            return joined
        others = ", ".join(self.unlike)
        return f"{joined} Classes are those of {self.judge}; {others} had others for some of the images."

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
        found = {}
        for label, changes in zip(labels, np.split(change[order], starts[1:]), strict=True):
            if len(changes):
                found[int(label)] = Estimate.of(changes.tolist())
        return dict(sorted(found.items(), key=lambda one: -one[1].mean))

    def effect(self, column: str, before: int, after: int) -> str:
        """How two runs differ: "On the same 332 corrected test images: r@1 0.545 → 0.563 (+0.018, 95 % interval over
        classes -0.010 to +0.046: no difference can be told on such classes)."."""
        first, second = np.nanmean(self.values[column][[before, after]], axis=1)
        change = self.difference(column, before, after)
        return f"On {self.words}: {column} {first:.3f} → {second:.3f} ({change}). {self.note}"

    def helped(self, column: str, before: int, after: int) -> str:
        """Which classes the second run gains and loses against the first, in a sentence."""
        found = self.by_class(column, before, after)
        if not any(one.mean for one in found.values()):
            return (
                f"{self.names[after]} and {self.names[before]} have the same score for every class."
            )
        gained = [label for label, one in found.items() if one.low is not None and one.low > 0]
        lost = [label for label, one in found.items() if one.high is not None and one.high < 0]
        lost.reverse()  # the greatest loss first
        parts = []
        for verb, labels in (("gains at", gained), ("loses at", lost)):
            part = f"{verb} {len(labels):,}"
            if labels:
                most = [
                    f"{self.class_names[label]} {found[label].mean:+.2f}" for label in labels[:3]
                ]
                part += f" ({', '.join(most)})"
            parts.append(part)
        changed = f"{self.names[after]} {' and '.join(parts)} of {len(found):,} classes"
        return (
            f"{changed}, beyond the 95 % interval of each over its queries; of two networks that do not differ some "
            f"{0.05 * len(found):.0f} classes would be named."
        )

    def disagreement(self, column: str) -> np.ndarray:
        """Places int64 [m] of the queries at which the best and the worst run differ, those that differ most first."""
        spread = np.ptp(self.values[column], axis=0)
        order = np.argsort(-spread, kind="stable")
        return order[spread[order] > 0]


def same_queries(
    runs: Sequence[Run], split: str = "test", ruler: ImageSet | None = None
) -> SameQueries:
    """Measure runs on the same queries, by their stored embeddings: nothing is trained or embedded again.

    Images are joined by name and content (`lab.runs.join`), classes by name. Where all runs embedded the same images in
    the same classes, the scores are those that their evaluations kept. Otherwise all are measured anew by exact search,
    with the classes of the run that has the most corrections: they mend the ruler for every run.

    Args:
        ruler: a data set whose split and classes count instead, for instance one with other corrections. Its images are
            joined with those of the runs by name.

    Raises:
        ValueError: a run has no embeddings of the split, or they have no query in common that classes can judge.
    """
    query_sets = [run.embeddings(split) for run in runs]
    gallery_sets = []
    for run, query_set in zip(runs, query_sets, strict=True):
        gallery_sets.append(run.embeddings(split, "gallery") or query_set)

    # Join the images of all runs, and of the ruler behind them; `judge` is the place of what gives the classes.
    tables = [run.pictures(split) for run in runs]
    judge = max(range(len(runs)), key=lambda at: len(_corrections(runs[at])))
    if ruler is not None:
        tables.append(
            Pictures.of_images("the ruler", ruler, ruler.splits[split].items, tables[0].place)
        )
        judge = len(runs)
    joined = identity.join(tables)
    classes = [
        table.of_items(items).classes for table, items in zip(tables, joined.items, strict=True)
    ]
    class_names, labels = _labels(classes[judge])
    unlike = [
        name
        for name, other in zip(joined.names, classes, strict=True)
        if (other != classes[judge]).any()
    ]

    # Of the joined images, those that every run asks with, and those that every run searches in.
    is_query = np.ones(len(joined), bool)
    is_searched = np.ones(len(joined), bool)
    for items, query_set, gallery_set in zip(joined.items, query_sets, gallery_sets, strict=False):
        is_query &= np.isin(items, query_set.items)
        is_searched &= np.isin(items, gallery_set.items)
    if ruler is not None:
        part = ruler.splits[split]
        is_query &= np.isin(joined.items[-1], part.query)
        is_searched &= np.isin(
            joined.items[-1], part.query if part.gallery is None else part.gallery
        )
    if not is_query.any():
        raise ValueError(
            f"These runs have no {split} query in common, as those of different data sets: {joined.sentence}"
        )
    queries = []
    galleries = []
    for items, query_set, gallery_set in zip(joined.items, query_sets, gallery_sets, strict=False):
        queries.append(_taken(query_set, items, labels, is_query))
        galleries.append(_taken(gallery_set, items, labels, is_searched))

    # The scores that the evaluations kept hold where nothing was left out or renamed.
    as_evaluated = not unlike
    for whole, taken in [
        *zip(query_sets, queries, strict=True),
        *zip(gallery_sets, galleries, strict=True),
    ]:
        as_evaluated &= len(whole) == len(taken)
    values = []
    if as_evaluated and all(run.scores(split) and not run.outdated(split) for run in runs):
        for run, query_set, items in zip(runs, query_sets, joined.items, strict=False):
            rows = rows_of(query_set.items, items[is_query])
            values.append({name: column[rows] for name, column in run.per_query(split).items()})
    elif _is_judged(runs, split, ruler):
        raise ValueError(
            f"The {split} split has judgements of its own, and these runs embedded different images of it."
        )
    else:
        for at, run in enumerate(runs):
            same_source = gallery_sets[at] is query_sets[at]
            values.append(_measured(run, split, queries[at], galleries[at], same_source))

    columns = [name for name in values[0] if all(name in of_run for of_run in values)]
    return SameQueries(
        names=tuple(run.name for run in runs),
        split=split,
        numbers=joined.items[: len(runs), is_query],
        labels=labels[is_query],
        class_names=class_names,
        values={name: np.stack([of_run[name] for of_run in values]) for name in columns},
        own=tuple(len(query_set) for query_set in query_sets),
        corrected=ruler is not None or any(_corrections(run) for run in runs),
        unlike=tuple(unlike),
        judge=joined.names[judge],
        joined=joined,
    )


def _measured(
    run: Run, split: str, query: EmbeddingSet, gallery: EmbeddingSet, same_source: bool
) -> dict[str, np.ndarray]:
    """Return every score of each query by exact search, float64 [n]. same_source: the queries are searched among
    themselves."""
    config = run.config_of(split)
    index = lab.search.create("exact", k=1, similarity=config.similarity, ties="shuffled").build(
        gallery
    )
    ranking = index.rank(
        query, same_source=same_source, distractors=config.evaluation.knobs.distractors
    )
    return per_query(Evidence(ranking, query, gallery))


def _is_judged(runs: Sequence[Run], split: str, ruler: ImageSet | None) -> bool:
    """Whether labels do not say what is relevant in a split of the ruler, or of any run where there is none."""
    if ruler is not None:
        return split in ruler.relevance
    return any(_has_judgements(run, split) for run in runs)


def _has_judgements(run: Run, split: str) -> bool:
    """Whether labels do not say what is relevant in a split of a run; a set of such images is more than a list."""
    return run.image_list() is None and split in run.dataset(changed=True).relevance


def _labels(classes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the names of classes, and the label, int64 [n], of each of n images."""
    names, labels = np.unique(classes.astype(str), return_inverse=True)
    nameless = classes == ""
    if nameless.any():  # "" is the first in order
        names = names[1:]
        labels = labels - 1
    return names.tolist(), np.where(nameless, no_class(np.arange(len(labels))), labels).astype(
        np.int64
    )


def _taken(
    one: EmbeddingSet, items: np.ndarray, labels: np.ndarray, chosen: np.ndarray
) -> EmbeddingSet:
    """Some of the joined images, bool [n], out of what a run embedded: numbered and labelled as all runs have them."""
    rows = rows_of(one.items, items[chosen])
    return EmbeddingSet(one.vectors[rows], labels[chosen], np.flatnonzero(chosen))


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
    for older in known[names.index(run.name) + 1 :]:
        if set(changed_knobs(older.config, run.config)) == {"data.corrections"}:
            return older
    return None


def effect(before: Run, after: Run, split: str = "test") -> str:
    """What a second training gained by the score that chose its checkpoint, on queries that both answer: see
    `SameQueries.effect`."""
    found = same_queries([before, after], split)
    column = after.config.training.knobs.select_by
    if column not in found.values:
        column = next(iter(found.values))
    return found.effect(column, 0, 1)
