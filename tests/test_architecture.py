"""The arrows of the house: who may import whom. An import that goes against them fails here, by file and line."""

import ast
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

GROUND = {"knobs", "catalog", "results", "estimates", "formats"}
MATHS = {"kernels", "surrogates"}
PARTS = {"data", "encoders", "losses", "metrics", "samplers", "search", "reranking"}
MAY_IMPORT = {
    **{name: set() for name in GROUND},
    "catalog": {"knobs"},
    "surrogates": GROUND,
    "kernels": GROUND | {"surrogates"},
    **{name: GROUND | MATHS for name in PARTS},
    "wrappers": GROUND | MATHS | {"losses"},
    "training": GROUND | MATHS | PARTS | {"wrappers"},
    "published": set(),
    "recipes": {"published"},
    "runs": GROUND | MATHS | PARTS | {"wrappers", "training", "recipes"},
    "report": GROUND | MATHS | PARTS | {"training", "runs", "published"},
    "protocols": GROUND | MATHS | PARTS | {"wrappers", "training", "runs"},
    "trials": GROUND,
    "claims": GROUND | MATHS | PARTS | {"wrappers", "training", "runs", "trials"},
    "teaching": GROUND | MATHS | PARTS | {"wrappers", "training", "inspect"},
    "maps": GROUND | {"search"},
    "inspect": GROUND | MATHS | {"losses", "metrics"},
    "figures": GROUND | MATHS | {"inspect", "losses", "metrics", "published", "trials"},
    "widgets": GROUND | MATHS | {"inspect", "losses", "metrics", "figures"},
}
"""What each part of lab may import from lab. The CLI, the benchmark and the doctor may import everything."""

FREE = {"__init__", "__main__", "cli", "bench", "doctor"}


def imports(path: Path):
    """Every name that a file imports, in full and with its line: `lab.core.knobs.knob` for `from lab.core.knobs import knob`."""
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def part_of(path: Path) -> str:
    inside = path.relative_to(ROOT / "lab").parts
    return inside[0].removesuffix(".py")


def test_every_part_has_its_arrows():
    parts = {part_of(p) for p in (ROOT / "lab").rglob("*.py")}
    assert parts - FREE <= set(MAY_IMPORT), "a new part of lab needs its arrows here and in the README's picture"


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_lab_imports_follow_the_arrows(part):
    against = []
    for path in (ROOT / "lab").rglob("*.py"):
        if part_of(path) != part:
            continue
        for name, line in imports(path):
            pieces = name.split(".")
            if pieces[0] in {"app", "streamlit", "notebooks"}:
                against.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
            if pieces[0] == "lab" and len(pieces) > 1 and pieces[1] != part and pieces[1] not in MAY_IMPORT[part]:
                against.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not against, "\n".join(against)


def test_app_stands_on_lab_alone():
    for path in (ROOT / "app").rglob("*.py"):
        for name, line in imports(path):
            assert name.split(".")[0] not in {"tests", "notebooks"}, f"{path}:{line} imports {name}"


def test_no_file_imports_one_that_imports_it():
    """Imports inside functions and those for types count, too: a circle that they hide is still one."""
    files = {}
    for path in (file for top in ("lab", "app") for file in (ROOT / top).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: {file_of(one, files) for one, _ in imports(path)} - {None, name} for name, path in files.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as circle:
        pytest.fail("These files import each other in a circle: " + " <- ".join(circle.args[1]))


def file_of(name: str, files: dict[str, Path]) -> str | None:
    """The file that an imported name is in: `lab.runs.folder` for `lab.runs.folder.Run`; None for another library's."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name or None
