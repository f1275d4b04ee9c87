"""A figure and its kernel over a line that loses letters: the newest value gets drawn, and nothing is ever blank.

JupyterLab is left out, so that the test decides what is lost: the page runs the widget's own module and plotly, and the
kernel's side is the widget's own class.
"""

from __future__ import annotations

import base64
import json
import random
from collections import deque
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from lab.widgets import show
from lab.widgets._drawing import HERE, library

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

PAGE = "<body data-jp-theme-light='true'><button>a hand</button><div id='here' style='width: 800px'></div></body>"
BROWSER_SIDE = """
const listeners = { "change:value": new Set(), "msg:custom": new Set() };
const packed = Uint8Array.from(atob(PACKED), (letter) => letter.charCodeAt(0));
const post = {
  value: FIRST,
  get: () => post.value,
  on: (name, call) => listeners[name].add(call),
  off: (name, call) => listeners[name].delete(call),
};
window.deliver = ({ letter, answer }) => {
  if (answer) listeners["msg:custom"].forEach((call) => call(answer));
  else if (letter !== post.value) {
    post.value = letter;
    listeners["change:value"].forEach((call) => call());
  }
};
const models = { post, library: { get: () => packed } };
const model = {
  get: (name) => (name === "inks" ? {} : `IPY_MODEL_${name}`),
  send: (content) => window.say(content),
  widget_manager: { get_model: async (name) => models[name] },
};
const here = document.getElementById("here");
let begun = false;
window.blank = 0;
const look = () => {
  const curves = here.querySelectorAll("path.js-line").length;
  begun ||= curves > 0;
  if (begun && !curves) window.blank += 1;
  requestAnimationFrame(look);
};
look();
widget.render({ model, el: here });
"""


class Line:
    """The live figure `two_sigmoids` in a page; `loses` decides what of the traffic between page and kernel is lost.

    told: what the page has said, lost or not.
    """

    def __init__(self, page: Page):
        self.live, self.page = show("two_sigmoids"), page
        self.live.widget()
        self.drawing = self.live._drawing
        self.loses: Callable[[dict], bool] = lambda _: False
        self.told: list[dict] = []
        self._said: deque[dict] = deque()
        self._sent: deque[dict] = deque()
        post = self.drawing.post
        post.send = lambda content: self._sent.append({"answer": content})
        post.send_state = lambda key: self._sent.append({"letter": getattr(post, key)})  # also called by each change
        page.set_content(PAGE)
        page.expose_function("say", lambda content: self._said.append(content))
        packed = base64.b64encode(library().packed).decode()
        ours = BROWSER_SIDE.replace("PACKED", f"'{packed}'").replace("FIRST", json.dumps(post.value))
        module = (HERE / "drawing.js").read_text(encoding="utf-8").replace("export default", "const widget =")
        page.add_script_tag(content=module + ours, type="module")

    def carry(self) -> None:
        """Bring over what waits on either side, but for what is lost."""
        self.page.evaluate("0")  # playwright hands over what the page has said
        while self._said or self._sent:
            if self._said:
                content = self._said.popleft()
                self.told.append(content)
                if not self.loses(content):
                    self.drawing._heard(None, content, [])
            if self._sent:
                content = self._sent.popleft()
                if not self.loses(content):
                    self.page.evaluate("content => window.deliver(content)", content)

    def shows(self, tau1: float) -> bool:
        """Whether the page has drawn the curve of this temperature."""
        self.carry()
        wanted = [float(y) for y in type(self.live.figure)(tau1=tau1).figure().data[1].y]
        now = self.page.evaluate("here.querySelector('.js-plotly-plot')?.calcdata?.[1].map((point) => point.y)")
        return now is not None and now == pytest.approx(wanted, abs=1e-9)

    def at_rest(self) -> bool:
        """Whether the page has asked, showed the newest letter already and was told so: then it asks no more."""
        self.carry()
        return bool(self.told) and self.told[-1] == {"shown": self.drawing._number}

    def let_go(self) -> None:
        """What a page notices when a hand leaves a slider."""
        self.page.dispatch_event("button", "pointerup", {"bubbles": True})


@pytest.fixture
def line(tab, wait_for):
    made = Line(tab("about:blank"))
    wait_for(made.at_rest, "the first picture")
    yield made
    assert made.page.evaluate("window.blank") == 0, "the figure was blank for a moment"


def lost(times: int, which: Callable[[dict], bool]) -> Callable[[dict], bool]:
    """Lose so many of the letters that `which` picks, then none."""
    left = [times]

    def loses(content: dict) -> bool:
        if not which(content) or not left[0]:
            return False
        left[0] -= 1
        return True

    return loses


def test_the_last_value_is_drawn_though_its_letter_was_lost_twice(line, wait_for):
    line.live.set(tau1=2.0)
    wait_for(lambda: line.shows(2.0), "an ordinary letter")
    line.loses = lost(2, lambda content: "letter" in content)
    line.live.set(tau1=5.0)
    line.carry()
    assert line.shows(2.0) and not line.shows(5.0), "it was lost"
    line.let_go()
    wait_for(lambda: line.shows(5.0), "the last value")


def test_a_slider_dragged_over_a_bad_line_ends_at_its_last_value(line, wait_for):
    draws = random.Random(4)
    line.loses = lambda _: draws.random() < 0.4
    for turn in range(40):
        line.live.set(tau1=0.5 + turn / 10)
        line.carry()
    line.live.set(tau1=7.0)
    line.let_go()
    wait_for(lambda: line.shows(7.0), "the last value")
