"""One query's answer as a table and as a figure; and filters of images, on a small collection."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import lab.figures
from lab.core.results import EmbeddingSet
from lab.evaluation import filters
from lab.evaluation.collection import Collection
from lab.evaluation.filters import Filter
from lab.report import answer


class Pictures:
    """A data set of flat colours, with what filters ask for."""

    root = pixels = None

    def __init__(self, count: int = 12):
        self.labels = np.arange(count) % 3
        self.class_names = ["ant", "<b>bee</b>", "cat, big"]
        self.super_labels, self.super_names = self.labels // 2, ["insect", "mammal"]
        self.attributes = {"vendor": np.array(["acme", "zeta"])[np.arange(count) // 3 % 2]}
        self.keys = [f"{at}.png" for at in range(count)]

    def load(self, item: int) -> Image.Image:
        return Image.new("RGB", (20, 20), (20 * item, 0, 0))


@pytest.fixture
def small() -> Collection:
    random = np.random.default_rng(3)
    vectors = random.normal(size=(12, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pictures = Pictures()
    embedded = EmbeddingSet(vectors, pictures.labels, np.arange(12))
    return Collection(pictures, embedded, embedded)


def test_a_filter_reads_every_field(small):
    assert filters.fields(small.images) == ["class", "super-class", "vendor"]
    items = np.arange(12)
    only = Filter({"class": frozenset(["ant", "cat, big"]), "vendor": frozenset(["zeta"])})
    assert only.queries(small.images, items).tolist() == [
        small.images.labels[at] != 1 and at // 3 % 2 == 1 for at in range(12)
    ]
    small.images.attributes |= {
        "class": small.images.attributes["vendor"],
        "rank": np.arange(12).astype(str),
    }
    assert filters.fields(small.images) == [
        "class",
        "super-class",
        "vendor",
        "class (column)",
        "rank",
    ]
    assert (
        filters.column(small.images, "class (column)", items).tolist()
        == small.images.attributes["vendor"].tolist()
    )
    assert filters.column(small.images, "class", items[:2]).tolist() == ["ant", "<b>bee</b>"]
    words = Filter(words={"super-class": "MAMM"}, side="queries")
    assert words.queries(small.images, items).sum() == 4
    assert words.neighbours(small.images, items).all()
    assert not Filter() and only and words


def test_the_table_keeps_a_persons_columns_apart_from_ours(small):
    small.images.attributes |= {
        "rank": np.array(["first"] * 12),
        "again": np.array(["second"] * 12),
    }
    evidence = small.ask(0)
    rows = csv.DictReader(
        io.StringIO(
            answer.table(small, evidence, np.array([0, 2]), {"again": lambda one: one}).decode()
        )
    )
    first = next(rows)
    assert (
        first["rank"] == "1"
        and first["rank (column)"] == "first"
        and first["again (column)"] == "second"
    )


def test_the_table_holds_the_list(small):
    evidence = small.ask(0)
    rows = list(
        csv.reader(
            io.StringIO(
                answer.table(
                    small, evidence, np.array([0, 2]), {"=twice()": lambda one: 2 * one}
                ).decode()
            )
        )
    )
    assert rows[0] == [
        "query",
        "rank",
        "image",
        "right",
        "similarity",
        "class",
        "super-class",
        "vendor",
        "'=twice()",
    ]
    for row, place in zip(rows[1:], (0, 2), strict=True):
        item = int(evidence.gallery.items[evidence.ranking.neighbours[0, place]])
        pictures = small.images
        assert row[:3] == ["0.png", str(place + 1), pictures.keys[item]]
        assert row[3] == ("yes" if pictures.labels[item] == 0 else "no")
        assert float(row[4]) == pytest.approx(float(evidence.ranking.scores[0, place]), abs=1e-6)
        assert row[5] == pictures.class_names[pictures.labels[item]] and row[8] == str(2 * item)


def test_the_figure_for_a_paper_marks_right_and_wrong_and_has_its_size(small):
    evidence = small.ask(0)
    png = Image.open(io.BytesIO(answer.figure(small, evidence, 8, "png")))
    assert png.width == round(17 / 2.54 * 300) and png.info["dpi"][0] == pytest.approx(300, abs=0.1)
    colours = {colour for _, colour in png.convert("RGB").getcolors(2**24)}
    assert {(0, 114, 178), (213, 94, 0)} <= colours
    assert answer.figure(small, evidence, 8, "pdf").startswith(b"%PDF")
    plain = Collection(Pictures(), replace(small.query, labels=np.arange(12) % 3), small.gallery)
    plain.images.class_names = ["", "", ""]
    unjudged = Image.open(io.BytesIO(answer.figure(plain, plain.ask(0), 3, "png")))
    assert (213, 94, 0) not in {colour for _, colour in unjudged.convert("RGB").getcolors(2**24)}
    with pytest.raises(ValueError, match="do not fit into 2 cm"):
        lab.figures.ranked_figure(small.images.load, evidence, 0, 11, width=2, per_line=20)
