"""The playground in Chromium: its losses equal lab's, and its page does what it says."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import lab

BATCHES = 200
"""Random batches of each loss."""

TEMPERATURES = -4, 1
"""Powers of ten between which temperatures are drawn."""

MEASURE = """cases => cases.map(({ name, rows, n, d, labels, knobs, weights, mixing }) => {
    const batch = { rows: Float64Array.from(rows), n, d, labels };
    const given = { weights: weights && Float64Array.from(weights), mixing };
    const told = playground.lossOf(name, batch, knobs, given);
    return [told.value, [...told.gradient], [...(told.weights ?? [])]];
})"""


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("playground") / "playground.html"
    path.write_text(lab.playground.page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def engine(chromium, file) -> Page:
    """The page, for its losses alone."""
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto(file)
    yield page
    context.close()


def drawn(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels: loose or in groups, some with equal rows, some with a class of one image."""
    width, classes, count = random.integers(2, 6), random.integers(2, 6), random.integers(4, 22)
    labels = random.integers(0, classes, count)
    if random.random() < 0.3:
        labels[0] = classes
    centres = random.normal(size=(classes + 1, width)) * random.integers(0, 2)
    rows = random.normal(size=(count, width)) + 1.5 * centres[labels]
    for _ in range(2 * int(random.random() < 0.4)):
        one, other = random.integers(0, count, 2)
        rows[one] = rows[other]
    return rows, labels


def knobs_of(name: str, number: int, random: np.random.Generator) -> dict:
    """Knobs of the number-th batch of a loss: every variant, temperatures of five decades."""
    temperature = float(10 ** random.uniform(*TEMPERATURES))
    told = {
        "variant": ("paper", "released")[number % 2],
        "include_self": (None, True, False)[number % 3],
    }
    return {
        "recall_at_k": {"k": (1, 2, 4), "tau1": float(10 ** random.uniform(-1.5, 1)), "tau2": temperature, **told},
        "simix": {"k": (1, 2, 4), "tau2": temperature, "simix": True, **told},
        "smooth_ap": {"tau": temperature, **told},
        "sup_ap": {"tau": temperature, "lift_ties": number % 5 == 0, "delta": float(random.uniform(0, 0.1)), **told},
        "calibration": {"alpha": float(random.uniform(0.5, 1)), "beta": float(random.uniform(0, 0.5)), **told},
        "roadmap": {"tau": temperature, "lam": float(random.uniform()), **told},
        "contextual": {
            "variant": ("paper", "released", "released_224")[number % 3], "eps": float(random.uniform(0, 0.2)),
            "k": (None, 3)[number % 2],
        },
        "contrastive": {"neg_margin": float(random.uniform(0.2, 1.5)), "pos_margin": 0.1 * (number % 2)},
        "triplet_margin": {"margin": float(random.uniform(0, 0.5))},
        "normalized_softmax": {"temperature": temperature},
        "class_anchor_margin": {
            "m": float(random.uniform(0.5, 3)), "p": float(random.uniform(0, 2)), "ordered": number % 2 == 0
        },
    }[name]  # fmt: skip


def by_lab(name: str, rows: np.ndarray, labels: np.ndarray, knobs: dict, weights, mixing) -> tuple:
    """Value, gradient of the rows and of class weights, as lab computes them in float64."""
    sizes = {} if weights is None else {"num_classes": len(weights), "dim": rows.shape[1]}
    start = {"init": "random"} if name == "class_anchor_margin" else {}
    loss = lab.losses.create(name, **knobs, **sizes, **start).double()
    given = torch.tensor(rows, requires_grad=True)
    held = None
    if weights is not None:
        held = loss.anchors if name == "class_anchor_margin" else loss.inner.W
        held.data = torch.tensor(weights if name == "class_anchor_margin" else weights.T.copy())
    extra = {} if mixing is None else {"alpha": torch.tensor(mixing)}
    value = loss(given, torch.tensor(labels), **extra)
    value.backward()
    turned = None if held is None else held.grad if name == "class_anchor_margin" else held.grad.T
    return value.item(), given.grad.numpy(), None if turned is None else turned.numpy()


def close(told, known) -> bool:
    """Equal to 1e-6 of the largest number, or of 1 where that is larger."""
    told, known = np.ravel(told), np.ravel(known)
    return told.shape == known.shape and np.abs(told - known).max(initial=0) <= 1e-6 * max(
        1, np.abs(known).max(initial=0)
    )


