"""The structure of the code: layers (import-linter reads them from pyproject.toml), private modules, no circles."""

import ast
import functools
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

ABROAD = {
    "__main__ -> lab.cli._output",  # the command's own beginning
}
"""Uses of a private module outside its package, and why each is there."""


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@functools.cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Return every name that a file imports, in full and with its line (`lab.core.knobs.knob`)."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def sources() -> Iterator[Path]:
    """Yield every Python file of lab and app."""
    for top in ("lab", "app"):
        yield from (ROOT / top).rglob("*.py")


def part_of(path: Path) -> str:
    inside = path.relative_to(ROOT / "lab").parts
    return inside[0].removesuffix(".py")


def test_imports_follow_the_layers():
    """`lint-imports` holds every import of lab and app to the contracts in pyproject.toml."""
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    checked = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_lab_imports_neither_streamlit_nor_tests():
    wrong = []
    for path in (ROOT / "lab").rglob("*.py"):
        for name, line in imports(path):
            if name.split(".")[0] in {"streamlit", "notebooks", "tests", "scripts"}:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_private_modules_are_used_at_home():
    used = set()
    for path in (ROOT / "lab").rglob("*.py"):
        home = path.relative_to(ROOT).parts[:-1]
        for name, _ in imports(path):
            parts = name.split(".")
            hidden = next(
                (
                    i
                    for i, part in enumerate(parts)
                    if part.startswith("_") and not part.endswith("__")
                ),
                None,
            )
            # a name of a file in the same folder
            beside = len(home) > 1 and tuple(parts[: len(home)]) == home
            if (
                parts[0] == "lab"
                and hidden is not None
                and tuple(parts[:hidden]) != home[:hidden]
                and not beside
            ):
                used.add(f"{part_of(path)} -> {'.'.join(parts[: hidden + 1])}")
    assert used == ABROAD


def test_no_file_imports_one_that_imports_it():
    """Imports inside functions and imports for types count, too: a circle that they hide is still a circle."""
    files = {}
    for path in sources():
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts).removesuffix(".__init__")] = path
    graph = {
        name: {file_of(one, files) for one, _ in imports(path)} - {None, name}
        for name, path in files.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as circle:
        pytest.fail("These files import each other in a circle: " + " <- ".join(circle.args[1]))


def file_of(name: str, files: dict[str, Path]) -> str | None:
    """Return the module that an imported name is in (`lab.runs.folder` for its `Run`), or None for another library."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name or None
