"""The list of planted faults stays alive: each still has exactly one place in the code, and tests that exist."""

import shlex

import pytest

from tests.faults.__main__ import ROOT, faults, place, planted

FAULTS = faults(ROOT)


def test_there_are_sixty_of_all_families():
    assert len(FAULTS) == 60 and len({fault["family"] for fault in FAULTS.values()}) >= 20


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_it_has_one_place_and_tests(fault):
    assert place(fault, ROOT).is_file() and fault["put"] != fault["find"]
    assert all(
        (ROOT / word).exists() for word in shlex.split(fault["tests"]) if word.startswith("tests/")
    )


def test_it_is_planted_and_taken_out(tmp_path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "one.py").write_text("1 + 1\n")
    with planted({"name": "sign", "find": "1 + 1", "put": "1 - 1"}, tmp_path):
        assert (tmp_path / "lab" / "one.py").read_text() == "1 - 1\n"
    assert (tmp_path / "lab" / "one.py").read_text() == "1 + 1\n"