@pytest.mark.filterwarnings("ignore:.*share a label")
@pytest.mark.parametrize("name", [*lab.playground.loss_names(), "simix"])
def test_its_losses_are_those_of_lab(engine, name):
    random = np.random.default_rng(sum(name.encode()))
    loss = "recall_at_k" if name == "simix" else name
    asked, known = [], []
    for number in range(BATCHES):
        rows, labels = drawn(random)
        knobs = knobs_of(name, number, random)
        ofclasses = name in ("normalized_softmax", "class_anchor_margin")
        weights = random.normal(size=(labels.max() + 1, rows.shape[1])) if ofclasses else None
        couples = sum(int((labels[i + 1 :] == labels[i]).sum()) for i in range(len(labels)))
        mixing = random.uniform(size=couples) if name == "simix" else None
        known.append(by_lab(loss, rows, labels, knobs, weights, mixing))
        asked.append({
            "name": loss, "rows": rows.ravel().tolist(), "n": len(rows), "d": rows.shape[1], "labels": labels.tolist(),
            "knobs": {key: list(one) if isinstance(one, tuple) else one for key, one in knobs.items()},
            "weights": None if weights is None else weights.ravel().tolist(),
            "mixing": None if mixing is None else mixing.tolist(),
        })  # fmt: skip
    for case, told, (value, gradient, turned) in zip(
        asked, engine.evaluate(MEASURE, asked), known, strict=True
    ):
        assert close(told[0], value) and close(told[1], gradient), case
        assert turned is None or close(told[2], turned), case


def test_its_surrogates_are_those_of_lab(engine):
    from lab.surrogates import ConstantGradient, Heaviside, HMinus, LinearTail, Sigmoid, SoftBins

    gaps = torch.cat([torch.linspace(-2, 2, 401, dtype=torch.float64), torch.tensor([0.05, -0.05])])
    pairs = {
        "heaviside()": Heaviside(), "sigmoid(.01)": Sigmoid(0.01), "sigmoid(1e-3, 50)": Sigmoid(1e-3, 50),
        "hMinus()": HMinus(), "hMinus({offset: 1.44, start: .5, lift_ties: true})": HMinus(offset=1.44, lift_ties=True),
        "hMinus({rho: 0})": HMinus(rho=0), "constantGradient(10)": ConstantGradient(10),
        "linearTail(.02)": LinearTail(0.02), "linearTail(.1, 3)": LinearTail(0.1, 3),
        "softBins()": SoftBins(), "softBins({phase: .3})": SoftBins(phase=0.3),
        "softBins({bins: 25, low: 0})": SoftBins(25, 0),
    }  # fmt: skip
    for script, surrogate in pairs.items():
        code = f"gaps => {{ const s = playground.surrogates.{script}; "
        code += "return [gaps.map(s.value), gaps.map(s.slope), s.reach]; }"
        value, slope, reach = engine.evaluate(code, gaps.tolist())
        assert close(value, surrogate.value(gaps)) and close(slope, surrogate.derivative(gaps)), (
            script
        )
        assert reach == pytest.approx(surrogate.dead_beyond), script


def test_gap_and_bounds_are_those_of_lab(engine):
    random = np.random.default_rng(5)
    for _ in range(40):
        counts = random.integers(0, 4, (4, 3))
        counts[0, 0] += 1
        good, bad, loud, quiet = counts.tolist()
        negatives = [a + b for a, b in zip(loud, quiet, strict=True)]
        told = engine.evaluate("given => [playground.bound9(...given), playground.bound8(given[0], given[3])]",
                               [good, bad, loud, negatives])  # fmt: skip
        assert told[0] == pytest.approx(
            lab.inspect.refined_gap_bound(good, bad, loud, negatives), abs=1e-12
        )
        assert told[1] == pytest.approx(lab.inspect.gap_bound(good, negatives), abs=1e-12)
    rows, labels = random.normal(size=(12, 3)), np.arange(12) % 3
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    scores = units @ units.T
    code = "([scores, labels, of]) => playground.decomposabilityGap(Float64Array.from(scores), labels, of)"
    told = engine.evaluate(
        code, [scores.ravel().tolist(), labels.tolist(), [i % 2 for i in range(12)]]
    )
    inside, overall = [], []
    for q in range(12):
        others = np.delete(np.arange(12), q)
        overall.append(
            lab.inspect.average_precision(scores[q, others], labels[others] == labels[q])
        )
        parts = [others[others % 2 == b] for b in (0, 1)]
        inside.append(
            np.nanmean(
                [lab.inspect.average_precision(scores[q, p], labels[p] == labels[q]) for p in parts]
            )
        )
    assert told["gap"] == pytest.approx(np.mean(inside) - np.mean(overall), abs=1e-12)


# --- the page -----------------------------------------------------------------------------------------------------


def score(page: Page, name: str) -> float:
    return float(page.locator(f"#is-{name}").inner_text())


def steps(page: Page, count: int) -> None:
    """So many steps at once, as Play takes them."""
    page.evaluate(
        "count => { for (let i = 0; i < count; i++) playground.page.advance(false); playground.page.refresh(); }",
        count,
    )


def choose(page: Page, scenario: str) -> None:
    page.get_by_label("Look at").select_option(scenario)


