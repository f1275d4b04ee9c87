"""Revisited Oxford and Paris: queries cut out of photographs, judged easy, hard or junk for each gallery image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from lab.core.knobs import knob
from lab.core.results import EASY, HARD, JUNK, Relevance
from lab.data._base import ImageRecords
from lab.data._lists import read_json, rows
from lab.data._published import Published
from lab.data._table import Table, assemble
from lab.data.images.reading import open_rgb

_GRADES = {"easy": EASY, "hard": HARD, "junk": JUNK}


class RevisitedSet(Published):
    """Queries in a gallery of their own, judged by hand (Radenovic et al., 2018); there is no training split.

    `relevance["test"]` holds the judgements; labels only repeat the name of the landmark in the name of the file.
    The official ground truth is a pickle, which is not read here: `scripts/convert_revisited.py` turns it into JSON
    once, and lets nothing in it run.
    """

    ground_truth: ClassVar[str]
    crop_queries: bool = knob(
        "Crop queries to their bounding boxes, as the protocol requires.", default=True
    )
    distractors: str | None = knob(
        "Folder of the million distractors: revisitop1m.txt and the files in jpg/ that it lists.",
        default=None,
        path=True,
    )

    def _table(self) -> Table:
        truth = read_json(self.root / self.ground_truth, "a converted ground truth", _checked)
        queries = truth["qimlist"]
        gallery = truth["imlist"]
        self._boxes = [judgement["bbx"] for judgement in truth["gnd"]]
        # A photograph may be query and gallery image: the query, cut to its box, has a key of its own.
        keys = [f"query/{name}.jpg" for name in queries]
        keys += [f"jpg/{name}.jpg" for name in gallery]
        table = Table(
            key=keys,
            label=[name.rpartition("_")[0] or name for name in queries + gallery],
            role=["query"] * len(queries) + ["gallery"] * len(gallery),
        )
        if self.knobs.distractors:
            listed = rows(Path(self.knobs.distractors).expanduser() / "revisitop1m.txt", 1)
            table.key += [f"distractors/{name.strip()}" for (name,) in listed]
            table.label += ["distractor"] * len(listed)
            table.role += ["gallery"] * len(listed)
        table.split = ["test"] * len(table)
        self._relevance = relevance(truth["gnd"])
        return table

    def _records(self, table: Table) -> ImageRecords:
        return replace(assemble(table, seed=0, validation=0.0), relevance={"test": self._relevance})

    def path(self, i: int) -> Path:
        """Return the file of the i-th image."""
        kind, _, name = self.keys[i].partition("/")
        if kind == "distractors":
            return Path(self.knobs.distractors).expanduser() / "jpg" / name
        return self.root / "jpg" / name

    def load(self, i: int) -> Image.Image:
        """Return the i-th image, RGB; a query is cropped to its box, if it has one and `crop_queries` is set."""
        if not self.knobs.crop_queries or i >= len(self._boxes) or not self._boxes[i]:
            return super().load(i)
        return open_rgb(self.path(i)).crop(self._boxes[i])


def relevance(judged: list[dict[str, list]]) -> Relevance:
    """Return the judgements of every query, in the order easy, hard, junk."""
    items = []
    grades = []
    counts = [0]
    for judgement in judged:
        for grade, value in _GRADES.items():
            items.append(np.array(judgement[grade], dtype=np.int64))
            grades.append(np.full(len(judgement[grade]), value, dtype=np.int8))
        counts.append(sum(len(judgement[grade]) for grade in _GRADES))
    return Relevance(np.cumsum(counts), np.concatenate(items), np.concatenate(grades))


def _checked(truth: Any) -> dict[str, Any]:
    """Return a converted ground truth if it is consistent; else raise what `read_json` turns into a sentence."""
    queries = truth["qimlist"]
    gallery = truth["imlist"]
    judged = truth["gnd"]
    if len(judged) != len(queries) or not queries or not gallery:
        raise TypeError(
            f"{len(judged)} judgements for {len(queries)} queries in a gallery of {len(gallery)}"
        )
    for name, judgement in zip(queries, judged, strict=True):
        if judgement["bbx"]:
            left, top, right, bottom = judgement["bbx"]
            if not (left < right and top < bottom):
                raise TypeError(f"the box of {name} is empty")
        items = []
        for grade in _GRADES:
            items += judgement[grade]
        if len(set(items)) < len(items) or not all(0 <= item < len(gallery) for item in items):
            raise IndexError(f"the judgements of {name} repeat an item or leave the gallery")
    return truth
