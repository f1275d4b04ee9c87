"""Bytes are told in one unit, everywhere."""

import re
from pathlib import Path

import pytest

from lab.core.formats import size

ROOT = Path(__file__).parents[2]
POWERS_OF_TWO = re.compile(r"2\s*\*\*\s*[23]0\b|1\s*<<\s*30\b|1024\s*\*\*\s*[23]\b|\b[KMG]iB\b")


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (376e6, "376 MB"),
        (8.6e9, "8.6 GB"),
        (2.5e12, "2,500 GB"),
    ],
)
def test_bytes_in_words(count, words):
    assert size(count) == words


def test_nobody_counts_in_powers_of_two():
    for path in (ROOT / "lab").rglob("*.py"):
        found = POWERS_OF_TWO.findall(path.read_text())
        assert not found, f"{path} counts in {found}; use lab.core.formats"
