"""`lab learn` works on a copy: what a reader writes is kept, and the originals stay as they are."""

import pytest

from lab.cli.learn import working_copy


@pytest.fixture
def originals(tmp_path):
    folder = tmp_path / "originals"
    folder.mkdir()
    (folder / "01_a.ipynb").write_text("one")
    (folder / "02_b.ipynb").write_text("two")
    (folder / "whole_lab.py").write_text("all of it")
    return folder


def test_copies_once_and_keeps_what_the_reader_wrote(originals, tmp_path):
    copy = tmp_path / "mine"
    assert working_copy(originals, copy) == ["01_a.ipynb", "02_b.ipynb", "whole_lab.py"]
    (copy / "01_a.ipynb").write_text("my answer")
    (originals / "03_c.ipynb").write_text("three")
    assert working_copy(originals, copy) == ["03_c.ipynb"]
    assert (copy / "01_a.ipynb").read_text() == "my answer"


def test_mistakes_are_sentences(originals, tmp_path):
    with pytest.raises(ValueError, match="no notebooks in"):
        working_copy(tmp_path / "nowhere", tmp_path / "mine")
    with pytest.raises(ValueError, match="another folder"):
        working_copy(originals, originals)
