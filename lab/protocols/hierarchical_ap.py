"""AP at the fine, the middle and the coarse level of a hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lab.core import tables
from lab.core.knobs import knob
from lab.protocols._base import Judgement, JudgingProtocol, with_test
from lab.protocols._outcome import measured
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet

LEVELS = ("middle", "coarse")


class HierarchicalAp(JudgingProtocol):
    """r@1 of the classes, and average precision over the whole ranking at every level of their hierarchy.

    At a coarser level every image of the same family, category or group is relevant, those of the same class included.
    Levels come from the data set (Emoji-7: subgroup and group; Stanford Online Products and others: the super-class),
    from attributes that the knobs name, or from a table of classes: no file of the birds has their families and orders,
    and none of the cars their makes. The paper takes them from Chang et al. (2021).
    """

    source = "Contextual, appendix I.4, table 9"
    metrics = ({"name": "hit_rate_at_k", "k": (1,)}, {"name": "hierarchical_ap"})

    middle: str | None = knob("Attribute that is the middle level; by default that of the data set.", default=None)
    coarse: str | None = knob(
        "Attribute (or super_class) that is the coarse level; by default that of the data set.", default=None
    )
    table: str | None = knob(
        "CSV file with the columns class, and middle or coarse or both, instead of attributes.", default=None
    )

    def check(self, dataset: ImageSet) -> None:
        with_test(dataset, self.name)
        self._levels(dataset)

    def judge(self, run: Run) -> Judgement:
        evaluator = self.evaluator(run)
        levels = self._levels(evaluator.trained.dataset)
        query, gallery = yield from evaluator.split("test")
        evaluation = yield from evaluator.measure("test", query, gallery, levels=levels)
        sizes = {"fine": query.labels} | {name: labels[query.items] for name, labels in levels.items()}
        counts = ", ".join(f"{len(np.unique(labels)):,} {name}" for name, labels in sizes.items())
        return self.outcome([measured({}, evaluation.values)], "seeds", [f"Classes among the queries: {counts}."])

    def _levels(self, dataset: ImageSet) -> dict[str, np.ndarray]:
        """Level to labels int64 [n], from finer to coarser.

        Raises:
            ValueError: there is none, an attribute is missing, or the table does not fit the classes.
        """
        if self.knobs.table is not None:
            return levels_from_table(dataset, Path(self.knobs.table).expanduser())
        named = {level: getattr(self.knobs, level) for level in LEVELS}
        levels = {level: dataset.level(name) for level, name in named.items() if name is not None}
        levels = levels or dataset.levels
        if not levels:
            raise ValueError(
                f"{dataset.name} has no super-classes, so there is no hierarchy to measure on; name attributes with "
                "--protocol.middle and --protocol.coarse, or a table of its classes with --protocol.table."
            )
        return levels


def levels_from_table(dataset: ImageSet, path: Path) -> dict[str, np.ndarray]:
    """Read level to labels int64 [n] from a CSV file with a line for each class.

    Raises:
        ValueError: the file cannot be read, lacks a column, or says nothing of a class that is tested.
    """
    try:
        table = {name: tables.names(values, name) for name, values in tables.read(path).items()}
    except OSError as error:
        raise ValueError(f"The table of classes {path} cannot be read: {error.strerror or error}.") from None
    levels = [level for level in LEVELS if level in table]
    if "class" not in table or not levels:
        raise ValueError(f"{path} needs the columns class, and middle or coarse or both; it has {', '.join(table)}.")
    found = {}
    for level in levels:
        named = dict(zip(table["class"], table[level], strict=True))
        names = [named.get(one, "") for one in dataset.class_names]
        for c in np.unique(dataset.labels[dataset.splits["test"].items]):
            if not names[c]:  # classes without a name would otherwise be one big class
                name = dataset.class_names[c]
                raise ValueError(f"{path} does not say the {level} class of {name!r}; fill in every tested class.")
        found[level] = np.unique(names, return_inverse=True)[1][dataset.labels]
    return found
