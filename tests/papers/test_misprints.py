"""The page of contradictions against the tables: what two papers print for one row stands there, and so do the sums."""

import itertools
import re
from pathlib import Path

import pytest

from lab.papers.tables import rows

PAGE = Path(__file__).parents[2] / "docs" / "misprints.md"
LINES = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]

SAME = {
    "ms": "multisimilarity", "normalizedsoftmax": "nsoftmax", "normsoftmax": "nsoftmax", "blackboxap": "blackbox",
    "sap": "smoothap", "proxyanchor": "proxyanchor", "intrabatch": "ibc", "softbin*": "softbin",
}  # fmt: skip
"""Other names of a method."""


def method(row):
    """What a row is about, whatever its paper calls it."""
    name = re.sub(r"(, as published| on \S+)$", "", row.method).lower()
    name = re.sub(r"[\s-]", "", name)
    return SAME.get(name, name)


def line(*parts):
    """The one line of the page that holds all of these."""
    (found,) = [one for one in LINES if all(part in one for part in parts)]
    return found


def quoted_twice():
    """Rows that two papers take over for the same network, and the first column in which they differ."""
    for a, b in itertools.combinations([row for row in rows() if row.quoted and row.dim], 2):
        same = (a.data, a.part, a.encoder, a.dim, method(a)) == (b.data, b.part, b.encoder, b.dim, method(b))
        apart = [c for c in a.values if c in b.values and a.values[c] != b.values[c]]
        if same and a.paper != b.paper and apart:
            yield pytest.param(a, b, apart[0], id=f"{a.method}, {a.data}, {a.paper} and {b.paper}")


def test_papers_contradict_each_other():
    assert len(list(quoted_twice())) > 5


@pytest.mark.parametrize(("a", "b", "column"), list(quoted_twice()))
def test_a_row_that_two_papers_print_differently_is_on_the_page(a, b, column):
    numbers = [f"{100 * row.values[column]:.1f}" for row in (a, b)]
    assert any(all(number in one for number in numbers) for one in LINES), (a.told_source, b.told_source, numbers)


def of(source, name, data, column, **also):
    found = [r for r in rows(data=(data,)) if (r.source, r.method) == (source, name)]
    (row,) = [r for r in found if all(getattr(r, key) == value for key, value in also.items())]
    return 100 * row.values[column]
