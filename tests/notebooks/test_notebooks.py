"""Every lesson runs, its exercises accept the right answer and refuse the wrong ones, and its page reads unrun."""

import ast
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
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LESSONS = [path for path in PATHS if path.name[0].isdigit()]
RENDERED = ("image/png", "text/plain", "text/html")


def named(path):
    return path.stem[:1] if path in LESSONS else path.stem[:10]


each = pytest.mark.parametrize("path", PATHS, ids=named)


def read(path):
    return nbformat.read(path, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose_of(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def hidden(cell):
    return cell.metadata.get("jupyter", {}).get("source_hidden", False)


def words(notebook):
    """How many a reader meets: text, boxes and folded cells; a formula counts as one, code and addresses as none."""
    text = re.sub(r"```.*?```|\]\([^)]*\)|<[^>]*>", " ", prose_of(notebook), flags=re.DOTALL)
    text = re.sub(r"\$[^$]+\$", " x ", re.sub(r"\$\$.*?\$\$", " ", text, flags=re.DOTALL))
    folded = [ast.walk(ast.parse(cell.source)) for cell in code(notebook) if hidden(cell)]
    said = [node.value for nodes in folded for node in nodes if isinstance(node, ast.Constant)]
    return len(
        re.findall(
            r"[^\W_][\w'’-]*", " ".join([text, *(one for one in said if isinstance(one, str))])
        )
    )


def test_eight_lessons_are_short_and_build_things():
    lessons = [read(path) for path in LESSONS]
    assert 8_000 <= sum(map(words, lessons)) <= 9_500
    assert sum(cell.source.startswith("built(") for lesson in lessons for cell in code(lesson)) >= 8


def test_they_are_numbered_and_the_syllabus_has_a_row_for_each():
    syllabus = (ROOT / "notebooks" / "SYLLABUS.md").read_text(encoding="utf-8")
    appendices = [f"appendix_{letter}" for letter in "abcd"]
    assert [named(path) for path in PATHS] == [*"12345678", *appendices]
    assert re.findall(r"^\| ([1-8A-D]) \| [A-Z]", syllabus, re.MULTILINE) == [*"12345678", *"ABCD"]


@each
def test_the_page_has_its_parts(path):
    notebook = read(path)
    prose, source = prose_of(notebook), "\n".join(c.source for c in code(notebook))
    parts = ["**Question.**", "**Goal.**", "Time:", "Exercise 1", "Exercise 2", "Break it", "Challenge",
             "](http://127.0.0.1:8501/", "**References.**", "arxiv.org", "## Solutions", "$$"]  # fmt: skip
    parts += (
        ["**Common mistakes.**", "## What you can do now"] if path in LESSONS else ["## Summary"]
    )
    for part in parts:
        assert part in prose, f"{path.name} lacks {part!r}"
    assert len(re.findall(r"\bshow\(", source)) >= 2, "at least two live figures"
    assert re.search(r"(?<![\d.,_])00[0-4]\b", prose) is None, (
        "papers are named by their short titles"
    )
    first = next(i for i, c in enumerate(notebook.cells) if "contact_sheet(" in c.source)
    assert first < notebook.cells.index(next(c for c in notebook.cells if "show(" in c.source)), (
        "a picture comes first"
    )
    assert {"exercise-1", "exercise-2", "challenge"} == answers(notebook).keys()
    assert len(re.findall(r"\b(?:check|built)\(", source)) >= 2, (
        "two exercises with machine-checked answers"
    )
    folded = [c for c in code(notebook) if hidden(c)]
    predictions = [c for c in code(notebook) if c.source.startswith("predict(")]
    assert folded == [
        c for c in code(notebook) if c in predictions or "_mistakes = {" in c.source
    ], "answers are folded"
    assert predictions and all("answer" in c.metadata for c in predictions), (
        "which the site tells who has predicted"
    )
    if path in LESSONS:
        assert "twelve." in source, "the twelve emoji go through all lessons"
        slides = [cell.metadata["slide"] for cell in notebook.cells if "slide" in cell.metadata]
        assert all(cell.metadata.get("slide") for cell in predictions), (
            "a prediction's answer is on its slide"
        )
        assert len(slides) >= 6 and all(len(one.splitlines()) <= 6 for one in slides)
    assert statistics.median(len(c.source.splitlines()) for c in code(notebook)) <= 4


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
        assert (
            "np.float64" not in said
            and "tensor(" not in said
            and not re.search(r"\d\.\d{12}", said)
        ), cell.source
        printed = json.dumps([output.get("text", "") for output in cell.outputs])
        assert not re.search(r"\(\d+, \d+\)|[\[(]-?\d+\.\d+,", said + printed), (
            f"raw tuple or list: {cell.source}"
        )
    assert path.stat().st_size < 3_000_000


@each
def test_the_references_spell_out_each_short_title(path):
    notebook = read(path)
    page, references = prose_of(notebook).split("**References.**")
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    page += "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs)
    for title in (title.short for title in lab.papers.tables.TITLES.values()):
        cited = rf"\b{title}" + ("," if title == "Contextual" else r"\b")  # it is a plain word, too
        if re.search(cited, page):
            assert re.search(rf"\b{title}:", references), (
                f"{path.name} names {title}, its references do not"
            )


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@each
def test_stored_figures_say_what_they_say_today(path):
    """Of those that need no training. A picture is made with its words, so old words betray an old picture."""
    for cell in code(read(path)):
        name, knobs = shown(cell.source) or ("", {})
        if not name or (
            lab.figures.get(name).tier == "toy_training" and knobs.get("data", "toy") == "toy"
        ):
            continue
        both = cell.outputs[0].data["text/plain"], repr(Live(lab.figures.create(name, **knobs)))
        # which, rounding decides
        stored, today = (re.sub(r"\d+\.(weight|bias)", "a weight", text) for text in both)
        assert NUMBER.sub("#", stored) == NUMBER.sub("#", today), (
            f"render {path.name}: {cell.source}"
        )
        before, now = (
            [float(number) for number in NUMBER.findall(text)] for text in (stored, today)
        )
        assert before == pytest.approx(now, rel=0.02, abs=2e-3), (
            f"render {path.name}: {cell.source}"
        )


def test_the_count_of_claims_is_that_of_the_report():
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    counts = re.search(
        r"Of (\d+) claims (\d+) “shows here”, (\d+) “not seen in a linear head, one split”, (\d+) “not tried",
        page,
    ).groups()
    slides = [cell.metadata.get("slide", "") for cell in read(LESSONS[7]).cells]
    (slide,) = [one for one in slides if "claims tried here" in one]
    assert re.findall(r"\d+", slide) == [*counts]


def test_the_lesson_says_what_verdicts_mean_in_the_words_of_the_report():
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    (cell,) = [
        one.source for one in read(LESSONS[7]).cells if "What the verdicts mean" in one.source
    ]
    meanings = re.findall(r"(?m)^> (- \*.*)$", cell)
    assert len(meanings) == 3 and all(one in page for one in meanings)


@pytest.fixture(scope="module")
def kernel():
    """One kernel for all lessons, started by the first: loading torch and plotly takes longer than many of them."""
    manager = AsyncKernelManager(kernel_name="python3")
    NotebookClient(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SHORT)]), km=manager
    ).execute()
    yield manager
    run_sync(manager.shutdown_kernel)(now=True)


