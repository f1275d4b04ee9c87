"""The Inspect page, headless: what it shows is what the inspector says, for every loss and every kind of batch."""

from __future__ import annotations

import numpy as np
import pytest

import lab.inspect
import lab.losses
import lab.runs
from app.results import cache
from lab.core.arrays import read as tensors
from lab.core.results import EmbeddingSet
from lab.runs.building import batches
from lab.runs.building.batches import ChosenLoss
from lab.runs.writer import Writer


def saved(run) -> tuple[str, dict[str, np.ndarray]]:
    step, path = next(iter(reversed(run.batches().items())))
    return f"saved-{step}", tensors(path)


def test_pulls_and_pushes_on_the_images_are_the_gradients_of_the_pairs(runs, open_page):
    run = lab.runs.open(runs / "smooth")
    code, arrays = saved(run)
    page = open_page("inspect", run="smooth", batch=code, query=str(arrays["items"][3]))
    assert page.calm, page.words()
    loss = lab.losses.create("smooth_ap", **run.config.loss.values)
    pairs = lab.inspect.pair_gradients(loss, arrays["embeddings"], arrays["labels"])
    listed = page.section("inspected", "near")["cards"]
    order = np.argsort(-pairs.similarities[3], kind="stable")
    order = order[order != 3]
    assert [card["id"] for card in listed] == arrays["items"][order[: len(listed)]].tolist()
    for card, place in zip(listed, order, strict=False):
        gradient, same = pairs.gradients[3, place], arrays["labels"][place] == arrays["labels"][3]
        assert float(card["value"]) == pytest.approx(pairs.similarities[3, place], abs=6e-4)
        assert card["right"] == same
        told = card["bar"]["text"]
        if "not moved" not in told:
            assert told.startswith("▲ pull" if gradient < 0 else "▼ push")
            assert float(told.split()[2]) == pytest.approx(abs(gradient), rel=0.06)
            assert card["bar"]["wrong"] == ("✗" in told) == ((gradient > 0) == same)
    assert any(card["bar"]["share"] > 0 for card in listed)


@pytest.mark.parametrize("part", ["dead", "bounds"])
def test_every_part_of_the_page(runs, open_page, part):
    page = open_page("inspect", run="recall", show=part)
    assert page.calm, page.words()
    assert set(page.test.query_params) == {"run", "loss", "query", "show"}, (
        "what stands at its default stays out"
    )


@pytest.mark.parametrize("name", ["contextual", "cross_entropy"])
def test_every_loss_can_be_asked(runs, open_page, name):
    """Losses of each kind: its form, its gradient on the images, or one sentence why not."""
    page = open_page(
        "inspect", run="recall", batch=saved(lab.runs.open(runs / "recall"))[0], loss=name
    )
    assert not page.test.exception
    assert page.calm, page.words()
    assert page.section("inspected", "near")["cards"]
    for choice in page.test.selectbox:
        if choice.key.endswith(".variant"):
            choice.set_value("released").run()
            assert not page.test.exception and "unexpected error" not in page.words()


def test_wrong_directions_lead_to_their_query(runs, open_page):
    page = open_page("inspect", run="recall", show="wrong", loss="contextual")
    listed = page.section("pairs Pairs that go against their label", "pairs")["cards"]
    assert listed, "the contextual loss pulls on whole neighbourhoods"
    assert all(
        card["bar"]["wrong"] and card["src"].startswith("data:image/webp") for card in listed
    )
    page.pick("pairs Pairs that go against their label", "pairs", listed[0]["id"])
    assert page.calm, page.words()
    assert "show" not in page.test.query_params and page.section("inspected", "near")["cards"]


def test_the_shown_query_is_a_batch(runs, open_page):
    run = lab.runs.open(runs / "recall")
    item = int(run.embeddings("test").items[8])
    page = open_page("inspect", run="recall", split="test", batch="query", query=str(item))
    assert page.calm, page.words()
    collection = cache.collection("recall", "test", 0.0)
    whole = batches.read(run, batches.QUERY, collection, item=item).embedded
    assert whole.items[0] == item and len(np.unique(whole.items)) == len(whole)
    evidence = collection.ask(item)
    positives = evidence.gallery.items[evidence.ranking.positives(0)[0]]
    assert set(positives[: batches.LATE]) <= set(whole.items.tolist())
    assert page.gallery("inspected")["query"]


def test_the_sampler_draws_as_in_training_and_another_batch_on_demand(runs, open_page):
    page = open_page("inspect", run="recall")
    first = {card["id"] for card in page.section("inspected batch", "batch")["cards"]}
    next(
        button for button in page.test.button if button.label == "Draw another batch"
    ).click().run()
    drawn = page.section("inspected batch", "batch")["cards"]
    assert {card["id"] for card in drawn} != first and page.test.query_params["sampled"] == "1"
    assert page.again().section("inspected batch", "batch")["cards"] == drawn
    run, collection = lab.runs.open(runs / "recall"), cache.collection("recall", "test", 0.0)
    drawn = batches.read(run, batches.DRAWN, collection, draw=2).embedded
    assert np.unique(drawn.labels, return_counts=True)[1].tolist() == [4] * 8


