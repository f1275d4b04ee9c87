"""Figures that a page computes by itself: every picture is the one that Python draws, and a hand moves them."""

from __future__ import annotations

import base64
import gzip
import json
import math

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import lab.figures
from lab.figures import live_page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

NAMES = live_page.forms()
SETTINGS = 20
"""Random settings of each figure, besides its defaults."""

WORDS = "---", "+'-", "", "+?\"'\\"
"""What somebody may type into a pattern."""


@pytest.fixture(scope="module")
def engine(chromium) -> Page:
    """A page with the scripts alone."""
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.add_script_tag(content=live_page.script())
    yield page
    context.close()


def body_of(figure) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(live_page.packed_pictures(figure)[0])))


def drawn_list(random: np.random.Generator) -> dict:
    """A list as a hand may leave it: some items, some of them tied, of as many signs as it wants."""
    scores = random.uniform(-1, 1, random.integers(2, 16)).round(random.integers(1, 5)).tolist()
    pattern = "".join(random.choice(["+", "-"], len(scores), p=[0.3, 0.7]))
    return {"scores": scores, "pattern": pattern}


def drawn(body: dict, random: np.random.Generator) -> dict:
    """A setting of all that the page offers."""
    knobs = dict(body["knobs"])
    for slider in body["sliders"]:
        stops = slider["stops"] or [
            "".join(random.choice(["+", "-"], random.integers(1, 20))),
            *WORDS,
        ]
        knobs[slider["name"]] = stops[random.integers(len(stops))]
    if "scores" in body["drag"]:
        return {**knobs, **drawn_list(random)}
    count = random.choice([0, 0, knobs.get("classes", 0)])
    return {
        **knobs,
        **{name: random.uniform(-3, 3, count).round(4).tolist() for name in body["drag"]},
    }


def plain(part):
    """Part of a picture without what plotly packs, and without what is empty."""
    if isinstance(part, dict) and "bdata" in part:
        values = np.frombuffer(base64.b64decode(part["bdata"]), np.dtype(part["dtype"]))
        shape = [int(size) for size in part["shape"].split(",")] if "shape" in part else [-1]
        return plain(values.reshape(shape).tolist())
    if isinstance(part, dict):
        return {
            name: made
            for name, value in part.items()
            if (made := plain(value)) not in (None, [], {})
        }
    if isinstance(part, list):
        return [plain(one) for one in part]
    return None if isinstance(part, float) and math.isnan(part) else part


def differences(told, known, where: str = "") -> list[str]:
    """Where two pictures differ: a number by more than a millionth, anything else at all."""
    if isinstance(told, dict) and isinstance(known, dict):
        return [line for name in {**told, **known}
                for line in differences(told.get(name), known.get(name), f"{where}.{name}")]  # fmt: skip
    if isinstance(told, list) and isinstance(known, list) and len(told) == len(known):
        pairs = enumerate(zip(told, known, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{where}[{i}]")]
    numbers = all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in (told, known)
    )
    alike = abs(told - known) <= 1e-6 * max(1, abs(known)) if numbers else told == known
    return [] if alike else [f"{where}: {told!r:.90} instead of {known!r:.90}"]


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_is_the_one_that_python_draws(engine, name):
    random = np.random.default_rng(sum(name.encode()))
    body = body_of(lab.figures.create(name))
    settings = [body["knobs"], *(drawn(body, random) for _ in range(SETTINGS))]
    compute = "([body, settings]) => JSON.stringify(settings.map((values) => rankscopeLive.computed(body, values)))"
    made = engine.evaluate(compute, [body, settings])
    refused = 0
    for values, told in zip(settings, json.loads(made), strict=True):
        try:
            figure = lab.figures.create(name, **values)
            known = {
                "figure": json.loads(figure.figure().to_json()),
                "code": figure.code(),
                "idle": sorted(figure.idle()),
            }
        except ValueError as error:
            assert told["refused"] == str(error)
            refused += 1
            continue
        told["idle"] = sorted(told.get("idle", []))
        assert not differences(plain(told), plain(known))[:5], values
    assert refused < 0.8 * len(settings)


@pytest.fixture
def opened(tmp_path, tab):
    """A figure's saved page: `opened(name, **knobs)`."""

    def open_page(name: str, **knobs) -> Page:
        file = tmp_path / f"{name}.html"
        file.write_text(live_page.live_page(lab.figures.create(name, **knobs)), encoding="utf-8")
        return tab(f"file://{file}", offline=True)

    return open_page


def said(name: str, **knobs) -> str:
    return lab.figures.create(name, **knobs).figure().layout.meta["alt"]


def test_a_dragged_item_moves_the_picture_without_python(opened, drag):
    page = opened("recall_strip")
    grip, words = page.get_by_role("slider", name="tiger 3, same label"), page.locator("#words")
    expect(words).to_have_text(said("recall_strip"))
    drag(page, grip, 260, 0)
    score = float(grip.get_attribute("aria-valuenow"))
    scores = list(lab.figures.create("recall_strip").knobs.scores)
    assert score > scores[3]
    scores[3] = score
    expect(words).to_have_text(said("recall_strip", scores=tuple(scores)))
    expect(page.locator("#code")).to_have_text(
        lab.figures.create("recall_strip", scores=tuple(scores)).code()
    )
    page.get_by_role("button", name="+ different label").click()
    expect(words).to_contain_text(f"A list of {len(scores) + 1} items")
    assert page.evaluate("document.getElementById('figure').data[1].text").count("N1") == 1, (
        "more than have a face"
    )


def test_what_lessons_ask_for_can_be_done(opened):
    page = opened("two_batches")
    page.get_by_label("λ").press("End")
    expect(page.locator("#words")).to_have_text(said("two_batches", lam=1.0))
    page.get_by_text("More settings").click()
    page.get_by_label("β (cosine)").press("End")
    expect(page.locator("#words")).to_contain_text("beta must be below alpha")
    page = opened("precision_counter")
    page.get_by_label("Pattern").fill("++--+")
    expect(page.locator("#words")).to_have_text(said("precision_counter", pattern="++--+"))
    page = opened("retrieval_protocols")
    page.get_by_label("Exclude self").uncheck()
    expect(page.locator("#words")).to_have_text(said("retrieval_protocols", exclude_self=False))
    page.get_by_label("Same source").uncheck()
    expect(page.get_by_label("Exclude self")).to_be_hidden()
    page.evaluate(
        "document.getElementById('figure').emit('plotly_click', { points: [{ x: 5, y: 2 }] })"
    )
    expect(page.locator("#words")).to_have_text(
        said("retrieval_protocols", exclude_self=False, same_source=False, k=5, query=2)
    )


def test_panels_stand_below_each_other_on_a_phone(opened):
    page = opened("two_sigmoids")
    layout = "(({ xaxis, xaxis2, yaxis, yaxis2 }) => [xaxis, xaxis2, yaxis, yaxis2].map((one) => one.domain))"
    read = f"{layout}(document.getElementById('figure').layout)"
    expect(page.locator(".main-svg").first).to_be_visible()
    x, x2, y, y2 = page.evaluate(read)
    assert x[1] < x2[0] and y == y2
    page.set_viewport_size({"width": 390, "height": 800})
    page.reload()
    expect(page.locator(".main-svg").first).to_be_visible()
    x, x2, y, y2 = page.evaluate(read)
    assert x == x2 and y2[1] < y[0]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
