"""Damaged folders, stale tabs, second users: every other run stays usable."""

from __future__ import annotations

import pytest

import lab.data
import lab.runs
from lab.launchers.background.queue import Queue
from lab.runs import RunConfig

JUNK = b'\x00\xff{"state": "running", "step": "many", "values": {"r@1": []}}\n{"kind": "stepped", "step": null}\n'


def spoil(pattern: str):
    def damage(folder):
        found = list(folder.glob(pattern))
        assert found, pattern
        for path in found:
            path.write_bytes(JUNK)

    return damage


DAMAGES = {"configuration": spoil("config.yaml"), "everything": spoil("**/*.*")}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_leaves_the_others_usable(runs, open_page, damage):
    DAMAGES[damage](runs / "recall")
    table = open_page("runs")
    assert table.calm, table.words()
    assert "smooth" in table.test.dataframe[0].value["run"].tolist()
    for page, link in (("watch", {"watched": "smooth"}), ("browse", {"run": "smooth"})):
        shown = open_page(page, **link)
        assert shown.calm, f"{page}: {shown.words()}"
    if damage == "configuration":
        assert "could not be read" in " ".join(e.label for e in table.test.expander)
    else:
        sick = open_page("watch", watched="recall")
        assert not sick.test.exception and "unexpected error" not in sick.words(), sick.words()


def test_a_run_that_points_outside_the_allowed_folders_shows_no_image(runs, open_page):
    config = runs / "recall" / "config.yaml"
    written = lab.runs.open(config.parent).config.as_yaml()
    section = written[: written.index("augmentation:")]
    config.write_text(written.replace(section, "data:\n  name: class_folders\n  root: /etc\n"))
    # or what another test has read would be shown
    (runs / "recall" / "embeddings" / "test.safetensors").touch()
    for page in ("browse", "map", "inspect", "two_stage"):
        shown = open_page(page, run="recall")
        assert "may read" in shown.words() and not shown.test.exception, f"{page}: {shown.words()}"


def test_a_tab_that_is_behind_is_told_and_nothing_breaks(no_runs, open_page, monkeypatch):
    monkeypatch.setattr(Queue, "ensure_worker", lambda self: None)
    for name in "ab":
        Queue(no_runs).add(lab.runs.create(RunConfig.of(), no_runs, name))
    one, other = open_page("train"), open_page("train")
    one.test.button(key="remove b").click().run()
    other.test.button(key="up b").click().run()
    assert not other.test.exception and "is not in the queue" in " ".join(
        t.value for t in other.test.toast
    )
    assert Queue(no_runs).names == ("a",)


@pytest.mark.parametrize(
    ("name", "key", "event", "value"),
    [
        ("grid", "grid", "chosen", {"ids": 3, "count": 1}),
        ("grid", "grid", "chosen", {"ids": [[], {}, None, 10**30], "count": 1}),
        ("browse", "results", "picked", {"id": "x"}),
        ("browse", "results", "picked", [1]),
        ("map", "map drawn", "picked", {}),
        ("map", "map drawn", "lassoed", {"bits": 3}),
    ],
)
def test_a_report_that_no_component_sends_is_a_sentence(runs, open_page, name, key, event, value):
    page = open_page(name, run="recall", split="test").tell(key, event, value)
    assert not page.test.exception and "unexpected error" not in page.words()
    assert (
        isinstance(value.get("ids") if isinstance(value, dict) else None, list)
        or "reload the page" in page.words()
    )
