"""Each how-to of CONTRIBUTING and docs/extending, followed word for word in a scratch copy: files, then commands."""

import importlib
import json
import re
import shlex

import pytest
from PIL import Image

from tests import scratch
from tests.core.test_catalog import PACKAGES

HOW_TOS = scratch.how_tos()
INSIDE = [title for title, blocks in HOW_TOS.items() if title.startswith("A") and blocks]
OUTSIDE, NOTEBOOK = "From another package", "From a notebook"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package with everything that the sections tell one to add, and a few images."""
    root = scratch.copied(tmp_path_factory.mktemp("contributing"))
    for title in INSIDE:
        for kind, path, text in HOW_TOS[title]:
            if kind == "pyi":
                scratch.add_line(root, path, text)
            elif path:
                assert not (root / path).exists(), f"{path} would overwrite a file"
                scratch.put(root, path, text)
    (root / "pictures").mkdir()
    for number in range(24):
        Image.new("RGB", (20, 16), (10 * number, 90, 0)).save(
            root / "pictures" / f"class{number // 4}_{number}.png"
        )
    return root


@pytest.fixture(scope="module")
def heard(copy):
    """What each command of each section says, section after section as a reader goes through the page, and `STANDS`. A
    process serves them all: it takes longer to load torch than to do what most of them ask."""
    lines = {title: lines_of(title) for title in INSIDE}
    words = [words_of(line) for title in INSIDE for line in lines[title]]
    said = iter(scratch.follow(copy, [*words, ["python", "-c", STANDS]]))
    return {title: [(line, next(said)) for line in lines[title]] for title in INSIDE} | {
        STANDS: next(said)
    }


def lines_of(title: str) -> list[str]:
    """The commands of a section."""
    return [line for kind, _, text in HOW_TOS[title] if kind == "sh" for line in text.splitlines()]


def words_of(line: str) -> list[str]:
    words = shlex.split(line)
    return [*words, *(["-p", "no:cacheprovider"] if words[0] == "pytest" else [])]


def test_each_thing_is_one_file_its_test_and_a_line():
    assert INSIDE == [
        "A loss", "A metric", "A page", "A figure", "A data set", "A re-ranker", "An exporter",
    ]  # fmt: skip
    for title in INSIDE:
        lists = [text for kind, _, text in HOW_TOS[title] if kind == "pyi"]
        assert len(lists) == (title != "A page") and all(text.count("\n") == 1 for text in lists), (
            title
        )
        paths = [path for kind, path, _ in HOW_TOS[title] if path and kind != "pyi"]
        assert [path for path in paths if path.startswith("tests/")] == paths[-1:], title
        assert len({path.rpartition("/")[0] for path in paths[:-1]}) == 1, (
            f"{title} touches more than one place"
        )


@pytest.mark.slow
@pytest.mark.parametrize("title", INSIDE)
def test_what_a_how_to_promises_comes_true(heard, title):
    assert heard[title]
    for line, said in heard[title]:
        if line.startswith("pytest"):
            assert re.search(r"\d+ passed", said), said
        elif line.startswith("lab list data my_set "):
            assert said.startswith("split"), "sizes, and no problem"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["ruff check .", "ruff format --check .", "mypy -p lab -p app", "importlinter"]
)
def test_what_was_added_passes_lint_types_and_import_contracts(copy, words):
    program, *rest = words.split()
    if program == "importlinter":
        scratch.run(
            copy,
            "-c",
            "from importlinter.cli import lint_imports_command as lint; lint()",
            "--no-cache",
        )
    else:
        scratch.run(copy, "-m", program, *rest)


@pytest.mark.slow
def test_what_was_added_passes_the_tests_of_every_entry(copy):
    said = scratch.run(
        copy,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "tests/test_architecture.py",
        "tests/core/test_catalog.py",
    )
    assert re.search(r"\d+ passed", said), said


STANDS = """
import json; from app.views.figures import figure_topics
from app.answers import comparison_choice
from lab.runs import SECTIONS; import lab
names = [SECTIONS[part].names() for part in ("metrics", "data")]
print(json.dumps([figure_topics.topics(), *names, lab.reranking.names(), lab.exporters.names()]))
"""


@pytest.mark.slow
def test_it_stands_where_the_dashboard_looks(heard):
    topics, metrics, data, rerankers, exporters = json.loads(heard[STANDS].splitlines()[-1])
    assert "my_figure" in topics["How is a ranked list scored?"]
    assert "my_metric" in metrics and "my_set" in data
    assert "my_reranker" in rerankers and "my_exporter" in exporters


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """The folder of the section's package, as pip would have installed it."""
    root = tmp_path_factory.mktemp("outside")
    for _, path, text in HOW_TOS[OUTSIDE]:
        if path.endswith("pyproject.toml"):
            scratch.installed(root, text)
        elif path:
            scratch.put(root, path.rpartition("/")[2], text)
    return root


@pytest.mark.slow
def test_another_package_brings_a_loss(copy, outside):
    words = [
        *map(words_of, [*lines_of(OUTSIDE), "lab list losses --json"]),
        ["python", "-c", DOCTOR],
    ]
    *_, losses, plugins = scratch.follow(copy, words, also=outside)
    assert "far_loss" in losses and "my-losses" in plugins
    told = scratch.run(copy, "-c", WITHOUT)
    assert (
        "There is no loss 'far_loss'" in told
        and "known as soon as that package is installed" in told
    )


DOCTOR = "from lab import doctor; print(*doctor._plugins())"
WITHOUT = """
import sys, lab; from lab.__main__ import main
sys.stderr = sys.stdout
assert main(["list", "losses", "far_loss"])
run = lab.runs.open("third"); print(run.config.missing[0], run.scores("test")["values"])
"""


def test_a_notebook_adds_a_loss():
    import torch

    import lab.figures
    import lab.losses

    ((kind, path, text),) = [block for block in HOW_TOS[NOTEBOOK] if block[1] == "notebook"]
    names: dict = {"__name__": "notebook"}
    try:
        exec(text, names)
        loss = names["loss"](torch.tensor([[1.0, 0.0], [0.8, 0.6]]), torch.tensor([0, 0]))
        assert loss.item() == pytest.approx(0.2) and "near_loss" in lab.losses.names()
        shown = lab.figures.create("ap_strip", loss="near_loss").numbers()
        assert (shown["push"]["near_loss"] > 0).tolist() == shown["relevant"].tolist(), (
            "positives are pulled"
        )
    finally:
        lab.losses._catalog.catalog._added.pop("near_loss", None)


def test_every_extension_point_is_listed_with_methods_that_it_has():
    text = (scratch.ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| `(lab\.[\w.]+)`[^|]*\| ([^|]+) \|$", text, re.MULTILINE)
    packages = set()
    for what, path, methods in rows:
        package, _, name = path.rpartition(".")
        packages.add(package)
        entry = getattr(importlib.import_module(package), name)
        for method in re.findall(r"`(\w+)\(", methods):
            assert hasattr(entry, method) or method == "embed_text", (
                f"{what}: {path} has no {method}"
            )
    assert packages == {f"lab.{name}" for name in PACKAGES}


def test_the_numbers_of_the_papers_are_those_of_the_tables():
    from lab.papers.tables import TITLES

    text = (scratch.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for number, title in TITLES.items():
        assert re.search(
            rf"^\| {number} \| {re.escape(title.short)} \| {re.escape(title.full)} \|$",
            text,
            re.MULTILINE,
        ), number
