"""Notebooks for a class from one source: without solutions for students, solved for the teacher.

The teacher's are what nbgrader starts from: it takes solutions and hidden tests out, and puts the tests back to grade.

In a tutorial the cell to fill in carries a tag, `exercise-1` or `challenge`; its solution stands, folded, in the last
section, in a cell tagged `solution-exercise-1`, as a block of Python that takes the cell's place.
"""

from __future__ import annotations

import ast
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab.core.files import making

HEADING = "## Solutions"
SOLUTION = "solution-"
CHECK = re.compile(r"^(check|built)\(|✓ solved", re.MULTILINE)
"""What tells a cell that says whether an answer is right."""
BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)


def tag_of(cell: Any, beginning: str) -> str | None:
    """The cell's first tag of that beginning."""
    return next((tag for tag in cell.metadata.get("tags", ()) if tag.startswith(beginning)), None)


def answers(notebook: Any) -> dict[str, str]:
    """Tag of each cell to fill in, and the Python that solves it.

    Raises:
        ValueError: a solution without Python, or one that no cell waits for.
    """
    solutions = {}
    for cell in notebook.cells:
        tag = tag_of(cell, SOLUTION)
        if tag:
            block = BLOCK.search(cell.source)
            if block is None:
                raise ValueError(f"The solution tagged {tag!r} has no block of Python.")
            solutions[tag.removeprefix(SOLUTION)] = block[1]
    exercises = set()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exercises.update(cell.metadata.get("tags", ()))
    without_cell = sorted(solutions.keys() - exercises)
    if without_cell:
        raise ValueError(f"No cell is tagged {', '.join(without_cell)}.")
    return solutions


def solved(notebook: Any, kept: bool = False) -> Any:
    """The notebook with every cell filled in; changed in place.

    kept: leave what the student begins with, names and starting values, and put the solution behind it, between the
        marks by which nbgrader takes it out.
    """
    solutions = answers(notebook)
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", ()):
            if cell.cell_type == "code" and tag in solutions:
                behind = f"{cell.source}\n### BEGIN SOLUTION\n{solutions[tag]}\n### END SOLUTION"
                cell.source = behind if kept else solutions[tag]
    return notebook


def unsolved(notebook: Any) -> Any:
    """The notebook without its section of solutions and without outputs; changed in place."""
    kept = [cell for cell in notebook.cells if tag_of(cell, SOLUTION) is None]
    for cell in kept:
        if cell.cell_type == "markdown":
            cell.source = cell.source.split(f"\n{HEADING}")[0].rstrip()
        else:
            cell.outputs = []
            cell.execution_count = None
    notebook.cells = kept
    return notebook


def graded(notebook: Any) -> Any:
    """Mark a notebook for nbgrader, in place: exercises are to be filled in, checks are locked and worth a point."""
    name = None
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        name = tag_of(cell, "exercise-") or tag_of(cell, "challenge") or name
        is_exercise = bool(cell.metadata.get("tags"))
        is_check = CHECK.search(cell.source) is not None
        if is_exercise or is_check:
            marks = {"solution": is_exercise, "grade": is_check, "locked": is_check, "task": False}
            cell.metadata["nbgrader"] = {
                **marks,
                "schema_version": 3,
                "grade_id": f"{name}-{number}",
            }
        if is_check:
            cell.metadata["nbgrader"]["points"] = 1
    return notebook


def with_hidden_tests(notebook: Any) -> Any:
    """Add a test behind each check that fails when the answer is wrong, in place; `check` itself only says so."""
    for cell in notebook.cells:
        if cell.get("metadata", {}).get("nbgrader", {}).get("grade"):
            cell.source += (
                f"\n### BEGIN HIDDEN TESTS\nassert {_condition(cell.source)}\n### END HIDDEN TESTS"
            )
    return notebook


def _condition(source: str) -> str:
    """Return the expression that is true when a check's cell finds the answer right.

    Raises:
        ValueError: the cell neither ends with `check(...)` or `built(...)` nor prints `✓ solved` on a condition.
    """
    condition = re.search(r"'✓ solved' if (.+?) else '", source)
    if condition:
        return condition[1]
    last = ast.parse(source).body[-1]
    if (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and CHECK.match(ast.unparse(last))
    ):
        return ast.unparse(last.value)
    raise ValueError(f"Nothing to grade in this cell: {source}")


