"""A threshold in a real browser: the line is dragged and moved by keys, the worst class opens Browse, a stranger is
unknown."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import lab.runs
import lab.threshold
from lab.__main__ import main

pytestmark = pytest.mark.browser


def test_the_line_moves_the_rates_and_a_stranger_is_unknown(dashboard, tab, tmp_path, capsys):
    page = tab(f"{dashboard.url}/threshold?run=recall")
    line, readout = page.get_by_role("slider", name="Threshold"), page.locator(".threshold .readout")
    expect(page.get_by_role("heading", name="Classes that this threshold serves worst")).to_be_visible()
    first = readout.inner_text()
    assert re.fullmatch(r"At -?[\d.]+: false accepts [\d.]+ %, false rejects [\d.]+ %", first)
    box = line.locator(".knob").bounding_box()
    page.mouse.move(box["x"] + 7, box["y"] + 7)
    page.mouse.down()
    page.mouse.move(box["x"] - 120, box["y"] + 7, steps=8)
    dragged = readout.inner_text()
    assert dragged != first, "the rates follow the hand, before the server has heard of it"
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"at="))
    by_hand = page.url
    line.focus()
    page.keyboard.press("End")
    expect(readout).to_have_text(re.compile(r"false accepts 0\.00 %"))
    page.wait_for_url(lambda url: "at=" in url and url != by_hand)
    expect(line).to_be_focused()
    page.get_by_role("button", name="Keep this threshold").click()
    expect(page.get_by_text("Kept with recall")).to_be_visible()
    kept = lab.threshold.stored(lab.runs.open(dashboard.runs / "recall"))
    page.get_by_role("link", name=re.compile("Browse images of")).click()
    expect(page).to_have_url(re.compile(r"/browse\?.*queries=class"))
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "stranger.png")
    words = ["query", str(dashboard.runs / "recall"), str(tmp_path / "stranger.png"), "--unknown", "--json"]
    assert main(words) == 0 and kept.value > 0.99
    assert json.loads(capsys.readouterr().out)[0]["class"] == "unknown"
