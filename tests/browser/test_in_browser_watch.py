"""A run ends while somebody looks at another page: the page says so, and so does the desktop."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import expect

import lab.runs
from lab.runs.folder import FAILED, RUNNING
from lab.runs.writer import Writer

pytestmark = pytest.mark.browser

DESKTOP = """
window.told = [];
window.Notification = class {
  static permission = "default";
  static async requestPermission() { return (this.permission = "granted"); }
  constructor(title, { body }) { window.told.push([title, body]); }
};
"""
"""A desktop that notes what it is told; headless browsers have none."""


def test_an_end_is_told_on_every_page_and_on_the_desktop(dashboard, serve, tab, tmp_path):
    shutil.copytree(dashboard.runs, tmp_path / "runs")
    other = lab.runs.create(
        lab.runs.open("recall", tmp_path / "runs").config, tmp_path / "runs", "live"
    )
    with Writer(other) as writer:
        writer.claim()
        writer.status(RUNNING, phase="training", step=3, steps=10, eta_seconds=60.0)
        page = tab(serve(tmp_path / "runs").url + "/watch?watched=live&also=recall")
        page.add_init_script(DESKTOP)
        page.reload()
        expect(page.get_by_text("to go, until about")).to_be_visible()
        expect(page.get_by_text("Processor")).to_be_visible()
        expect(page.locator(".js-plotly-plot")).to_have_count(2)
        page.get_by_role("button", name="Tell me on the desktop when a run ends").click()
        expect(page.get_by_role("button", name="Stop desktop messages")).to_be_visible()
        page.get_by_role("link", name="Runs", exact=True).click()
        expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        page.get_by_role("link", name="Watch", exact=True).click()
        expect(page.get_by_text("to go, until about")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        assert "/runs" in page.url, "one press leads back"
        writer.status(FAILED, sentence="Out of <b>memory</b>.")
        messages = page.get_by_role("status", name="Runs that have ended")
        expect(messages).to_contain_text("Run live failed. Out of <b>memory</b>.")
        page.wait_for_function("() => window.told.length > 0")
        assert page.evaluate("window.told") == [
            ["live failed", "Run live failed. Out of <b>memory</b>."]
        ]
        messages.get_by_role("button", name="Close the message about live").click()
        expect(messages.get_by_role("link")).to_have_count(0)
