"""An address opens the page that it names, also one that somebody mistyped, or that is late."""

import pkgutil

import pytest
from streamlit.testing.v1 import AppTest

import app.views
from app.shared import address

PAGES = [one.name for one in pkgutil.iter_modules(app.views.__path__) if one.ispkg]
CHOICES = (
    "also", "anchors", "beside", "by", "colour", "columns", "compared", "curves", "draws", "filter", "fold", "group",
    "item", "k", "knobs", "lasso", "map", "near", "order", "page", "part", "probes", "query", "rival", "scores",
    "shown", "split", "state", "step", "tag", "view", "why", "zoom",
)  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_bad_address_breaks_no_page(name, runs, open_page):
    for bad in ('{"<b>": 5', "9" * 30):
        page = open_page(name, run="recall", watched="recall", **dict.fromkeys(CHOICES, bad))
        assert not page.test.exception and page.words()


def small_page() -> None:
    """Two choices; the second is still to come while the session says so."""
    import streamlit as st

    from app.shared import page_frame

    @page_frame.page("Colours", "Two of them.")
    def draw() -> None:
        page_frame.choice("Sky", ["grey", "blue"], key="sky", link="sky")
        if st.session_state.get("waiting"):
            address.keep_rest()
        else:
            page_frame.choice("Sea", ["grey", "green"], key="sea", link="sea")

    draw()


@pytest.fixture
def ask():
    """Ask for the small page, at an address and after choices; what stands there then, and its address."""
    test = AppTest.from_function(small_page)

    def run(at: dict | None = None, **chosen) -> tuple[tuple, dict]:
        for key, value in chosen.items():
            test.session_state[key] = value
        if at is not None:
            test.query_params.clear()
            test.query_params.update(at)
        test.run()
        assert not test.exception
        stands = {
            key: test.session_state[key] for key in ("sky", "sea") if key in test.session_state
        }
        return (stands["sky"], stands.get("sea")), {
            name: test.query_params[name] for name in test.query_params
        }

    return run


def test_a_click_that_outran_the_answer_undoes_nothing(ask):
    assert ask() == (("grey", "grey"), {})
    assert ask(sky="blue") == (("blue", "grey"), {"sky": "blue"})
    assert ask({}, sea="green") == (("blue", "green"), {"sky": "blue", "sea": "green"}), (
        "it came from before both"
    )
    assert ask({"sky": "blue"}) == (("blue", "green"), {"sky": "blue", "sea": "green"})
    ask()
    assert ask({}) == (("grey", "grey"), {}), (
        "the browser stood at the newest: now somebody went back"
    )


def test_what_is_still_to_come_takes_its_part_of_an_old_address(ask):
    assert ask({"sea": "green"}, waiting=True) == (("grey", None), {"sea": "green"})
    assert ask(sky="blue") == (("blue", None), {"sea": "green", "sky": "blue"})
    assert ask({"sea": "green"}) == (("blue", None), {"sea": "green", "sky": "blue"})
    assert ask({"sea": "green"}, waiting=False) == (
        ("blue", "green"),
        {"sea": "green", "sky": "blue"},
    )
