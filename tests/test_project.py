"""The project's own promises: README's tree and commands, the conda door, no names of machines in the files."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import lab

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def tree_paths() -> dict[str, str]:
    """Paths of the README's tree with the purpose that stands beside each."""
    block = re.search(r"## The tree\n.*?```\n(.*?)```", README, re.S).group(1)
    found, folders = {}, []
    for line in block.splitlines():
        match = re.match(r"^( *)(\S+)\s{2,}(\S.*)$", line)
        assert match, f"README tree: {line!r} is not 'name  purpose'"
        depth = len(match[1]) // 2
        folders[depth:] = [match[2].rstrip("/")]
        found["/".join(folders)] = match[3]
    return found


def test_every_path_of_the_tree_exists():
    for path in tree_paths():
        assert (ROOT / path).exists(), f"README names {path}, which is not there"


@pytest.mark.parametrize("folder", ["", "lab"])
def test_the_tree_names_everything_on_disk(folder):
    named = set(tree_paths())
    inside = {p[len(folder) :].lstrip("/").split("/")[0] for p in TRACKED if p.startswith(folder)}
    missing = {n for n in inside if not n.startswith((".", "__init__")) and f"{folder}/{n}".lstrip("/") not in named}
    assert not missing, f"README's tree lacks {sorted(missing)} in {folder or 'the root'}"


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.S)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_the_readme_shows_the_two_commands():
    assert {"make demo", "make test"} <= set(commands())


@pytest.mark.parametrize("command", sorted({c for c in commands() if c.startswith("make ")}))
def test_every_make_command_has_a_target(command):
    target = command.split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), f"no target for {command!r}"


@pytest.mark.parametrize("command", sorted({c for c in commands() if c.startswith("lab ")}))
def test_every_lab_command_has_its_flags(command):
    words = command.split()
    depth = 3 if words[1:3] == ["data", "check"] else 2
    done = subprocess.run(
        [sys.executable, "-m", "lab", *words[1:depth], "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for flag in (w.split("=")[0] for w in words[depth:] if w.startswith("--") and "." not in w):
        assert flag in done.stdout, f"{command!r}: {flag} is not in its --help"


def test_the_conda_door_opens_on_the_same_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(d["pip"] for d in conda["dependencies"] if isinstance(d, dict))
    extras = re.fullmatch(r"-e \.\[(.*)\]", pip[0]).group(1).split(",")
    assert set(extras) == set(project["optional-dependencies"]), "environment.yml must install every extra"
    assert len(pip) == 1, "everything else belongs in pyproject.toml"
    assert f"python{project['requires-python']}" in conda["dependencies"]


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == project["version"] == lab.__version__
    assert project["version"] in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_names_the_four_papers():
    papers = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    titles = {title.partition(" (")[0] for title in lab.papers.tables.TITLES.values()}
    assert {paper["title"] for paper in papers} == titles
    for paper in papers:
        assert paper["authors"] and paper["year"] and (paper.get("journal") or paper.get("collection-title"))


def test_no_file_names_a_machine_or_a_registry():
    hosts = "|".join(
        ["pypi" + r"\.org", "python" + "hosted", "registry.npm" + "js", "deb.deb" + "ian", "anaconda" + r"\.org"]
    )
    path = "|".join(["/wo" + "rk/", "/ro" + "ot/", "/opt/" + "pypi"])
    pattern = re.compile(f"{hosts}|{path}")
    for name in TRACKED:
        file = ROOT / name
        if file.suffix in {".npz", ".png", ".webp", ".jpg", ".safetensors", ".gif"} or not file.is_file():
            continue
        found = pattern.search(file.read_text(errors="ignore"))
        assert not found, f"{name} names {found.group(0)!r}"
