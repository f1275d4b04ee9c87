"""Judging on the Check page in a real browser: by keys alone, quicker than the server answers, and taken back."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import expect
from test_in_browser_accessibility import settled, violations

from lab.runs import marks
from lab.runs.marks import Mark

pytestmark = pytest.mark.browser

LOSE = """() => {  // the next answer is lost on its way to the server
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (sent) {
    if (window.lost || !new TextDecoder().decode(sent).includes("told")) return send.call(this, sent);
    window.lost = true;
  };
}"""


def test_images_are_judged_by_keys_and_undone(serve, tab, train_tiny, pictures, tmp_path, wait_for):
    mine = shutil.copytree(pictures, tmp_path / "pictures")
    for at in range(3):
        shutil.move(mine / f"class0{at}" / "3.png", mine / f"class1{at}" / "moved.png")
    data = {"name": "class_folders", "root": str(mine), "validation": 0.3, "test": 0.4}
    run = train_tiny(
        tmp_path / "runs", "planted", data=data, sampler={"batch_size": 8, "per_class": 2}
    )
    root, images = run.path.parent, run.dataset()
    page = tab(f"{serve(root).url}/check?show=labels")
    cards, shown = (
        page.locator(".judging .all .card"),
        page.locator(".judging .panel .query-line").first,
    )
    expect(cards.nth(2)).to_be_visible()
    settled(page)
    expect(page.get_by_role("button", name="1 Keep, it is right")).to_be_visible()
    assert not violations(page, "label errors")
    page.set_viewport_size({"width": 1280, "height": 900})
    settled(page)

    keys = [shown.inner_text()]
    for key in "13":  # without waiting for the server
        page.keyboard.press(key)
        expect(shown).not_to_have_text(keys[-1])
        keys.append(shown.inner_text())
    expect(page.get_by_role("status").filter(has_text="dropped")).to_be_attached()
    items = [images.keys.index(key) for key in keys]
    wait_for(
        lambda: marks.read(root, images) == {items[0]: Mark("keep"), items[1]: Mark("drop")},
        "both marks",
    )
    settled(page)
    page.evaluate(LOSE)
    page.keyboard.press("u")
    expect(shown).to_have_text(keys[1])
    wait_for(lambda: marks.read(root, images) == {items[0]: Mark("keep")}, "undoing, told again")
    assert page.evaluate("window.lost")
    page.keyboard.press("/")
    page.keyboard.type("class07")
    page.keyboard.press("Enter")
    wait_for(
        lambda: marks.read(root, images).get(items[1]) == Mark("relabel", "class07"),
        "another class",
    )
    settled(page)

    cards.nth(0).focus()
    page.keyboard.press("x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+X")
    expect(page.get_by_role("button", name="3 Drop all 2")).to_be_visible()
    page.keyboard.press("3")
    wait_for(
        lambda: list(marks.read(root, images).values()).count(Mark("drop")) == 2, "two at once"
    )
    settled(page)
    page.reload()
    expect(page.locator(".judging .said")).to_have_count(2)
