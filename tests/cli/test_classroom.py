"""`lab learn --class`: students get no solutions, the teacher gets all of them, and both come from one source."""

import ast
import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.apps import NbGraderAPI
from traitlets.config import PyFileConfigLoader

from lab.cli._classroom import answers, prepare
from lab.core.installed import shipped

ORIGINALS = shipped.folder("notebooks")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    assert len(prepare(ORIGINALS, folder)) == len(list(ORIGINALS.glob("*.ipynb")))
    return folder


def test_students_see_no_solution(folder):
    for original in sorted(ORIGINALS.glob("*.ipynb")):
        given = answers(nbformat.read(original, as_version=4))
        assert {"exercise-1", "exercise-2", "challenge"} <= given.keys(), original.name
        student = (folder / "student" / original.name).read_text()
        assert "Solutions" not in student and "solution-" not in student
        cells = nbformat.reads(student, as_version=4).cells
        for solution in given.values():
            assert all(solution not in cell.source for cell in cells), original.name
        assert not any(cell.get("outputs") for cell in cells)


def test_links_lead_to_pages_that_are_there(folder):
    for page in (folder / "student").glob("*.ipynb"):
        text = page.read_text()
        assert "](../docs/" not in text
    assert (folder / "student" / "docs" / "claims.md").exists() and (
        folder / "SYLLABUS.md"
    ).exists()


def test_a_class_is_never_overwritten(folder):
    with pytest.raises(ValueError, match="holds a class already"):
        prepare(ORIGINALS, folder)


