"""What a machine can tell of accessibility: axe-core finds nothing on any page, light or dark, wide or narrow."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest
from playwright.sync_api import Page, expect

import lab.runs

pytestmark = pytest.mark.browser

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
LOOKS = ((1280, "light"), (390, "dark"))
STREAMLITS = {"presentation-role-conflict"}  # its file uploader, minor
FIND = """rules => axe.run(document, { resultTypes: ["violations"], rules }).then(found => found.violations.map(
  one => [one.id, one.impact, one.nodes.map(node => node.html.slice(0, 160) + " " + node.failureSummary)]))"""
STILL = """() => {
  const still = () => document.querySelector("[data-testid='stApp']").dataset.testScriptState === "notRunning"
    && !document.querySelector("[data-stale='true']")
    && !document.getAnimations().some(
      one => one.playState === "running" && Number.isFinite(one.effect.getComputedTiming().endTime));
  const frame = () => new Promise(requestAnimationFrame);
  return frame().then(frame).then(still).then(first => first && frame().then(frame).then(still));
}"""
"""The page's script has ended, nothing that it drew is faded, and no colour is on its way from one theme to the other;
what turns for ever may turn. Looked at twice, for a slow browser draws some frames after the script's end."""
PAGES = {
    "home": ("", ".st-key-doors"),
    "browse": ("browse", ".query-title"),
    "asked": (
        "browse?query={0}&click=why&pair={1}&like={2}&unlike={3}&part=0.1,0.1,0.6,0.7&rival=rerank:contextual",
        ".regions canvas",
    ),
    "check": ("check", "[data-testid='stDataFrame']"),
    "two maps": ("map?split=validation&beside=step:5&view=one", ".legend .entry"),
    "images": ("grid", ".card"),
    "inspect": ("inspect", ".query-title"),
    "figures": ("figures", ".js-plotly-plot"),
    "watch": ("watch", ".js-plotly-plot"),
    "runs": ("runs", "[data-testid='stDataFrame']"),
    "train": ("train?settings=yes", "[data-testid='stTabs']"),
    "two-stage": ("two_stage", ".query-title"),
}


def settled(page: Page) -> None:
    """Nothing is being drawn any more."""
    expect(page.locator(".changes").filter(has_text=re.compile(r"^\d+ s$"))).to_have_count(0)
    page.wait_for_function(STILL, polling=200)


def violations(page: Page, name: str) -> list[str]:
    """What axe finds on a page that is drawn, in both looks."""
    findings = []
    page.evaluate(AXE)
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        background = "rgb(252, 251, 249)" if scheme == "light" else "rgb(21, 23, 26)"
        expect(page.locator("[data-testid='stApp']")).to_have_css("background-color", background)
        settled(page)
        rules = {"label-content-name-mismatch": {"enabled": True}}
        found = [one for one in page.evaluate(FIND, rules) if one[0] not in STREAMLITS]
        findings += [f"{name}, {width} pixels, {scheme}: {one}" for one in found]
    return findings


def test_axe_finds_nothing_serious(dashboard, tab):
    """One walk in one tab over all pages but that of label errors, which is looked at where it is judged."""
    items = lab.runs.open("recall", dashboard.runs).embeddings("test").items.tolist()
    page, findings = tab(dashboard.url), []
    for name, (path, drawn) in PAGES.items():
        page.goto(f"{dashboard.url}/{path.format(*items)}")
        expect(page.locator(drawn).first).to_be_visible()
        findings += violations(page, name)
    assert not findings, "\n".join(findings)
