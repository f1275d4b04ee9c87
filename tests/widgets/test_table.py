"""Tables of a tutorial: rounded, aligned, and safe to put on a page."""

import numpy as np
import pytest

from lab.widgets import table


def test_numbers_of_all_kinds_read_as_a_person_would_write_them():
    shown = table(
        {"a": {"x": np.float64(0.41211), "n": 4096, "ok": True}, "b": {"x": 7.66e-15}}, of="what"
    )
    assert repr(shown).splitlines()[0].split() == ["what", "x", "n", "ok"]
    assert shown.rows == (("a", "0.412", "4,096", "yes"), ("b", "7.7e-15", "-", "-"))
    assert "float64" not in repr(shown)


def test_names_are_text_and_not_markup():
    page = table({"<b>": {"x & y": 1.0}})._repr_html_()
    assert "&lt;b&gt;" in page and "x &amp; y" in page and "<b>" not in page


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="at least one row"):
        table({})