def test_a_batch_with_nan_names_its_images_and_inspects_the_rest(runs, open_page):
    run = lab.runs.open(runs / "recall")
    _, arrays = saved(run)
    arrays["embeddings"][5] = np.nan
    Writer(run).arrays(
        "failure", "step_00000007", arrays, {"step": 7, "sentence": "Training stopped at step 7."}
    )
    page = open_page("inspect", run="recall", batch="failure")
    assert page.calm, page.words()
    assert [card["id"] for card in page.section("broken", "broken")["cards"]] == [
        int(arrays["items"][5])
    ]
    assert "Training stopped at step 7" in page.words()
    assert int(arrays["items"][5]) not in [
        c["id"] for c in page.section("inspected", "near")["cards"]
    ]


PROXIES = {
    "loss": {"name": "proxy_anchor"},
    "training": {"steps": 4, "validate_every": 2, "checkpoint_every": 2},
    "evaluation": {"batch_size": 64},
}


def learnt(run, name: str) -> dict:
    from lab.training import checkpoint

    return checkpoint.load(run.checkpoint(name))["loss"]


def same(loss, state: dict) -> bool:
    return all(bool((value == state[name]).all()) for name, value in loss.state_dict().items())


def test_class_weights_are_the_learnt_ones_where_the_run_has_them(tmp_path, train_tiny):
    run = train_tiny(tmp_path, "proxies", **PROXIES)
    batch = batches._kept(run.batches()[2])
    asked = ChosenLoss("proxy_anchor", run.config.loss.values)
    loss, labels, told = batches.loss_for(run, asked, batch, "test")
    assert labels.max() < len(np.unique(run.dataset().labels[run.dataset().splits["train"].items]))
    origin = run.origin("test")
    assert f"learnt: {origin.checkpoint} checkpoint, step {origin.step}" in told
    assert ("embeddings of this batch are of step 2" in told) == (origin.step != 2)
    assert same(loss, learnt(run, origin.checkpoint))
    other, labels, told = batches.loss_for(run, ChosenLoss("arc_face", {}), batch, "test")
    assert "are random: this run was trained with Proxy-Anchor" in told
    assert labels.max() == len(np.unique(batch.embedded.labels)) - 1
    drawn = batches.InspectedBatch(
        EmbeddingSet(*(column[:40] for column in vars(run.embeddings("test")).values()))
    )
    assert (
        "are random: this run was trained on other classes"
        in batches.loss_for(run, asked, drawn, "test")[2]
    )


def test_random_weights_are_said(runs, open_page):
    page = open_page("inspect", run="recall", loss="arc_face", show="bounds")
    assert page.calm and "are random: this run was trained with Recall@k" in page.words().replace(
        "\\", ""
    )


@pytest.mark.parametrize(("part", "bad"), [("bounds", "saved-999"), ("images", "nan")])
def test_a_bad_address_falls_back(runs, open_page, part, bad):
    names = ("batch", "loss", "query", "sampled", "bounded", "knobs")
    page = open_page("inspect", run="smooth", show=part, **dict.fromkeys(names, bad))
    assert page.calm, page.words()
    assert {"query", "loss", "batch"} <= set(
        page.test.query_params
    ) and f"query {bad}" in page.test.warning[0].value


def test_a_click_looks_up_what_was_found_of_its_batch(runs, open_page, count_calls):
    """What makes a click quick: the pairs of a batch are inspected once, whichever of its images is asked."""
    calls = count_calls(
        "lab.inspect.pair_gradients", "lab.inspect.query_values", "lab.runs.Run.embeddings"
    )
    page = open_page("inspect", run="recall", sampled="3")  # a batch that no other test draws
    assert [name for name, *_ in calls].count("lab.inspect.pair_gradients") == 1
    calls.clear()
    for card in page.section("inspected batch", "batch")["cards"][1:5]:
        page.pick("inspected batch", "batch", card["id"])
        assert page.calm and page.test.query_params["query"] == str(card["id"])
    assert calls == []


def test_it_opens_on_the_newest_run_whose_loss_compares_pairs(runs, open_page, train_tiny):
    train_tiny(runs, "newest", loss="cross_entropy")
    page = open_page("inspect")
    assert page.calm and page.test.selectbox(key="run").value in ("recall", "smooth")
    page = open_page("inspect", run="newest")
    assert page.test.query_params["loss"] == "cross_entropy"
    next(one for one in page.test.button if one.label.startswith("Show recall@k")).click().run()
    assert page.calm and page.test.query_params["loss"] == "recall_at_k" and not page.test.info
