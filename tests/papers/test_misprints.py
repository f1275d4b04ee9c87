"""The page of contradictions against the tables: what two papers print for one row stands there."""

import itertools
import re
from operator import attrgetter
from pathlib import Path

import pytest

from lab.papers.tables import rows

PAGE = Path(__file__).parents[2] / "docs" / "misprints.md"
LINES = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]

SAME = {
    "multisimilarity": "ms", "normalizedsoftmax": "nsoftmax", "normsoftmax": "nsoftmax", "blackboxap": "blackbox",
    "sap": "smoothap", "intrabatch": "ibc", "intrabatchconnections": "ibc", "marginloss": "margin", "xbm": "cont.w/m",
    "tripletsh": "margin", "divideandconquer": "divide", "proxyfew": "proxygml", "metrix+ms": "ms+metrix",
    "metrix+proxynca++": "proxynca+metrix", "learningtorank": "fastap",
}  # fmt: skip
"""Other names of a method."""

EXEMPT = {
    ("001", "NSoftmax", 2048): "its table prints the width of 512 besides, as the others do",
    ("001", "ProxyNCA++", 2048): "its table prints the width of 512 besides",
    ("000", "Cont. w/M", 512): "its table prints the width of 128 besides, as ROADMAP does",
    (
        "002",
        "Proxy Anchor on BN-Inception",
        512,
    ): "the deck prints ResNet-50 besides, as Contextual does",
}
"""Paper, method and width of rows that differ from another paper's row, and why that is no contradiction."""

names = attrgetter("paper", "method", "dim")


def plain(words):
    return re.sub(r"[\s-]", "", words.lower())


def method(row):
    """What a row is about, whatever its paper calls it."""
    name = plain(re.sub(r"(, as published| on \S+)$", "", row.method))
    return SAME.get(name, name)


def quoted_twice():
    """Rows that two papers take over for one method and data set, and the columns in which they differ."""
    for a, b in itertools.combinations([row for row in rows() if row.quoted], 2):
        apart = [c for c in a.values if c in b.values and a.values[c] != b.values[c]]
        if (
            a.paper != b.paper
            and (a.data, a.part, method(a)) == (b.data, b.part, method(b))
            and apart
        ):
            yield a, b, apart


def test_every_exemption_exempts_something():
    assert {names(row) for a, b, _ in quoted_twice() for row in (a, b)} >= set(EXEMPT)


PAIRS = [pair for pair in quoted_twice() if not {names(pair[0]), names(pair[1])} & set(EXEMPT)]


@pytest.mark.parametrize(
    ("a", "b", "apart"), PAIRS, ids=[f"{a.method}, {a.data}, {b.paper}" for a, b, _ in PAIRS]
)
def test_a_row_that_two_papers_print_differently_is_on_the_page(a, b, apart):
    numbers = [f"{100 * row.values[apart[0]]:.1f}" for row in (a, b)]
    here = [
        line
        for line in LINES
        if any(plain(part).startswith(method(a)) for part in re.split(r"[|,]", line))
    ]
    assert any(all(number in line for number in numbers) for line in here), (
        a.told_source,
        b.told_source,
        numbers,
    )
