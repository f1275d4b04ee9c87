"""Damaged folders, stale tabs, second users: every other run stays usable."""

from __future__ import annotations

import errno

import pytest
from PIL import Image

import lab.data
import lab.runs
from app.shared import page_frame, settings
from lab.runs import RunConfig, management
from lab.runs.launching.queue import Queue

JUNK = b'\x00\xff{"state": "running", "step": "many", "values": {"r@1": []}}\n{"kind": "stepped", "step": null}\n'


def spoil(pattern: str):
    def damage(folder):
        found = list(folder.glob(pattern))
        assert found, pattern
        for path in found:
            path.write_bytes(JUNK)

    return damage


DAMAGES = {
    "configuration": spoil("config.yaml"),
    "everything": spoil("**/*.*"),
}


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
    assert not other.test.exception and "is not in the queue" in " ".join(t.value for t in other.test.toast)
    assert Queue(no_runs).names == ("a",)


def test_two_users_may_delete_the_same_run(runs, open_page):
    first, second = (open_page("runs", runs="recall") for _ in range(2))
    next(b for b in first.test.button if b.label == "Move to trash").click().run()
    next(b for b in second.test.button if b.label == "Move to trash").click().run()
    assert not second.test.exception and "did not expect" not in second.words()
    assert second.test.dataframe[0].value["run"].tolist() == ["smooth"]
    assert len(management.trashed(runs)) == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full: free some space."),
        (FileNotFoundError(errno.ENOENT, "No such file", "/gone/it"), "/gone/it is not there"),
    ],
)
def test_what_the_system_refuses_is_a_sentence_with_the_file(monkeypatch, error, words):
    shown = []
    monkeypatch.setattr(page_frame.st, "error", shown.append)

    def draw():
        raise error

    page_frame.guarded(draw)()
    assert shown and shown[0].replace("\\", "").startswith(words)
