"""Bytes are told in one unit, everywhere."""

import pytest

from lab.core.formats import size


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (376e6, "376 MB"), (8.6e9, "8.6 GB"), (2.5e12, "2,500 GB")],
)
def test_bytes_in_words(count, words):
    assert size(count) == words
