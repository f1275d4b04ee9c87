"""Notebooks for a class from one source: without solutions for students, solved for the teacher.

In a tutorial the cell to fill in carries a tag, `exercise-1` or `challenge`; its solution stands, folded, in the last
section, in a cell tagged `solution-exercise-1`, as a block of Python that takes the cell's place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

HEADING = "## Solutions"
SOLUTION = "solution-"
BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)


def tag_of(cell: Any, beginning: str) -> str | None:
    """The cell's first tag of that beginning."""
    return next((tag for tag in cell.metadata.get("tags", ()) if tag.startswith(beginning)), None)


def answers(notebook: Any) -> dict[str, str]:
    """Tag of each cell to fill in, and the Python that solves it.

    Raises:
        ValueError: a solution without Python, or one that no cell waits for.
    """
    found = {}
    for cell in notebook.cells:
        if tag := tag_of(cell, SOLUTION):
            block = BLOCK.search(cell.source)
            if block is None:
                raise ValueError(f"The solution tagged {tag!r} has no block of Python.")
            found[tag.removeprefix(SOLUTION)] = block[1]
    waiting = {tag for cell in notebook.cells if cell.cell_type == "code" for tag in cell.metadata.get("tags", ())}
    if lost := sorted(found.keys() - waiting):
        raise ValueError(f"No cell is tagged {', '.join(lost)}.")
    return found


def solved(notebook: Any) -> Any:
    """The notebook with every cell filled in; changed in place."""
    given = answers(notebook)
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", ()):
            if cell.cell_type == "code" and tag in given:
                cell.source = given[tag]
    return notebook


def unsolved(notebook: Any) -> Any:
    """The notebook without its section of solutions and without outputs; changed in place."""
    kept = [cell for cell in notebook.cells if tag_of(cell, SOLUTION) is None]
    for cell in kept:
        if cell.cell_type == "markdown":
            cell.source = cell.source.split(f"\n{HEADING}")[0].rstrip()
        else:
            cell.outputs, cell.execution_count = [], None
    notebook.cells = kept
    return notebook


def graded(notebook: Any) -> Any:
    """The notebook with nbgrader's marks: exercises to be filled in, checks locked and worth a point. In place."""
    name = None
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        name = tag_of(cell, "exercise-") or tag_of(cell, "challenge") or name
        mine, checks = bool(cell.metadata.get("tags")), "check(" in cell.source or "✓ solved" in cell.source
        if mine or checks:
            marks = {"solution": mine, "grade": checks, "locked": checks, "task": False, "schema_version": 3}
            cell.metadata["nbgrader"] = {**marks, "grade_id": f"{name}-{number}"} | ({"points": 1} if checks else {})
    return notebook


def prepare(originals: Path, folder: Path) -> list[str]:
    """Write `student/` and `teacher/` with all notebooks, and the syllabus; returns the names of the notebooks.

    Raises:
        ValueError: there are no notebooks, or the folder holds a class already.
    """
    import shutil

    import nbformat

    sources = sorted(originals.glob("[0-9]*.ipynb"))
    if not sources:
        raise ValueError(f"There are no notebooks in {originals}; run `lab learn` from a checkout of Rankscope.")
    if (folder / "student").exists() or (folder / "teacher").exists():
        raise ValueError(f"{folder} holds a class already; name another folder, so that nobody's work is overwritten.")
    for name, change in (("student", lambda nb: graded(unsolved(nb))), ("teacher", lambda nb: graded(solved(nb)))):
        (folder / name).mkdir(parents=True)
        for source in sources:
            notebook = change(nbformat.read(source, as_version=4))
            for cell in notebook.cells:
                cell.source = cell.source.replace("](../docs/", "](docs/")
            nbformat.write(notebook, folder / name / source.name)
        copy_docs(originals, folder / name)
    shutil.copyfile(originals / "SYLLABUS.md", folder / "SYLLABUS.md")
    return [source.name for source in sources]


def copy_docs(originals: Path, copy: Path) -> None:
    """Bring the pages that the notebooks link to: `../docs` of a checkout is `docs` in a copy."""
    import shutil

    (copy / "docs").mkdir(exist_ok=True)
    for page in sorted((originals.parent / "docs").glob("*.md")):
        shutil.copyfile(page, copy / "docs" / page.name)