def test_play_step_rewind_and_the_address(tab, file):
    page = tab(file)
    expect(page.locator("#list li")).to_have_count(11)
    before = score(page, "loss")
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#at")).to_have_text(re.compile(r"1[3-9]|[2-9]\d|\d{3}"))  # frames advance
    page.get_by_role("button", name="Pause").click()
    assert score(page, "loss") < before and score(page, "precision") > 0.347
    page.get_by_role("button", name="One step").click()
    link, shown = page.url, page.evaluate("[...playground.page.model.mover.weights]")
    loss = score(page, "loss")
    page.get_by_role("button", name="Rewind").click()
    expect(page.locator("#at")).to_have_text("0")
    assert score(page, "loss") == before
    other = tab(link)
    expect(other.locator("#list li")).to_have_count(11)
    assert (
        other.evaluate("[...playground.page.model.mover.weights]") == shown
        and score(other, "loss") == loss
    )


def test_a_picture_is_dragged_and_moved_by_keys(tab, file):
    page = tab(file)
    choose(page, "small_tau")
    grip = page.locator("#stage .item").nth(3)
    box = grip.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] - 160, steps=8)
    page.mouse.up()
    assert page.evaluate("playground.page.state.query") == 3
    moved = grip.bounding_box()
    assert abs(moved["y"] - box["y"]) > 40
    places = "[...playground.page.model.places.subarray(6, 8)]"
    before = page.evaluate(places)
    page.keyboard.press("ArrowRight")
    after = page.evaluate(places)
    assert np.degrees(np.arccos(np.dot(before, after))) == pytest.approx(np.degrees(0.1), abs=0.1)
    page.keyboard.press("PageDown")
    page.keyboard.press("Enter")
    assert page.evaluate("playground.page.state.query") == 4
    expect(page.locator("#asked")).to_have_text("cat face 2")


@pytest.mark.parametrize("scenario", ["hopeless", "halves", "lost_set"])
def test_roadmap_mends_what_another_loss_leaves(tab, file, scenario):
    page = tab(file)
    choose(page, scenario)
    before = score(page, "precision")
    steps(page, 250)
    assert score(page, "precision") == pytest.approx(before, abs=0.02)
    assert scenario != "lost_set" or score(page, "gap") > 0.25
    choose(page, scenario)
    page.locator("#of-loss").select_option("roadmap")
    steps(page, 300)
    assert score(page, "precision") == 1
    assert scenario != "lost_set" or score(page, "gap") == 0


def test_a_small_temperature_feels_nothing_and_a_positive_is_pushed(tab, file):
    page = tab(file)
    choose(page, "small_tau")
    expect(page.locator("#plot-words")).to_contain_text("feels 0 of 20")
    page.locator("#of-tau2").fill("-1")
    expect(page.locator("#plot-words")).not_to_contain_text("feels 0 of")
    choose(page, "pushed")
    first = page.locator("#list li").first
    expect(first).to_have_class("right")
    expect(first).to_contain_text("pushed")
    page.locator("#of-loss").select_option("sup_ap")
    expect(page.locator("#list li.right .force").filter(has_text="pushed")).to_have_count(0)


def test_the_tiny_encoder_learns_and_its_link_replays_it(tab, file):
    page = tab(file)
    choose(page, "encoder")
    assert score(page, "precision") < 0.3
    steps(page, 60)
    page.locator("#of-tau").fill("-1.5")
    steps(page, 5)
    assert score(page, "precision") > 0.5
    other = tab(page.url)
    expect(other.locator("#at")).to_have_text("65")
    weights = "[...playground.page.model.mover.weights]"
    assert other.evaluate(weights) == page.evaluate(weights)


def test_a_damaged_link_is_told(tab, file):
    for fragment, words in {
        "loss=nonsense": "asks for the loss 'nonsense'",
        "set=dozen&rows=AAAA": "'rows' does not hold 24 numbers",
        "recall_at_k.tau9=1": "no setting of this loss",
        "query=-1": "between 0 and 63",
    }.items():
        page = tab(f"{file}#{fragment}")
        expect(page.locator("#message")).to_contain_text(words)
        expect(page.locator("#list li")).to_have_count(11)


def test_it_is_accessible_and_fits_a_phone(tab, file):
    for look in (
        {"color_scheme": "light"},
        {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
    ):
        page = tab(file, **look) if "viewport" not in look else tab(file, color_scheme="dark")
        page.set_viewport_size(look.get("viewport", {"width": 1280, "height": 900}))
        found = Axe().run(page).response["violations"]
        assert not found, [(one["id"], one["nodes"][0]["html"]) for one in found]
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_a_batch_of_a_run_is_handed_over(tab, dashboard, tmp_path):
    run = lab.runs.open("recall", dashboard.runs)
    html = lab.playground.of_batch(run.embeddings("test"), run.dataset())
    (tmp_path / "handed.html").write_text(html, encoding="utf-8")
    page = tab((tmp_path / "handed.html").as_uri())
    expect(page.locator("#list li")).to_have_count(lab.playground.MOST - 1)
    steps(page, 5)
    page = tab(f"{dashboard.url}/inspect?run=recall")
    link = page.get_by_role("link", name="Play with this batch")
    with page.context.expect_page() as opened:
        link.click()
    expect(opened.value.locator("#stage .item").first).to_be_visible()
