"""Who may import whom: an import that goes against the table below fails here, by file and line."""

import ast
import functools
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PARTS: dict[str, tuple[str, ...]] = {
    "adaptation": ("data", "encoders", "evaluation", "report", "runs"),
    "core": (),
    "galleries": (),
    "install": (),
    "surrogates": (),
    "kernels": ("surrogates",),
    "data": (),
    "encoders": (),
    "samplers": (),
    "losses": ("kernels", "surrogates"),
    "metrics": ("kernels",),
    "search": ("galleries", "kernels"),
    "reranking": ("kernels",),
    "wrappers": ("kernels", "losses"),
    "evaluation": ("data", "metrics", "reranking", "search"),
    "training": ("data", "evaluation", "kernels", "metrics", "verdict"),
    "verdict": ("evaluation", "inspect"),
    "papers": (),
    "trials": (),
    "maps": ("evaluation", "inspect", "install", "kernels", "runs", "search"),
    "inspect": ("kernels", "losses", "metrics", "surrogates"),
    "figures": (
        "data", "inspect", "install", "kernels", "losses", "metrics", "papers", "surrogates", "trials", "verdict",
    ),
    "playground": ("data", "losses"),
    "widgets": ("figures", "playground"),
    "teaching": ("data", "encoders", "evaluation", "samplers", "search", "training"),
    "runs": (
        "data", "encoders", "evaluation", "galleries", "install", "kernels", "losses", "papers", "reranking",
        "training", "verdict", "wrappers",
    ),
    "threshold": ("evaluation", "kernels", "metrics", "runs"),
    "model": ("data", "galleries", "inspect", "runs", "search", "threshold"),
    "serving": ("data", "model"),
    "report": ("data", "encoders", "evaluation", "figures", "maps", "papers", "runs", "search", "training", "verdict"),
    "launchers": ("data", "install", "runs"),
    "sweeps": ("launchers", "runs", "training"),
    "exporters": ("data", "encoders", "maps", "runs", "threshold"),
    "protocols": ("data", "evaluation", "metrics", "papers", "runs", "sweeps", "training"),
    "claims": (
        "data", "encoders", "evaluation", "install", "kernels", "launchers", "metrics", "papers", "reranking", "runs",
        "search", "training", "trials",
    ),
}  # fmt: skip
"""What each part of lab may import besides `core`. CONTRIBUTING's list is made from this table."""

FREE = {"__init__", "__main__", "cli", "bench", "doctor"}
"""Parts that may import every other: the command, the benchmark, the doctor."""


def picture() -> str:
    """The table above as CONTRIBUTING shows it."""
    width = max(map(len, PARTS))
    lines = [f"{part:<{width}}  {', '.join(parts) or '-'}" for part, parts in PARTS.items()]
    return "\n".join([f"{'part':<{width}}  may import core and", *lines])


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@functools.cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Every name that a file imports, in full and with its line: `lab.core.knobs.knob` where that is imported from."""
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
    """Every file of lab and app."""
    for top in ("lab", "app"):
        yield from (ROOT / top).rglob("*.py")


def part_of(path: Path) -> str:
    inside = path.relative_to(ROOT / "lab").parts
    return inside[0].removesuffix(".py")


def test_every_part_has_its_arrows():
    parts = {part_of(p) for p in (ROOT / "lab").rglob("*.py")}
    assert parts - FREE == set(PARTS), "a new part of lab needs its arrows in the table above"


def test_contributing_shows_this_table():
    assert f"```\n{picture()}\n```" in (ROOT / "CONTRIBUTING.md").read_text(), (
        "CONTRIBUTING's list of imports is another; print the new one with `python tests/test_architecture.py`"
    )


@pytest.mark.parametrize("part", PARTS)
def test_lab_imports_follow_the_arrows(part):
    allowed = {part, "core", *PARTS[part]}
    against = []
    for path in (ROOT / "lab").rglob("*.py"):
        for name, line in imports(path) if part_of(path) == part else ():
            pieces = name.split(".")
            outside = pieces[0] in {"streamlit", "notebooks", "tests"}
            if outside or (pieces[0] == "lab" and len(pieces) > 1 and pieces[1] not in allowed):
                against.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not against, "\n".join(against)


ABROAD = {
    "__main__ -> lab.cli._output",  # the command's own beginning
}
"""Who uses a private module of another part, and why. All else that is wanted abroad, a part's `__init__` gives."""


