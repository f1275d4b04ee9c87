"""The contact sheet shows what the ranking says, and never by colour alone."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

import lab.figures
import lab.search
from lab.core.results import EmbeddingSet, Evidence
from lab.core.style import BLUE, VERMILLION


@pytest.fixture
def evidence():
    """Four points on a circle: 0 finds 1 (wrong) before 2 (right) before 3 (right)."""
    angles = np.radians([0, 10, 25, 80])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    points = EmbeddingSet(vectors, np.array([0, 1, 0, 0]), np.array([7, 8, 9, 10]))
    ranking = lab.search.create("exact", k=2).build(points).rank(points, same_source=True)
    return Evidence(ranking, points, points)


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def test_frames_follow_the_ranking_and_wrong_ones_are_dashed(evidence):
    asked = []

    def load(item):
        asked.append(item)
        return Image.new("RGB", (20, 20), (200, 200, 200))

    sheet = lab.figures.contact_sheet(load, evidence, [0], k=2, missed=1, size=60)
    assert asked == [7, 8, 9, 10], "query, its two neighbours, and the positive that they leave out"
    pixels = np.asarray(sheet)
    blue, wrong = (pixels == rgb(BLUE)).all(2), (pixels == rgb(VERMILLION)).all(2)
    assert np.flatnonzero(wrong.any(0)).max() < np.flatnonzero(blue.any(0)).min(), (
        "the wrong one stands first"
    )
    top = np.flatnonzero(blue.any(1))[0]
    assert blue[top].sum() == 68 and 0 < wrong[top + 1].sum() < 60, (
        "solid for right, dashed for wrong"
    )


def test_a_row_that_is_not_there_is_a_sentence(evidence):
    with pytest.raises(ValueError, match="queries 0 to 3, got 4"):
        lab.figures.contact_sheet(lambda item: None, evidence, [4])


def test_small_distances_are_no_zeros(evidence, monkeypatch):
    said, write = [], ImageDraw.ImageDraw.text
    monkeypatch.setattr(
        ImageDraw.ImageDraw,
        "text",
        lambda draw, xy, text, **k: said.append(text) or write(draw, xy, text, **k),
    )
    evidence.ranking.scores[0, 0] = -0.0004
    lab.figures.contact_sheet(lambda item: Image.new("RGB", (20, 20)), evidence, [0], k=2, missed=0)
    assert said == ["class 0", "1:  -0.0004", "2:  0.91"]