FRESH = """%reset -f
import gc, torch; gc.freeze(); torch.manual_seed(67280421310721); del gc, torch
"""
"""What a reader starts from: no name of another lesson, and the seed with which torch begins. What is loaded is left
out of the next search for garbage, which `%reset` makes."""

SHORT = """
import lab.maps
from lab import teaching
from lab.figures import background
def shortly(loss, images, steps, *, every=20, _watch=teaching.watch, **knobs):
    return _watch(loss, images, max(2, steps // 10), every=max(1, every // 10), **knobs)
teaching.watch = shortly
def small(encoder, images, items, _embedded=teaching.embedded):
    encoder.input_size = min(encoder.input_size, 32) if encoder.knobs.dim is None else encoder.input_size
    return _embedded(encoder, images, items)
teaching.embedded = small
background.FigureTraining._run = lambda training, request: None
lab.maps._umap = lambda vectors, *_: lab.maps._pca(vectors)
"""
"""Once a kernel: trainings take a tenth of their steps, the frozen network sees small images. Live figures that train
in a process beside the kernel wait for ever: nobody looks at them here, and tests/figures trains each. UMAP compiles
itself for seconds: PCA stands in."""


def run(notebook, kernel, fresh=True):
    """Execute in the shared kernel; raises on the first error of a cell."""
    notebook.cells[:0] = [nbformat.v4.new_code_cell(FRESH)] if fresh else []
    client = NotebookClient(notebook, timeout=1000, km=kernel)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    return json.dumps([cell.outputs for cell in code(notebook)], ensure_ascii=False)


@each
@pytest.mark.timeout(1200)
def test_runs_with_answers_and_without(path, kernel):
    """As solved; then each exercise once more as it stands, and each check on every wrong answer that it knows."""
    notebook, open_ones = solved(read(path)), unanswered(read(path))
    checks = [cell.source for cell in code(notebook) if cell.source.startswith("built(")]
    notebook.cells += [nbformat.v4.new_code_cell(refusing(source)) for source in checks]
    solves(run(notebook, kernel))
    notebook.cells = open_ones
    said = run(notebook, kernel, fresh=False)
    assert said.count("○ Nothing to check yet") >= 2 and "○ not yet" in said and "✓" not in said


def unanswered(notebook):
    """The cells to fill in, as a reader finds them, each with the code up to the next text."""
    kept, inside = [], False
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", []) if cell.cell_type == "code" else []
        inside = cell.cell_type == "code" and (
            inside or any(tag.startswith(("exercise", "challenge")) for tag in tags)
        )
        kept += [cell] if inside else []
    return kept


def refusing(source):
    """The cell's check once more, on each wrong answer that it knows: refused with the sentence of that mistake."""
    call = ast.parse(source).body[0].value
    mistakes = ast.unparse(call.args[3])
    call.args[0] = ast.Name("_mistake")
    return (
        f"assert len({mistakes}) >= 3 and all(len(_sentence) > 20 for _sentence in {mistakes})\n"
        f"for _sentence, _mistake in {mistakes}.items():\n"
        f"    _verdict = {ast.unparse(call)}\n"
        "    assert not _verdict and _verdict.begun and _verdict.sentence == _sentence, (_sentence, _verdict)\n"
        f"_mistake = lambda first, *rest: 0 * {ast.unparse(call.args[1])}(first, *rest) + 7\n"
        f"assert 'constant' in repr({ast.unparse(call)})"
    )


@pytest.mark.soak
@each
def test_runs_as_a_reader_runs_it(path):
    """With every step of its trainings, in a kernel of its own."""
    notebook = solved(read(path))
    NotebookClient(notebook, timeout=3600).execute()
    solves(json.dumps([cell.outputs for cell in code(notebook)], ensure_ascii=False))


def solves(said):
    """What the exercises of a lesson that has run say of their solutions."""
    assert "Not yet" not in said and "○" not in said
    assert said.count("✓ Exact") + said.count("✓ Close:") >= 2
    assert "✓ solved" in said
