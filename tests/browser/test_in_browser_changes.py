"""Pages show what changes on the server, ask for nothing while nothing does, and take back no choice."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import Page, expect

import lab.runs
from lab.launchers.background.queue import Queue
from lab.runs.folder import RUNNING
from lab.runs.writer import Writer

pytestmark = pytest.mark.browser

SOON = 30_000
"""Milliseconds that a change may take on a busy machine; about two seconds on a quiet one."""


@pytest.fixture
def folder(dashboard, tmp_path):
    """A folder of a finished run, one that is at work, and one that waits in a queue that stands still."""
    root = shutil.copytree(dashboard.runs, tmp_path / "runs")
    config = lab.runs.open("recall", root).config
    lab.runs.create(config, root, "live")
    Queue(root).pause(True)
    Queue(root).add(lab.runs.create(config, root, "waiting"))
    return root


def requests(page: Page) -> list[object]:
    """Every message that the page sends to Streamlit from now on, in a list that grows."""
    sent: list[object] = []

    def listen(socket) -> None:
        if "_stcore/stream" in socket.url:
            socket.on("framesent", lambda frame: sent.append(frame))

    page.on("websocket", listen)
    return sent


def test_changes_are_shown_and_nothing_is_asked_for_without_one(serve, tab, folder):
    server = serve(folder)
    page = tab(f"{server.url}/train")
    sent = requests(page)
    page.reload()
    queue = page.get_by_text("The queue is paused (1 run waits)")
    expect(queue).to_be_visible()
    # nothing is worked on behind the page
    expect(page.locator(".changes").filter(has_text="s")).to_have_count(0)
    page.wait_for_timeout(2_000)
    before = len(sent)
    page.wait_for_timeout(5_000)
    assert len(sent) == before, "nothing has changed"
    name = page.get_by_label("Name of the run")
    name.fill("mine")
    name.press("Enter")
    with Writer(lab.runs.open(folder / "live")) as writer:
        writer.claim()
        for step in range(1, 6):
            writer.status(RUNNING, phase="training", step=step, steps=10)
            page.wait_for_timeout(300)
        expect(page.get_by_text("live: training, step 5 of 10")).to_be_visible(timeout=SOON)
        expect(name).to_have_value("mine")
        assert len(sent) > before
        server.stop()
        writer.status(RUNNING, phase="training", step=7, steps=10)
        server.start().wait()
        expect(page.get_by_text("live: training, step 7 of 10")).to_be_visible(timeout=SOON)
        writer.status(RUNNING, phase="training", step=8, steps=10)
        expect(page.get_by_text("live: training, step 8 of 10")).to_be_visible(timeout=SOON)


def test_a_page_that_was_left_is_not_brought_back(serve, tab, folder):
    """Each change is asked for while another page takes the place of this one."""
    page = tab(f"{serve(folder).url}/watch?watched=live")
    with Writer(lab.runs.open(folder / "live")) as writer:
        writer.claim()
        for step in range(1, 7):
            writer.status(RUNNING, phase="training", step=step, steps=10)
            expect(page.get_by_text(f"Training, step {step} of 10")).to_be_visible(timeout=SOON)
            writer.status(RUNNING, phase="training", step=step, steps=10, sentence="Goes on.")
            page.wait_for_timeout(step * 200)
            page.get_by_role("link", name="Runs", exact=True).click()
            expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
            page.wait_for_timeout(500)
            expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
            page.get_by_role("link", name="Watch", exact=True).click()
            expect(page.get_by_role("heading", name="Watch", exact=True)).to_be_visible()


def test_a_run_that_comes_back_is_shown(serve, tab, folder):
    page = tab(f"{serve(folder).url}/browse?run=gone")
    expect(page.get_by_text("The run gone is not in this folder")).to_be_visible()
    shutil.copytree(folder / "recall", folder / "gone")
    expect(page.get_by_text("The run gone is not in this folder")).to_have_count(0, timeout=SOON)
    expect(page.locator(".gallery").first).to_be_visible()
