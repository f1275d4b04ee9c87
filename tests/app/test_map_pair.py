"""Two spaces on the Map page: the numbers against plain loops, and the way to Browse."""

from __future__ import annotations

import numpy as np
import pytest

import lab.runs
from app import served
from app.views.map import colouring, pair
from lab.core.arrays import read as tensors
from lab.maps import of_run


def drawn(page) -> dict:
    sent = page.gallery("two maps drawn")
    return sent | {name: served.read(file) for name, file in sent["files"].items()}


def nearest(vectors, k):
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


def test_two_runs_share_neighbours_and_a_click_leads_to_browse_with_both(runs, open_page):
    one, other = (lab.runs.open(runs / name).embeddings("test") for name in ("recall", "smooth"))
    page = open_page("map", run="recall", split="test", beside="run:smooth")
    assert page.calm, page.words()
    shown = drawn(page)
    assert shown["ids"].tolist() == sorted(one.items) and shown["pair"] == {
        "names": ["recall", "smooth"],
        "view": "side",
    }
    order, theirs = (np.argsort(embedded.items) for embedded in (one, other))
    near = nearest(one.vectors[order], 5), nearest(other.vectors[theirs], 5)
    shares = [len(set(a) & set(b)) / 5 for a, b in zip(*map(np.ndarray.tolist, near), strict=True)]
    assert f"{np.mean(shares):.0%} are the same in both" in page.words().replace("\\", "")
    fifths = [
        next(fifth for fifth in range(5) if share <= (fifth + 1) / 5 + 1e-9) for share in shares
    ]
    assert shown["categories"].tolist() == fifths
    assert [line["count"] for line in shown["legend"]] == np.bincount(fifths, minlength=5).tolist()
    assert shown[f"filter {pair.OVERLAP}"].tolist() == [round(5 * share) for share in shares]
    assert not np.array_equal(shown["before"], shown["after"])
    # A click shows the neighbours in both spaces, and Browse opens with both runs.
    item = int(shown["ids"][3])
    page.tell("two maps drawn", "picked", {"id": item})
    assert page.calm and page.test.query_params["item"] == str(item)
    sections = {
        name: page.section("two maps images", name)["cards"] for name in ("recall", "smooth")
    }
    for at, name in enumerate(("recall", "smooth")):
        assert [card["id"] for card in sections[name]] == shown["ids"][near[at][3]].tolist()
    again = page.again()
    assert again.calm and again.gallery("two maps drawn") == page.gallery("two maps drawn")


def test_an_earlier_step_is_the_first_of_the_two(runs, open_page):
    run = lab.runs.open(runs / "recall")
    step = min(run.frames())
    page = open_page("map", run="recall", split="validation", beside=f"step:{step}", view="one")
    assert page.calm, page.words()
    shown = drawn(page)
    assert shown["pair"] == {"names": [f"recall, step {step}", "recall"], "view": "one"}
    frame = tensors(run.frames()[step])
    assert set(shown["ids"]) == set(frame["items"])
    inside = shown["ids"][4:12].tolist()
    page.tell("two maps drawn", "lassoed", {"ids": inside})
    assert {card["id"] for card in page.section("two maps images", "selection")["cards"]} == set(
        inside
    )


def test_the_second_map_lies_on_the_first(runs):
    one = lab.runs.open(runs / "recall").embeddings("test")
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(one.vectors.shape[1],) * 2))[0]
    other = type(one)(
        (one.vectors @ turn)[::-1].astype(np.float32), one.labels[::-1], one.items[::-1]
    )
    two = of_run.two_maps(one, other, "pca")
    np.testing.assert_allclose(two.after, two.before, atol=1e-3)
    assert (np.sort(two.near[0][:, :5]) == np.sort(two.near[1][:, :5])).mean() > 0.99
    with pytest.raises(ValueError, match="fewer than three images"):
        of_run.two_maps(one, type(one)(one.vectors[:2], one.labels[:2], one.items[:2]), "pca")


def test_histograms_have_a_bar_a_value_or_equal_steps():
    values = [f"v{one:02}" for one in range(40)]
    codes = np.repeat(np.arange(40), np.arange(40, 0, -1))
    words = colouring.bars("maker", values, codes)
    assert (
        len(words.labels) == colouring.BARS
        and words.labels[0] == "v00"
        and words.labels[-1] == "17 others"
    )
    assert np.bincount(words.codes).tolist() == [*range(40, 17, -1), sum(range(1, 18))]
    numbers = colouring.bars("year", [str(1990 + one) for one in range(30)], np.arange(30))
    counted = np.bincount(numbers.codes, minlength=colouring.BARS)
    assert (
        counted.sum() == 30 and counted.min() >= 1 and numbers.labels[0].startswith("1990 to 1991")
    )
    few = colouring.bars("side", ["", "left"], np.array([0, 1, 1]))
    assert few.labels == ["(none)", "left"] and few.codes.tolist() == [0, 1, 1]