@pytest.fixture(scope="module")
def course(folder):
    """nbgrader in the class's folder, with its settings."""
    config = PyFileConfigLoader("nbgrader_config.py", str(folder)).load_config()
    config.CourseDirectory.root = str(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # of alembic
        patch.setenv(
            "PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        )
        yield NbGraderAPI(config=config)


def decisive(notebook) -> set[str]:
    """Ids of the cells on which an answer or a check hangs: the others take a lesson's time."""
    wanted, kept = set(), set()
    for cell in reversed([cell for cell in notebook.cells if cell.cell_type == "code"]):
        nodes = list(ast.walk(ast.parse(cell.source)))
        names = {(type(one.ctx), one.id) for one in nodes if isinstance(one, ast.Name)}
        made = {name for context, name in names if context is ast.Store}
        made |= {one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.ClassDef)}
        made |= {
            (one.asname or one.name).split(".")[0] for one in nodes if isinstance(one, ast.alias)
        }
        if "nbgrader" in cell.metadata or made & wanted:
            wanted |= {name for context, name in names if context is ast.Load}
            kept.add(cell.id)
    return kept


def spoilt(source: str) -> str:
    """An answer with every name that it gives set to zero, and functions to one that is zero."""
    body = ast.parse(source).body
    functions = [
        f"{one.name} = lambda *_, **__: 0.0" for one in body if isinstance(one, ast.FunctionDef)
    ]
    targets = [target for one in body if isinstance(one, ast.Assign) for target in one.targets]
    names = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return "\n".join([source, *functions, *(f"{name} = 0.0" for name in sorted(names))])


IN_SUITE = {"2_pull_and_push", "3_the_step_that_cannot_be_felt"}
"""The others are tried by `make soak`, which takes a minute for each."""
LESSONS = [
    pytest.param(path.stem, marks=() if path.stem in IN_SUITE else pytest.mark.soak)
    for path in sorted(ORIGINALS.glob("*.ipynb"))
]


@pytest.mark.parametrize("lesson", LESSONS)
def test_nbgrader_releases_what_students_get_and_tells_right_from_wrong(course, folder, lesson):
    teacher, student = (
        nbformat.read(folder / who / f"{lesson}.ipynb", 4) for who in ("teacher", "student")
    )
    kept = decisive(teacher)
    for notebook in (teacher, student):
        notebook.cells = [cell for cell in notebook.cells if cell.id in kept]

    def put(place, notebook):
        (folder / place / lesson).mkdir(parents=True)
        nbformat.write(notebook, folder / place / lesson / f"{lesson}.ipynb")

    put("source", teacher)
    assert course.generate_assignment(lesson)["success"]
    released = nbformat.read(folder / "release" / lesson / f"{lesson}.ipynb", 4)
    assert [c.source.removesuffix("\n# your code") for c in released.cells] == [
        c.source for c in student.cells
    ]
    assert not any("HIDDEN" in cell.source or "SOLUTION" in cell.source for cell in released.cells)
    scores = {}
    for who in ("right", "wrong"):
        handed_in = nbformat.read(folder / "release" / lesson / f"{lesson}.ipynb", 4)
        for cell, solution in zip(handed_in.cells, teacher.cells, strict=True):
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = solution.source if who == "right" else spoilt(solution.source)
        put(f"submitted/{who}", handed_in)
        assert course.autograde(lesson, who)["success"]
        graded = course.gradebook.find_submission(lesson, who)
        scores[who] = graded.score / graded.max_score
    assert scores == {"right": 1, "wrong": 0}


def test_the_first_cells_check_the_installation_and_lead_to_colab_and_binder(tmp_path, folder):
    prepare(ORIGINALS, tmp_path / "ours", "somebody/rankscope")
    for where, linked in ((folder, False), (tmp_path / "ours", True)):
        cells = nbformat.read(
            where / "student" / "3_the_step_that_cannot_be_felt.ipynb", as_version=4
        ).cells
        assert cells[0].source.startswith("# 3") and "doctor.examine()" in cells[2].source
        assert (
            "colab.research.google.com/github/somebody/rankscope/blob/main/" in cells[1].source
        ) is linked
        assert ("git+https://github.com/somebody/rankscope" in cells[2].source) is linked
        nbformat.validate(
            nbformat.read(
                where / "teacher" / "appendix_a_your_vectors_model_and_loop.ipynb", as_version=4
            )
        )
    with pytest.raises(ValueError, match="OWNER/NAME"):
        prepare(ORIGINALS, tmp_path / "none", "no name")


def test_slides_hold_figures_that_live_and_ask_nobody_for_anything(tmp_path, monkeypatch):
    from lab.cli import _slides

    v4 = nbformat.v4
    words = "# A talk\n\nThe step $H(x)$.\n\n## Next\n\n$$x^2$$"
    cells = [v4.new_markdown_cell(words), v4.new_code_cell("show('h_minus', tau=0.02)")]
    hidden = ["<details>my_slope(gap, tau)</details>", "## Solutions\n\nmy_slope(gap, tau)"]
    picture = v4.new_output("display_data", {"image/png": "AAAA", "text/plain": "a drawing"})
    cells += [v4.new_code_cell("draw()", outputs=[picture]), *map(v4.new_markdown_cell, hidden)]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "02_talk.ipynb")
    monkeypatch.setattr(_slides, "STOPS", (2, 2))
    monkeypatch.chdir(tmp_path)
    page = _slides.write(tmp_path, "02").read_text()
    assert (
        page.count('class="live fits"') == page.count('class="pictures"') == 1
        and "<title>A talk" in page
    )
    assert "<math" in page and "$$" not in page and "my_slope" not in page, "no solution on a slide"
    shell = page.replace("http://www.w3.org/1998/Math/MathML", "")
    assert 'src="http' not in shell and "<link" not in shell and page.count("<section>") == 4
    assert 'alt="a drawing"' in page
    cells[0].metadata["slide"], asked = (
        "- In one line",
        v4.new_code_cell("predict('How many?', 3, within=0)"),
    )
    asked.metadata["slide"] = "Three."
    talk = _slides.page(v4.new_notebook(cells=[*cells, asked]))
    assert (
        "In one line" in talk
        and 'class="notes"><h1' in talk
        and "Answer</summary><p>Three." in talk
    )
    with pytest.raises(ValueError, match="no notebook '99'; there are 02_"):
        _slides.write(tmp_path, "99")
