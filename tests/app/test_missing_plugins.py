"""What other packages bring may be broken or gone: it is not offered, and runs made with it can still be looked at."""

import importlib.metadata

import pytest
import yaml

from lab.core import catalog


@pytest.fixture
def broken(monkeypatch):
    """A loss and a re-ranker of another distribution that cannot be imported."""
    points = importlib.metadata.EntryPoints(
        importlib.metadata.EntryPoint("gone", "no_such_module:Thing", f"rankscope.{room}")
        for room in ("losses", "reranking")
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **by: points.select(**by))
    catalog._entry_points.cache_clear()
    yield
    catalog._entry_points.cache_clear()


def stored(run, section: str, value: dict) -> None:
    """Change one section of a run's configuration on the disk."""
    path = run / "config.yaml"
    config = yaml.safe_load(path.read_text("utf-8"))
    path.write_text(yaml.safe_dump({**config, section: {**config[section], **value}}), "utf-8")


@pytest.mark.parametrize(
    ("name", "label", "others"), [("train", "loss", 20), ("browse", "Compare with", 3)]
)
def test_a_broken_plug_in_is_not_offered_and_one_sentence_says_why(
    runs, broken, open_page, name, label, others
):
    page = open_page(name, **({"settings": "yes", "tab": "Loss"} if name == "train" else {}))
    assert page.calm
    (box,) = (one for one in page.test.selectbox if one.label.lower() == label.lower())
    assert len(box.options) > others and not any("gone" in one for one in box.options)
    kind = "re-ranker" if name == "browse" else "loss"
    said = [
        one.value
        for one in page.test.caption
        if "Cannot be chosen" in one.value and kind in one.value
    ]
    assert len(said) == 1 and "no_such_module" in said[0].replace("\\", "")


def test_a_run_is_browsed_without_the_plug_in_that_made_it(runs, open_page):
    stored(runs / "recall", "evaluation", {"rerank": "far_away"})
    page = open_page("browse", run="recall")
    assert page.calm and page.gallery("results")
    assert "There is no re-ranker 'far_away'" in page.words().replace("\\", "")


def test_inspect_shows_another_loss_where_that_of_the_run_is_missing(runs, open_page):
    stored(runs / "recall", "loss", {"name": "far_away"})
    page = open_page("inspect", run="recall")
    assert page.calm and "There is no loss 'far_away'" in page.words().replace("\\", "")
    (box,) = (one for one in page.test.selectbox if one.label == "Loss")
    assert box.value == "recall_at_k"
