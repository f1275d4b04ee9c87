"""The arrows of the house: who may import whom. An import that goes against them fails here, by file and line."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

GROUND = {"knobs", "catalog", "results", "estimates", "regular"}
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
    """Every absolute or relative module name that a file imports, with its line."""
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield module, node.lineno
            if module == "lab":
                yield from ((f"lab.{alias.name}", node.lineno) for alias in node.names)


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
