"""A run that is moved away while a page shows it: the page says so, the address stays, and the run comes back."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

import app.views
import lab.runs

VIEWS = Path(app.views.__path__[0])
PAGES = [module.name for module in pkgutil.iter_modules([str(VIEWS)]) if module.ispkg]
OF_A_RUN = [
    name for name in PAGES if "choose_run(" in (VIEWS / name / "page.py").read_text("utf-8")
]
"""Found, so that a new page is tried, too."""


def test_pages_of_a_run_are_found():
    assert {"browse", "map", "grid", "inspect", "check", "threshold", "two_stage"} <= set(OF_A_RUN)


@pytest.mark.parametrize(
    ("name", "of"), [*((name, "run") for name in OF_A_RUN), ("watch", "watched")]
)
def test_it_is_said_and_not_replaced(runs, open_page, tmp_path, name, of):
    page = open_page(name, **{of: "smooth"})
    assert page.calm and page.test.query_params[of] == "smooth", page.words()
    address = dict(page.test.query_params)
    (runs / "smooth").rename(tmp_path / "away")
    for _ in range(2):
        page.run()
        assert "The run smooth is not in this folder" in page.words() and page.calm
        assert page.test.query_params == address, "the address stays"
    assert not page.test.get("bidi_component") or "recall" not in str(
        page.test.selectbox(key=f"{of} instead").value
    )
    (tmp_path / "away").rename(runs / "smooth")
    page.run()
    assert page.calm and "not in this folder" not in page.words()
    assert page.test.query_params == address and page.test.session_state[of] == "smooth"


def test_another_run_is_shown_when_somebody_chooses_it(runs, open_page, tmp_path):
    page = open_page("browse", run="smooth")
    (runs / "smooth").rename(tmp_path / "away")
    page.run()
    page.test.selectbox(key="run instead").select("recall").run()
    assert (
        page.calm
        and page.test.query_params["run"] == "recall"
        and "not in this folder" not in page.words()
    )
    (tmp_path / "away").rename(runs / "smooth")
    page.run()
    assert page.test.query_params["run"] == "recall", "a choice wins"


def test_the_only_run(runs, open_page, tmp_path):
    (runs / "recall").rename(tmp_path / "recall")
    page = open_page("browse", run="smooth")
    (runs / "smooth").rename(tmp_path / "away")
    page.run()
    assert (
        "The run smooth is not in this folder" in page.words()
        and page.test.query_params["run"] == "smooth"
    )
    (tmp_path / "away").rename(runs / "smooth")
    assert page.run().calm and "not in this folder" not in page.words()


def test_without_the_run_in_the_address(runs, open_page, tmp_path):
    """As after a click on the menu: the session knows the run, the address does not."""
    page = open_page("grid", run="smooth")
    (runs / "smooth").rename(tmp_path / "away")
    page.test.query_params.clear()
    page.test.session_state["_address"] = {}
    for _ in range(3):
        page.run()
        assert "The run smooth is not in this folder" in page.words(), page.words()
    (tmp_path / "away").rename(runs / "smooth")
    page.run()
    assert page.calm and page.test.query_params["run"] == "smooth"


@pytest.mark.parametrize(("name", "of"), [("browse", "rival"), ("map", "beside")])
def test_a_run_that_is_compared_with(runs, open_page, tmp_path, name, of):
    page = open_page(name, run="recall", split="test", **{of: "run:smooth"})
    assert page.calm and page.test.query_params[of] == "run:smooth", page.words()
    (runs / "smooth").rename(tmp_path / "away")
    page.run()
    assert (
        "run:smooth" in page.words().replace("\\", "")
        and page.test.query_params[of] == "run:smooth"
    )
    (tmp_path / "away").rename(runs / "smooth")
    page.run()
    assert page.calm and page.test.query_params[of] == "run:smooth"
    assert page.test.session_state[of] == "run:smooth"


def test_selected_runs(runs, open_page, tmp_path):
    page = open_page("runs", runs="recall,smooth")
    assert page.calm and page.test.subheader[0].value == "2 runs compared", page.words()
    (runs / "smooth").rename(tmp_path / "away")
    for _ in range(2):
        page.run()
        assert "The run smooth is not in this folder" in page.words()
        assert set(page.test.query_params["runs"].split(",")) == {"recall", "smooth"}
    (tmp_path / "away").rename(runs / "smooth")
    page.run()
    assert "not in this folder" not in page.words()
    assert set(page.test.query_params["runs"].split(",")) == {"recall", "smooth"}
    assert page.test.subheader[0].value == "2 runs compared"


def test_runs_beside_the_one_that_is_watched(runs, open_page, tmp_path):
    page = open_page("watch", watched="recall", also="smooth")
    assert page.calm and page.test.session_state["also"] == ["smooth"], page.words()
    (runs / "smooth").rename(tmp_path / "away")
    page.run()
    assert "further runs smooth" in page.words() and page.test.query_params["also"] == "smooth"
    (tmp_path / "away").rename(runs / "smooth")
    page.run()
    assert page.test.session_state["also"] == ["smooth"] and "further runs" not in page.words()
    assert lab.runs.open("smooth", runs).state == "finished"
