"""Average precision at the fine, the middle and the coarse level of a hierarchy of classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lab.core import tables
from lab.core.knobs import knob
from lab.protocols._base import Judgement, JudgingProtocol, require_test_split
from lab.protocols._outcome import summarise
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet

LEVELS = ("middle", "coarse")


class HierarchicalAp(JudgingProtocol):
    """Measure hit@1 of the classes, and average precision over the whole ranking at every level of their hierarchy.

    At a coarser level every image of the same family, category or group is relevant, including those of the same class.
    The levels come from the data set (Emoji-7: subgroup and group; Stanford Online Products and others: the
    super-class), from attributes that the knobs name, or from a table of classes. CUB-200-2011 and Cars196 need such a
    table: their files hold neither families and orders of the birds nor makes of the cars. The paper takes them from
    Chang et al. (2021).
    """

    source = "Contextual, appendix I.4, table 9"
    metrics = ({"name": "hit_rate_at_k", "k": (1,)}, {"name": "hierarchical_ap"})

    middle: str | None = knob(
        "Attribute that is the middle level; by default that of the data set.", default=None
    )
    coarse: str | None = knob(
        "Attribute (or super_class) that is the coarse level; by default that of the data set.",
        default=None,
    )
    table: str | None = knob(
        "CSV file with the columns class, and middle or coarse or both, instead of attributes.",
        default=None,
    )

    def check(self, dataset: ImageSet) -> None:
        require_test_split(dataset, self.name)
        self._levels(dataset)

    def judge(self, run: Run) -> Judgement:
        evaluator = self.evaluator(run)
        levels = self._levels(evaluator.trained.dataset)
        query, gallery = yield from evaluator.split("test")
        evaluation = yield from evaluator.measure("test", query, gallery, levels=levels)

        counts = [f"{len(np.unique(query.labels)):,} fine"]
        for level, labels in levels.items():
            counts.append(f"{len(np.unique(labels[query.items])):,} {level}")
        note = f"Classes among the queries: {', '.join(counts)}."
        return self.outcome([summarise({}, evaluation.values)], "seeds", [note])

    def _levels(self, dataset: ImageSet) -> dict[str, np.ndarray]:
        """Return the labels int64 [n] of each level, from finer to coarser.

        Raises:
            ValueError: there is no level, an attribute is missing, or the table does not fit the classes.
        """
        if self.knobs.table is not None:
            return levels_from_table(dataset, Path(self.knobs.table).expanduser())

        levels = {}
        for level in LEVELS:
            attribute = getattr(self.knobs, level)
            if attribute is not None:
                levels[level] = dataset.level(attribute)
        levels = levels or dataset.levels
        if not levels:
            raise ValueError(
                f"{dataset.name} has no super-classes, so there is no hierarchy to measure on; name attributes with "
                "--protocol.middle and --protocol.coarse, or a table of its classes with --protocol.table."
            )
        return levels


def levels_from_table(dataset: ImageSet, path: Path) -> dict[str, np.ndarray]:
    """Read the labels int64 [n] of each level from a CSV file with a line for each class.

    Raises:
        ValueError: the file cannot be read, lacks a column, or has no entry for a class that is tested.
    """
    try:
        table = {name: tables.names(values, name) for name, values in tables.read(path).items()}
    except OSError as error:
        raise ValueError(
            f"The table of classes {path} cannot be read: {error.strerror or error}."
        ) from None
    levels = [level for level in LEVELS if level in table]
    if "class" not in table or not levels:
        raise ValueError(
            f"{path} needs the columns class, and middle or coarse or both; it has {', '.join(table)}."
        )

    labels = {}
    tested = np.unique(dataset.labels[dataset.splits["test"].items])
    for level in levels:
        parent_of = dict(zip(table["class"], table[level], strict=True))
        parents = [parent_of.get(name, "") for name in dataset.class_names]
        for c in tested:
            if not parents[c]:  # classes without a parent would otherwise be one big class
                name = dataset.class_names[c]
                raise ValueError(
                    f"{path} does not say the {level} class of {name!r}; fill in every tested class."
                )
        parent_labels = np.unique(parents, return_inverse=True)[1]
        labels[level] = parent_labels[dataset.labels]
    return labels
