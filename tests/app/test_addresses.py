"""An address that somebody mistyped, or that another version wrote, opens every page."""

import pkgutil

import pytest

import app.views

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
