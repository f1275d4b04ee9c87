"""`lab learn --class`: students get no solutions, the teacher gets all of them, and both come from one source."""

import nbformat
import pytest

from lab.cli._classroom import answers, prepare, unsolved
from lab.install import shipped

ORIGINALS = shipped.folder("notebooks")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    assert len(prepare(ORIGINALS, folder)) == 12
    return folder


def test_students_see_no_solution(folder):
    for original in sorted(ORIGINALS.glob("[0-9]*.ipynb")):
        given = answers(nbformat.read(original, as_version=4))
        assert {"exercise-1", "exercise-2", "challenge"} <= given.keys(), original.name
        student = (folder / "student" / original.name).read_text()
        assert "Solutions" not in student and "solution-" not in student
        cells = nbformat.reads(student, as_version=4).cells
        for solution in given.values():
            assert all(solution not in cell.source for cell in cells), original.name
        assert not any(cell.get("outputs") for cell in cells)


def test_the_teacher_has_every_cell_filled_in(folder):
    for original in sorted(ORIGINALS.glob("[0-9]*.ipynb")):
        given = answers(nbformat.read(original, as_version=4))
        teacher = nbformat.read(folder / "teacher" / original.name, as_version=4)
        filled = {t: c.source for c in teacher.cells if c.cell_type == "code" for t in c.metadata.get("tags", ())}
        assert filled == given


def test_nbgrader_finds_what_to_fill_in_and_what_to_count(folder):
    student = nbformat.read(folder / "student" / "01_ranking_and_measuring.ipynb", as_version=4)
    marks = [cell.metadata["nbgrader"] for cell in student.cells if "nbgrader" in cell.metadata]
    assert sum(mark["solution"] for mark in marks) == 3 and sum(mark["grade"] for mark in marks) >= 4
    assert len({mark["grade_id"] for mark in marks}) == len(marks)
    assert all(mark["points"] == 1 and mark["locked"] for mark in marks if mark["grade"])


def test_links_lead_to_pages_that_are_there(folder):
    for page in (folder / "student").glob("*.ipynb"):
        text = page.read_text()
        assert "](../docs/" not in text
    assert (folder / "student" / "docs" / "claims.md").exists() and (folder / "SYLLABUS.md").exists()


def test_a_class_is_never_overwritten(folder):
    with pytest.raises(ValueError, match="holds a class already"):
        prepare(ORIGINALS, folder)


def test_a_solution_that_nobody_waits_for_is_named():
    cell = nbformat.v4.new_markdown_cell("```python\nx = 1\n```", metadata={"tags": ["solution-exercise-9"]})
    with pytest.raises(ValueError, match="No cell is tagged exercise-9"):
        answers(nbformat.v4.new_notebook(cells=[cell]))
    assert unsolved(nbformat.v4.new_notebook(cells=[cell])).cells == []
