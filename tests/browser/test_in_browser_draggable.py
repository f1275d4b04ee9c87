"""The dragged controls in a real page, driven by mouse and by keys, on a model that only keeps what it is told."""

from __future__ import annotations

import base64

import pytest

from lab.figures import live_page
from lab.widgets._panel import HERE, Dots

pytestmark = pytest.mark.browser

MODEL = """
const state = STATE, listeners = {};
window.state = state;
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  on: (event, act) => (listeners[event] ??= []).push(act),
  off: () => {},
  save_changes: () => Object.values(listeners).flat().forEach((act) => act()),
};
widget.render({ model, el: document.getElementById("here") });
"""


class Strip:
    """What figures of lists use on their pages."""

    _esm, _css = f"{live_page.script()}\nexport default rankscopeLive.strip;", HERE / "drag.css"


@pytest.fixture
def mount(tab):
    """Put one of our widgets on a page of its own."""

    def put(widget, **state):
        page = tab("about:blank")
        script = widget._esm.read_text() if hasattr(widget._esm, "read_text") else str(widget._esm)
        css = widget._css.read_text() if hasattr(widget._css, "read_text") else str(widget._css)
        page.set_content(f"<style>{css}</style><div id='here'></div>")
        page.add_script_tag(
            content=f'import widget from "data:text/javascript;base64,{base64.b64encode(script.encode()).decode()}";\n'
            + MODEL.replace("STATE", str(state).replace("True", "true").replace("False", "false")),
            type="module",
        )
        page.wait_for_selector(".grip")
        return page

    return put


def said(page, name):
    return page.evaluate(f"window.state.{name}")


def test_scores_move_by_keys_and_by_mouse(mount, drag):
    page = mount(Strip, scores=[0.9, 0.5], pattern="+-")
    grip = page.get_by_role("slider", name="P1, same label")
    grip.focus()
    page.keyboard.press("ArrowLeft")
    assert said(page, "scores") == [0.89, 0.5]
    page.keyboard.press("Shift+ArrowLeft")
    assert said(page, "scores") == [0.84, 0.5]
    page.keyboard.press("End")
    assert said(page, "scores") == [1, 0.5]
    page.keyboard.press("PageDown")
    assert (
        page.evaluate("document.activeElement.getAttribute('aria-label')") == "N1, different label"
    )
    page.keyboard.press("Enter")
    assert said(page, "pattern") == "++"
    before = said(page, "scores")
    drag(page, page.get_by_role("slider", name="P2, same label"), 80, 0)
    assert said(page, "scores")[1] > before[1] + 0.02 and said(page, "scores")[0] == before[0]


def test_items_come_and_go_but_one_positive_stays(mount):
    page = mount(Strip, scores=[0.9, 0.5], pattern="+-")
    page.get_by_role("button", name="+ different label").click()
    assert said(page, "pattern") == "+--" and len(said(page, "scores")) == 3
    page.get_by_role("slider", name="P1, same label").focus()
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    assert said(page, "pattern") == "+--", "the last positive can be neither removed nor turned"


def test_points_move_change_class_and_add(mount, drag):
    page = mount(Dots, x=[0, 1, 4], y=[0, 0, 3], classes="AAB", fixed=False)
    grip = page.get_by_role("slider", name="point 1 of class A")
    grip.focus()
    page.keyboard.press("ArrowUp")
    assert said(page, "y")[0] > 0 and said(page, "x") == [0, 1, 4]
    page.keyboard.press("Enter")
    assert said(page, "classes") == "BAB"
    page.get_by_role("button", name="add").click()
    assert len(said(page, "x")) == 4 and len(said(page, "classes")) == 4
    drag(page, page.get_by_role("slider", name="point 2 of class A"), -30, -60)
    assert said(page, "x")[1] < 1 and said(page, "y")[1] > 0
