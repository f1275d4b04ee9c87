"""Every tutorial runs, its exercises accept the right answer and refuse an empty one, and its page reads unrun."""

import json
import re
import statistics
from pathlib import Path

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

import lab.figures
import lab.papers.tables
from lab.cli._classroom import answers, solved
from lab.cli._slides import shown
from lab.widgets import Live

ROOT = Path(__file__).parents[2]
PATHS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
RENDERED = ("image/png", "text/plain", "text/html")

each = pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem[:2])


def read(path):
    return nbformat.read(path, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_they_are_numbered_and_the_syllabus_has_a_row_for_each():
    numbers = [path.name[:2] for path in PATHS]
    syllabus = (ROOT / "notebooks" / "SYLLABUS.md").read_text(encoding="utf-8")
    assert numbers == [f"{i:02d}" for i in range(1, len(PATHS) + 1)]
    assert numbers == re.findall(r"^\| (\d\d) \|", syllabus, re.MULTILINE)


@each
def test_the_page_has_its_parts(path):
    notebook = read(path)
    prose = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    source = "\n".join(c.source for c in code(notebook))
    for part in (
        "**Question.**",
        "**Goal.**",
        "Time:",
        "Exercise 1",
        "Exercise 2",
        "Break it",
        "Challenge",
        "## Summary",
        "## See it on your data",
        "](http://127.0.0.1:8501/",
        "**References.**",
        "arxiv.org",
        "## Solutions",
        "$$",
    ):
        assert part in prose, f"{path.name} lacks {part!r}"
    assert len(re.findall(r"show\(|teaching\.film\(", source)) >= 2, "at least two live figures"
    assert re.search(r"(?<![\d.,_])00[0-4]\b", prose) is None, "papers are named by their short titles"
    first = next(i for i, c in enumerate(notebook.cells) if "contact_sheet(" in c.source)
    assert first < notebook.cells.index(next(c for c in notebook.cells if "show(" in c.source)), "a picture comes first"
    assert {"exercise-1", "exercise-2", "challenge"} == answers(notebook).keys()
    assert source.count("check(") >= 2, "two exercises with machine-checked answers"
    folded = [c for c in code(notebook) if c.metadata.get("jupyter", {}).get("source_hidden")]
    assert folded == [c for c in code(notebook) if c.source.startswith("predict(")], "a prediction's answer is folded"
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
        said = json.dumps([output.get("data", {}).get("text/plain", "") for output in cell.outputs])
        assert "np.float64" not in said and "tensor(" not in said and not re.search(r"\d\.\d{12}", said), cell.source
        printed = json.dumps([output.get("text", "") for output in cell.outputs])
        assert not re.search(r"\(\d+, \d+\)|[\[(]-?\d+\.\d+,", said + printed), f"raw tuple or list: {cell.source}"
    assert path.stat().st_size < 3_000_000


@each
def test_the_references_spell_out_each_short_title(path):
    notebook = read(path)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    page, references = prose.split("**References.**")
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    page += "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs)
    for title in (title.short for title in lab.papers.tables.TITLES.values()):
        named = rf"\b{title}" + ("," if title == "Contextual" else r"\b")  # it is a plain word, too
        if re.search(named, page):
            assert re.search(rf"\b{title}:", references), f"{path.name} names {title}, its references do not"


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@each
def test_stored_figures_say_what_they_say_today(path):
    """Of those that need no training. A picture is made with its words, so old words betray an old picture."""
    for cell in code(read(path)):
        name, knobs = shown(cell.source) or ("", {})
        if not name or (lab.figures.get(name).tier == "toy_training" and knobs.get("data", "toy") == "toy"):
            continue
        stored, today = cell.outputs[0].data["text/plain"], repr(Live(lab.figures.create(name, **knobs)))
        assert NUMBER.sub("#", stored) == NUMBER.sub("#", today), f"render {path.name}: {cell.source}"
        before, now = ([float(number) for number in NUMBER.findall(text)] for text in (stored, today))
        assert before == pytest.approx(now, rel=0.02, abs=2e-3), f"render {path.name}: {cell.source}"


def test_the_count_of_claims_is_that_of_the_report():
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    counts = re.search(r"Of (\d+) claims (\d+) hold, (\d+) do not hold here, (\d+) cannot be told", page).groups()
    prose = "\n".join(cell.source for cell in read(PATHS[11]).cells)
    assert counts[0] + " claims" in prose
    rows = ("| holds | {} |", "| does not hold here | {} |", "| cannot be told | {} |")
    assert all(row.format(count) in prose for row, count in zip(rows, counts[1:], strict=True))


@pytest.fixture(scope="module")
def kernel():
    """One kernel for all tutorials, started by the first: loading torch and plotly takes longer than many of them."""
    manager = AsyncKernelManager(kernel_name="python3")
    NotebookClient(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SHORT)]), km=manager).execute()
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


FRESH = """%reset -f
import gc, torch; gc.freeze(); torch.manual_seed(67280421310721); del gc, torch
"""
"""What a reader starts from: no name of another tutorial, and the seed with which torch begins. What is loaded is left
out of the next search for garbage, which `%reset` makes."""

SHORT = """
import lab.maps
from lab import teaching
from lab.figures import background
def shortly(loss, images, steps, *, every=20, _watch=teaching.watch, **knobs):
    return _watch(loss, images, max(2, steps // 10), every=max(1, every // 10), **knobs)
teaching.watch = shortly
background.FigureTraining._run = lambda training, request: None
lab.maps._umap = lambda vectors, *_: lab.maps._pca(vectors)
"""
"""Once a kernel: trainings take a tenth of their steps. Live figures that train in a process beside the kernel wait
for ever: nobody looks at them here, and tests/figures trains each. UMAP compiles itself for seconds: PCA stands in."""


@each
@pytest.mark.timeout(1200)
def test_runs_and_its_exercises_can_be_solved(path, kernel):
    notebook = solved(read(path))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FRESH))
    client = NotebookClient(notebook, timeout=1000, km=kernel)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    solves(notebook)


@pytest.mark.soak
@each
def test_runs_as_a_reader_runs_it(path):
    """With every step of its trainings, in a kernel of its own."""
    notebook = solved(read(path))
    NotebookClient(notebook, timeout=3600).execute()
    solves(notebook)


def solves(notebook):
    """What the exercises of a tutorial that has run say of their solutions."""
    said = json.dumps([cell.outputs for cell in code(notebook)], ensure_ascii=False)
    assert "Not yet" not in said and "○" not in said
    assert said.count("✓ Exact.") + said.count("✓ Close:") >= 2
    assert "✓ solved" in said
