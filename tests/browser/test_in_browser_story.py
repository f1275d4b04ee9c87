"""The whole story in a real browser: configure, look first, queue two, watch, close the tab, restart the server, find
the run again, stop one, browse, compare."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from test_in_browser_accessibility import settled

from lab.launchers.background.detached import kill
from lab.runs import Run
from lab.runs.folder import working

pytestmark = pytest.mark.browser


def field(page: Page, label: str, value: str) -> None:
    """Type into a number or text field of the open tab, by how its label begins, and commit it."""
    box = page.get_by_label(re.compile(f"^{re.escape(label)}")).locator("visible=true").first
    box.fill(value)
    box.press("Enter")
    settled(page)
    expect(box).to_have_value(value)


@pytest.fixture
def no_run_left(tmp_path):
    yield
    for config in (tmp_path / "runs").glob("*/config.yaml"):
        if working(Run(config.parent)):
            kill(Run(config.parent))


def test_from_a_form_to_a_comparison(serve, tab, train_tiny, tmp_path, no_run_left, wait_for):
    runs = tmp_path / "runs"
    train_tiny(runs, "baseline", loss="contrastive")
    server = serve(runs)
    page = tab(f"{server.url}/train?images=filled&settings=yes&yaml=yes")
    expect(page.get_by_role("heading", name="Train")).to_be_visible()

    page.get_by_role("tab", name="Data").click()
    field(page, "Classes kept for testing", "0.04")
    field(page, "Classes kept for validation", "0.04")
    field(page, "Image size (pixels)", "32")
    page.get_by_role("tab", name="Batches").click()
    field(page, "Batch size (images)", "32")
    page.get_by_role("tab", name="Training", exact=True).click()
    field(page, "Steps", "20000")
    expect(page.get_by_text("--training.steps 20000")).to_be_visible()

    page.get_by_role("button", name="Check first").click()
    for check in ("data", "memory", "pace"):
        expect(page.locator("strong", has_text=check).first).to_be_visible()

    box = page.get_by_label("Steps", exact=True).locator("visible=true").first
    box.fill("-1")  # and no Enter: what is wrong is said while it is typed
    expect(page.get_by_role("heading", name="Not yet complete")).to_be_visible()
    field(page, "Steps", "20000")

    field(page, "Name of the run", "long")
    page.get_by_role("button", name="Start").click()
    wait_for(lambda: (runs / "long" / "config.yaml").is_file(), "queueing the first run")
    expect(page).to_have_url(re.compile("watch.*watched=long"))
    # Two networks as small as these may train at the same time, so the third is the one that waits.
    for name, steps in {"beside": "20000", "short": "10"}.items():
        page.get_by_role("link", name="Train", exact=True).first.click()
        page.get_by_role("tab", name="Training", exact=True).click()
        field(page, "Steps", steps)
        field(page, "Name of the run", name)
        page.get_by_role("button", name="Start").click()
        wait_for((runs / name / "config.yaml").is_file, f"queueing {name}")
    expect(page.get_by_text(re.compile(r"^\d\. short"))).to_be_visible()

    long, short = Run(runs / "long"), Run(runs / "short")
    wait_for(lambda: long.status.get("step", 0) > 0, "the first step")
    worker = long.snapshot().worker
    page.context.close()
    server.stop()
    reached = long.status["step"]
    assert worker.alive, "a run outlives the tab and the server"
    server.start().wait()

    again = tab(f"{server.url}/watch?watched=long")
    expect(again.get_by_text(re.compile(r"Training, step \d+ of 20000"))).to_be_visible()
    wait_for(lambda: long.status["step"] > reached, "going on without a server")
    assert long.snapshot().worker == worker
    again.get_by_role("button", name="Stop").last.click()
    wait_for(lambda: long.state == "stopped", "stopping")
    expect(
        again.get_by_test_id("stMainBlockContainer").get_by_text(re.compile("Stopped after step"))
    ).to_be_visible()
    wait_for(lambda: short.state == "finished", "the run that waited, after the first had to stop")

    again.goto(f"{server.url}/browse?run=baseline&rival=run:short")
    expect(again.locator(".query-title")).to_be_visible()
    headings = again.locator(".section.normal h3")
    expect(headings.nth(0)).to_have_text("baseline")
    expect(headings.nth(1)).to_have_text("short")
    assert re.fullmatch(r"=|[▲▼] [\d,]+|▲ new", again.locator(".move").first.inner_text())

    again.goto(f"{server.url}/runs?runs=baseline,short")
    expect(again.get_by_role("heading", name="2 runs compared")).to_be_visible()
    expect(again.get_by_role("link", name="Their curves")).to_be_visible()
