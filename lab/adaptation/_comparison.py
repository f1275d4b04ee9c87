"""What a head did: the same queries before and after, which were gained and which lost, and what was lost elsewhere."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import lab.data
from lab.core.files import whole
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.data import ImageSet, Split
from lab.data.images.features import FeatureLoader
from lab.encoders import OUTPUT
from lab.encoders.adapted import Adapted
from lab.inference.over_classes import FEWEST
from lab.inference.paired import Difference, difference
from lab.report.same_queries import same_queries
from lab.runs.building.layer_features import keep_layers
from lab.runs.building.on_features import features_of
from lab.runs.building.trained import Trained, open_trained
from lab.runs.evaluate import Evaluator
from lab.runs.folder import Run
from lab.runs.store import open_run
from lab.runs.whole_set import stored

if TYPE_CHECKING:
    from lab.data.images.loading import Loader


def verdict(found: Difference) -> str:
    """`helped`, `harmed` or `cannot be told`."""
    if found.classes < FEWEST:
        return f"cannot be told with so few classes ({found.classes})"
    if found.low > 0:
        return "helped"
    if found.high < 0:
        return "harmed"
    return "cannot be told"


@dataclass(frozen=True)
class Comparison:
    """One score of two runs on the same n queries.

    before, after: means. difference: with its interval. gained, lost: int64, images whose score rose or fell, most
    first. split: of the run's own data; seen: whether the classes were trained on, because there are too few to keep
    some. data: another data set, which no head was trained for, in their place. note: which images were left out, where
    the two runs did not embed the same.
    """

    column: str
    before: float
    after: float
    difference: Difference
    gained: np.ndarray
    lost: np.ndarray
    split: str = ""
    seen: bool = False
    data: str = ""
    note: str = ""

    @classmethod
    def of(
        cls,
        column: str,
        scores: Sequence[np.ndarray] | np.ndarray,
        items: np.ndarray,
        labels: np.ndarray,
        **place: Any,
    ) -> Comparison:
        """From the score of each query before and after, float64 [n] each."""
        change = scores[1] - scores[0]
        known, order = ~np.isnan(change), np.argsort(-np.nan_to_num(change), kind="stable")
        gained, lost = order[change[order] > 0], order[::-1][change[order[::-1]] < 0]
        before, after = (float(one[known].mean()) for one in scores)
        return cls(
            column,
            before,
            after,
            difference(scores[0], scores[1], labels),
            items[gained],
            items[lost],
            **place,
        )

    @property
    def sentence(self) -> str:
        """`The head helped: MAP@R 0.246 → 0.268 (+0.022, ...) on 830 test queries of 60 classes; ...`."""
        found, told = self.difference, verdict(self.difference)
        told = (
            f"the head {told}"
            if told in ("helped", "harmed")
            else f"whether the head helped {told}"
        )
        told = f"On {self.data} {told}" if self.data else told[0].upper() + told[1:]
        interval = f"{found.mean:+.3f}, {found.interval}"
        queries = " ".join(filter(None, (f"{found.queries:,}", self.split, "queries")))
        seen = (
            " All these classes were trained on, so other classes may fare otherwise."
            if self.seen
            else ""
        )
        note = f" {self.note}" if self.note else ""
        return (
            f"{told}: {self.column} {self.before:.3f} → {self.after:.3f} ({interval}) on {queries} of "
            f"{found.classes:,} classes; {len(self.gained):,} queries gained, {len(self.lost):,} lost.{seen}{note}"
        )


def compare(baseline: Run, adapted: Run, column: str | None = None) -> Comparison:
    """Both runs on the same queries of the split that the adapted one was measured on last: test where there is one.

    Args:
        column: a score; by default that which the adapted run chose its checkpoint by.

    Raises:
        ValueError: they have no split or query in common, or no such score.
    """
    common = {*baseline.splits} & {*adapted.splits}
    split = next((one for one in ("test", "validation", "train") if one in common), None)
    if split is None:
        raise ValueError(
            f"{baseline.name} and {adapted.name} have no split in common; evaluate both."
        )
    found = same_queries([baseline, adapted], split)
    column = column or adapted.config.training.knobs.select_by
    if column not in found.values:
        raise ValueError(f"There is no score {column!r}; there are {', '.join(found.values)}.")
    note = "" if found.joined.whole and not found.unlike else found.note
    place: dict[str, Any] = {"split": split, "seen": split == "train", "note": note}
    return Comparison.of(column, found.values[column], found.numbers[1], found.labels, **place)


def compare_on(
    baseline: Run, adapted: Run, data: str, column: str | None = None
) -> Generator[Record, None, Comparison]:
    """Both networks on other data: a data set of the catalogue (its test split), a folder of class folders, or, for
    heads on vectors, a run that holds such vectors; yields progress.

    Raises:
        ValueError: there is no such data, or its vectors are of another width.
    """
    column = column or adapted.config.training.knobs.select_by
    models = [open_trained(run) for run in (baseline, adapted)]
    encoder: Any = models[0].encoder
    if encoder.knobs.base is None:
        run = open_run(data, adapted.path.parent)
        images, features = run.dataset(), stored(run)
        if features.vectors.shape[1] != encoder.width:
            raise ValueError(
                f"{data} holds vectors of {features.vectors.shape[1]} numbers, and the head takes {encoder.width}."
            )
        split = Split(features.items)
        of_each = [features, features]
    else:
        images, split = _other(data)
        of_each = yield from _features_of_both(models, images, adapted.path.parent)
    values = []
    for model, features in zip(models, of_each, strict=True):
        evaluator, loader = Evaluator(model), cast("Loader", FeatureLoader(features, images))
        query: EmbeddingSet = yield from evaluator.embed(loader, split.query, data)
        gallery = (
            None
            if split.gallery is None
            else (yield from evaluator.embed(loader, split.gallery, data))
        )
        found = yield from evaluator.measure("elsewhere", query, gallery, images)
        values.append(found.per_query[column])
    return Comparison.of(column, values, query.items, query.labels, data=data)


def _features_of_both(
    models: Sequence[Trained], images: ImageSet, root: Path
) -> Generator[Record, None, list[EmbeddingSet]]:
    """Features of other images for each model: of the output, or of the layer that its head was trained on."""
    encoder = cast(Adapted, models[1].encoder)
    if encoder.layer_used != OUTPUT:  # both out of one pass
        yield from keep_layers(
            encoder, models[1].config, images, root, (OUTPUT, encoder.layer_used)
        )
    found = []
    for model in models:
        found.append(
            (yield from features_of(cast(Adapted, model.encoder), model.config, images, root))
        )
    return found


def _other(data: str) -> tuple[ImageSet, Split]:
    """Other images, and those of them that are searched."""
    if data in lab.data.names():
        images = lab.data.create(data)
        return images, images.splits["test"]
    folder = Path(whole(data))
    if not folder.is_dir():
        raise ValueError(
            f"There is no data set and no folder {data!r} to measure on; e.g. letters, digits or emoji7."
        )
    images = lab.data.create("class_folders", root=str(folder), test=0.0, validation=0.0)
    return images, Split(np.arange(len(images)))