NBGRADER = """\
# nbgrader reads this file in the folder in which it is called. What stands above a solution is what a student begins
# with, so that nothing has to take the solution's place.
c = get_config()
c.ClearSolutions.code_stub = {"python": "# your code"}
c.ExecutePreprocessor.timeout = 600
"""
"""Settings of a course folder."""

INSTALLED = """\
from lab import doctor

for found in doctor.examine():
    if found.state != "ok":
        print(f"{found.what}: {found.detail}. {found.advice}")
print("Rankscope is here, and problems, if any, are listed above.")"""
"""Checks a student's installation."""


def opened(notebook: Any, name: str, repository: str = "") -> Any:
    """Add a cell in front that checks the installation, and links that open the notebook in Colab and Binder; in place.

    repository: OWNER/NAME on GitHub, where the class's own copy of Rankscope lies; without it there are no such ways.
    """
    from nbformat.v4 import new_code_cell, new_markdown_cell

    front = [new_markdown_cell("**Check my installation.** Run this first.", id="check-words")]
    install = ""
    if repository:
        colab = f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{name}"
        binder = f"https://mybinder.org/v2/gh/{repository}/main?urlpath=lab/tree/notebooks/{name}"
        front[
            0
        ].source += (
            f" Without an installation: [open in Colab]({colab}), [open in Binder]({binder})."
        )
        install = (
            "import importlib.util\n\nif importlib.util.find_spec('lab') is None:  # on Colab\n"
            f"    %pip install --quiet 'rankscope[notebooks] @ git+https://github.com/{repository}'\n\n"
        )
    front.append(new_code_cell(install + INSTALLED, id="check-code"))
    notebook.cells = [notebook.cells[0], *front, *notebook.cells[1:]]
    return notebook


def prepare(originals: Path, folder: Path, repository: str = "") -> list[str]:
    """Write `student/` and `teacher/` with all notebooks, the syllabus and nbgrader's settings; returns the notebooks'
    names.

    repository: OWNER/NAME of the class's copy on GitHub, for links to Colab and Binder.

    Raises:
        ValueError: there are no notebooks, the folder holds a class already, or this is no name of a repository.
    """
    import shutil

    import nbformat

    sources = sorted(originals.glob("*.ipynb"))
    if not sources:
        raise ValueError(
            f"There are no notebooks in {originals}; run `lab learn` from a checkout of Rankscope."
        )
    if (folder / "student").exists() or (folder / "teacher").exists():
        raise ValueError(
            f"{folder} holds a class already; name another folder, so that nobody's work is overwritten."
        )
    if repository and not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise ValueError(f"A repository is named as OWNER/NAME, got {repository!r}.")

    def for_student(notebook: Any) -> Any:
        return graded(unsolved(notebook))

    def for_teacher(notebook: Any) -> Any:
        return with_hidden_tests(graded(unsolved(solved(notebook, kept=True))))

    # Write both folders.
    changes = {"student": for_student, "teacher": for_teacher}
    with ExitStack() as whole:  # both or none: half a class would be taken for somebody's work
        for name, change in changes.items():
            target = whole.enter_context(making(folder / name))
            for source in sources:
                notebook = opened(
                    change(nbformat.read(source, as_version=4)), source.name, repository
                )
                for cell in notebook.cells:
                    cell.source = cell.source.replace("](../docs/", "](docs/")
                nbformat.write(notebook, target / source.name)
            copy_docs(originals, target)
    shutil.copyfile(originals / "SYLLABUS.md", folder / "SYLLABUS.md")
    (folder / "nbgrader_config.py").write_text(NBGRADER, encoding="utf-8")
    return [source.name for source in sources]


def copy_docs(originals: Path, copy: Path) -> None:
    """Bring the pages that the notebooks link to: `../docs` of a checkout is `docs` in a copy."""
    import shutil

    (copy / "docs").mkdir(exist_ok=True)
    for page in sorted((originals.parent / "docs").glob("*.md")):
        shutil.copyfile(page, copy / "docs" / page.name)
