"""Damaged folders, stale tabs, second users, open addresses: every other run stays usable, and nobody walks in."""

from __future__ import annotations

import pytest
import streamlit as st
from PIL import Image

import lab.data
import lab.runs
from app import access
from app.shared import settings
from lab.runs import RunConfig, shelf
from lab.runs.launching.queue import Queue

JUNK = b'\x00\xff{"state": "running", "step": "many", "values": {"r@1": []}}\n{"kind": "stepped", "step": null}\n'


def spoil(pattern: str):
    def damage(folder):
        found = list(folder.glob(pattern))
        assert found, pattern
        for path in found:
            path.write_bytes(JUNK)

    return damage


def cut(pattern: str):
    def damage(folder):
        for path in folder.glob(pattern):
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


DAMAGES = {
    "configuration": spoil("config.yaml"),
    "records": spoil("*.json*"),
    "scores": spoil("scores/*"),
    "tensors": cut("*/*.safetensors"),
    "everything": spoil("**/*.*"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_leaves_the_others_usable(runs, open_page, damage):
    DAMAGES[damage](runs / "recall")
    table = open_page("runs")
    assert table.calm, table.words()
    assert "smooth" in table.test.dataframe[0].value["run"].tolist()
    for page, link in (("watch", {"watched": "smooth"}), ("browse", {"run": "smooth"}), ("runs", {"runs": "smooth"})):
        shown = open_page(page, **link)
        assert shown.calm, f"{page}: {shown.words()}"
    if damage == "configuration":
        assert "could not be read" in " ".join(e.label for e in table.test.expander)
    else:
        sick = open_page("watch", watched="recall")
        assert not sick.test.exception and "did not expect" not in sick.words(), sick.words()


def test_a_run_that_points_outside_the_allowed_folders_shows_no_image(runs, open_page):
    config = runs / "recall" / "config.yaml"
    written = lab.runs.open(config.parent).config.as_yaml()
    section = written[: written.index("augmentation:")]
    config.write_text(written.replace(section, "data:\n  name: class_folders\n  root: /etc\n"))
    (runs / "recall" / "embeddings" / "test.safetensors").touch()  # or what another test has read would be shown
    for page in ("browse", "map", "inspect", "two_stage"):
        shown = open_page(page, run="recall")
        assert "may read" in shown.words() and not shown.test.exception, f"{page}: {shown.words()}"


def test_a_manifest_may_not_lead_outside_the_allowed_folders(tmp_path, monkeypatch):
    for name in ("mine/a", "mine/b", "theirs/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / f"{name}.png")
    listed = tmp_path / "mine" / "list.csv"
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "mine"))
    for third in ("../theirs/c.png", str(tmp_path / "theirs" / "c.png")):
        listed.write_text(f"path,label\na.png,x\nb.png,x\n{third},y\n")
        with pytest.raises(ValueError, match="theirs.*may read"):
            settings.confine_images(lab.data.create("manifest", path=str(listed)))
    listed.write_text("path,label\na.png,x\nb.png,y\n")
    assert len(settings.confine_images(lab.data.create("manifest", path=str(listed)))) == 2


def test_a_tab_that_is_behind_is_told_and_nothing_breaks(no_runs, open_page, monkeypatch):
    monkeypatch.setattr(Queue, "ensure_worker", lambda self: None)
    for name in "ab":
        Queue(no_runs).add(lab.runs.create(RunConfig.of(), no_runs, name))
    one, other = open_page("train"), open_page("train")
    one.test.button(key="remove b").click().run()
    other.test.button(key="up b").click().run()
    assert not other.test.exception and "does not wait" in " ".join(t.value for t in other.test.toast)
    assert Queue(no_runs).names == ("a",)


def test_two_users_may_delete_the_same_run(runs, open_page):
    first, second = (open_page("runs", runs="recall") for _ in range(2))
    next(b for b in first.test.button if b.label == "Move to trash").click().run()
    next(b for b in second.test.button if b.label == "Move to trash").click().run()
    assert not second.test.exception and "did not expect" not in second.words()
    assert second.test.dataframe[0].value["run"].tolist() == ["smooth"]
    assert len(shelf.trashed(runs)) == 1


@pytest.mark.parametrize("address", [None, "0.0.0.0", "192.168.1.5", "::"])
def test_an_open_address_asks_for_a_token_however_it_was_started(no_runs, open_page, monkeypatch, address):
    monkeypatch.setenv(access.TOKEN, "")
    known = st.get_option
    monkeypatch.setattr(st, "get_option", lambda name: address if name == "server.address" else known(name))
    monkeypatch.setattr(access, "_served", lambda: True)
    page = open_page("train")
    assert [t.label for t in page.test.text_input] == ["Token"]
    page.test.text_input[0].set_value("guess")
    page.test.button[0].click().run()
    assert page.test.error and len(page.test.text_input) == 1
    page.test.text_input[0].set_value(access.token(address))
    page.test.button[0].click().run()
    assert len(page.test.text_input) > 1


@pytest.mark.parametrize("address", access.LOCAL)
def test_this_machine_alone_needs_no_token(monkeypatch, address):
    monkeypatch.delenv(access.TOKEN, raising=False)
    assert access.token(address) == ""
    monkeypatch.setenv(access.TOKEN, "chosen")
    assert access.token(address) == "chosen"
