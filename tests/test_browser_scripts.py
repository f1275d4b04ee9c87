"""What runs in the browser was built from the sources that are here, and nobody has edited what was built."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "scripts" / "browser"
BUILD = "run `npm install` and `npm run build` in scripts/browser, and commit what it writes"


def outdated(sources: Path, root: Path) -> list[str]:
    """Files that are not as they were when the scripts were built, in folders of sources and of the repository."""
    record = json.loads((sources / "built.json").read_text("utf-8"))
    scripts = {path.relative_to(sources).as_posix() for path in sources.rglob("*.js")}
    now = {name for name in scripts if not name.startswith("node_modules/")} | {"package.json"}
    wrong = sorted(now ^ record["sources"].keys())
    for folder, digests in ((sources, record["sources"]), (root, record["outputs"])):
        for name, digest in digests.items():
            path = folder / name
            if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                wrong.append(name)
    return wrong + [name for name in record["outputs"] if not (root / name).is_file()]


def test_the_scripts_were_built_from_these_sources():
    wrong = outdated(SOURCES, ROOT)
    assert not wrong, f"{', '.join(wrong)} changed since the scripts were built: {BUILD}."


@pytest.mark.parametrize("change", ["edited", "added", "removed", "built", "lost"])
def test_a_change_that_was_not_built_is_found(tmp_path, change):
    (tmp_path / "web").mkdir()
    contents = {"web/a.js": "1", "web/package.json": "{}", "out.js": "1"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    digests = {
        name: hashlib.sha256(content.encode()).hexdigest() for name, content in contents.items()
    }
    sources = {"a.js": digests["web/a.js"], "package.json": digests["web/package.json"]}
    record = {"sources": sources, "outputs": {"out.js": digests["out.js"]}}
    (tmp_path / "web" / "built.json").write_text(json.dumps(record))
    assert outdated(tmp_path / "web", tmp_path) == []
    if change in ("edited", "built"):
        (tmp_path / {"edited": "web/a.js", "built": "out.js"}[change]).write_text("2")
    elif change == "added":
        (tmp_path / "web" / "b.js").write_text("1")
    else:
        (tmp_path / {"removed": "web/a.js", "lost": "out.js"}[change]).unlink()
    assert len(outdated(tmp_path / "web", tmp_path)) == 1