def test_private_modules_are_used_at_home():
    used = set()
    for path in (ROOT / "lab").rglob("*.py"):
        home = path.relative_to(ROOT).parts[:-1]
        for name, _ in imports(path):
            parts = name.split(".")
            hidden = next((i for i, part in enumerate(parts) if part.startswith("_") and not part.endswith("__")), None)
            beside = len(home) > 1 and tuple(parts[: len(home)]) == home  # a name of a file in the same folder
            if parts[0] == "lab" and hidden is not None and tuple(parts[:hidden]) != home[:hidden] and not beside:
                used.add(f"{part_of(path)} -> {'.'.join(parts[: hidden + 1])}")
    assert used == ABROAD


def test_no_arrow_of_the_table_is_idle():
    used = {
        (part_of(path), name.split(".")[1])
        for path in (ROOT / "lab").rglob("*.py")
        for name, _ in imports(path)
        if name.startswith("lab.")
    }
    idle = [f"{part} -> {other}" for part, others in PARTS.items() for other in others if (part, other) not in used]
    assert not idle, f"nothing uses {', '.join(idle)}; take it out of the table"


CROWDED = 12
"""Files in a folder that are no entries of a catalogue: more are hard to survey."""


def test_no_folder_is_crowded():
    crowded = {}
    for folder in {p.parent for p in sources()}:
        catalogued = "Catalog(" in (folder / "__init__.py").read_text() or folder.name in ("cli", "claims", "bench")
        files = [p.name for p in folder.glob("*.py") if p.name != "__init__.py"]
        helpers = [name for name in files if not catalogued or name.startswith("_")]
        if len(helpers) > CROWDED:
            crowded[str(folder.relative_to(ROOT))] = sorted(helpers)
    assert not crowded, crowded


LONG = 60
"""Lines of a function, its docstring included."""


def test_no_function_is_long():
    long = []
    for path in sources():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= LONG:
                long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert not long, f"more than {LONG} lines: " + ", ".join(long)


FLOORS = ("shared", "components", "forms", "results", "answers", "views")
"""Folders of app from the lowest to the highest: each imports those before it. Single files serve or assemble them."""


def test_nothing_imports_the_dashboard():
    for path in (ROOT / "lab").rglob("*.py"):
        for name, line in imports(path):
            assert name.split(".")[0] != "app", f"{path.relative_to(ROOT)}:{line} imports {name}"


def test_no_arrow_runs_up_inside_the_dashboard():
    against = []
    for path in (ROOT / "app").rglob("*.py"):
        floor = path.relative_to(ROOT / "app").parts[0]
        for name, line in imports(path) if floor in FLOORS else ():
            parts = name.split(".")
            above = len(parts) > 1 and parts[0] == "app" and parts[1] in FLOORS[FLOORS.index(floor) + 1 :]
            page = floor == parts[1] == "views" and parts[2:3] != [path.parent.name] if len(parts) > 1 else False
            if above or page or parts[0] in {"notebooks", "tests", "scripts"}:
                against.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not against, "\n".join(against)


PAGE = 5
"""Files of a page at most."""


@pytest.mark.parametrize("page", sorted(p.name for p in (ROOT / "app" / "views").iterdir() if (p / "page.py").exists()))
def test_a_page_is_a_few_files_around_a_frozen_scene(page):
    files = sorted((ROOT / "app" / "views" / page).glob("*.py"))
    assert len(files) <= PAGE, [file.name for file in files]
    classes = [node for file in files for node in tree(file).body if isinstance(node, ast.ClassDef)]
    scenes = [node for node in classes if node.name == "Scene"]
    assert len(scenes) == 1 and "frozen=True" in ast.unparse(scenes[0].decorator_list[0]), "one frozen Scene a page"


def test_no_file_imports_one_that_imports_it():
    """Imports inside functions and those for types count, too: a circle that they hide is still one."""
    files = {}
    for path in sources():
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts).removesuffix(".__init__")] = path
    graph = {name: {file_of(one, files) for one, _ in imports(path)} - {None, name} for name, path in files.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as circle:
        pytest.fail("These files import each other in a circle: " + " <- ".join(circle.args[1]))


def file_of(name: str, files: dict[str, Path]) -> str | None:
    """The file that an imported name is in: `lab.runs.folder` for its `Run`; None for another library's."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name or None


if __name__ == "__main__":
    print(picture())
