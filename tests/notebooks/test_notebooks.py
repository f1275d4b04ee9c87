"""Every tutorial runs, its exercises accept the right answer and refuse an empty one, and its page reads unrun."""

import importlib.util
import json
import re
import statistics
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PATHS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
RENDERED = ("image/png", "text/plain", "text/html")

_spec = importlib.util.spec_from_file_location("solutions", Path(__file__).with_name("solutions.py"))
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
SOLUTIONS = _module.SOLUTIONS

each = pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem[:2])


def read(path):
    return nbformat.read(path, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_eleven():
    assert [path.name[:2] for path in PATHS] == [f"{i:02d}" for i in range(1, 12)]


@each
def test_the_page_has_its_parts(path):
    notebook = read(path)
    prose = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    source = "\n".join(c.source for c in code(notebook))
    for part in (
        "**Goal.**",
        "Time:",
        "Exercise 1",
        "Exercise 2",
        "Break it",
        "Challenge",
        "## Summary",
        "**References.**",
    ):
        assert part in prose, f"{path.name} lacks {part!r}"
    assert len(re.findall(r"show\(|teaching\.film\(", source)) >= 2, "at least two live figures"
    assert source.count("check(") >= 2, "two exercises with machine-checked answers"
    assert statistics.median(len(c.source.splitlines()) for c in code(notebook)) <= 3


@each
def test_the_page_reads_without_a_kernel(path):
    notebook = read(path)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    for cell in code(notebook):
        assert cell.execution_count is None
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        assert kinds <= set(RENDERED), f"{path.name} keeps {kinds - set(RENDERED)}"
        if cell.source.startswith("show(") or cell.source.rstrip().endswith(".figure()"):
            assert "image/png" in kinds, f"{path.name}: {cell.source!r} has no picture"
        assert not any(output.output_type == "error" for output in cell.outputs)
    assert path.stat().st_size < 3_000_000


def solved(path):
    """The notebook with a reader's answers in place."""
    notebook = read(path)
    for old, new in SOLUTIONS[path.name[:2]]:
        cells = [cell for cell in code(notebook) if old in "\n" + cell.source]
        assert len(cells) == 1, f"{path.name}: {old!r} stands in {len(cells)} cells"
        cells[0].source = ("\n" + cells[0].source).replace(old, new).removeprefix("\n")
    return notebook


@each
@pytest.mark.timeout(600)
def test_runs_and_its_exercises_can_be_solved(path):
    notebook = solved(path)
    NotebookClient(notebook, timeout=500, kernel_name="python3").execute()
    said = json.dumps([cell.outputs for cell in code(notebook)], ensure_ascii=False)
    assert "Not yet" not in said and "not yet" not in said and "Nothing to check" not in said
    assert said.count("✓ Exact.") + said.count("✓ Close:") >= 2
    assert "✓ solved" in said
