"""The project's own promises: the tree, README's commands, the conda environment, no names of machines in the files."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import lab.cli
import lab.papers.tables
from lab.__main__ import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in ("command", "own-data"))


def tracked() -> list[str]:
    """Every file of the project: git's list, or that which an unpacked source distribution brings."""
    if (ROOT / ".git").exists():
        return subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
    listed = (ROOT / "rankscope.egg-info" / "SOURCES.txt").read_text(encoding="utf-8").splitlines()
    return [name for name in listed if not name.startswith("rankscope.egg-info")]


TRACKED = tracked()


UNTESTED = {"docs", "s3", "gcs"}
"""Extras that no test installs: too heavy, at odds with the versions of the others, or of stores that are not here."""


def tree_paths() -> dict[str, str]:
    """Paths of CONTRIBUTING's tree with the purpose that stands beside each."""
    block = re.search(
        r"## The tree\n.*?```\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S
    ).group(1)
    found, folders = {}, []
    for line in block.splitlines():
        match = re.match(r"^( *)(\S+)\s{2,}(\S.*)$", line)
        assert match, f"CONTRIBUTING's tree: {line!r} is not 'name  purpose'"
        depth = len(match[1]) // 2
        folders[depth:] = [match[2].rstrip("/")]
        found["/".join(folders)] = match[3]
    return found


def test_every_path_of_the_tree_exists():
    for path in tree_paths():
        assert (ROOT / path).exists(), f"CONTRIBUTING names {path}, which is not there"


@pytest.mark.parametrize("folder", ["", "lab"])
def test_the_tree_names_everything_on_disk(folder):
    named = set(tree_paths())
    inside = {p[len(folder) :].lstrip("/").split("/")[0] for p in TRACKED if p.startswith(folder)}
    missing = {
        n
        for n in inside
        if not n.startswith((".", "__init__")) and f"{folder}/{n}".lstrip("/") not in named
    }
    assert not missing, f"CONTRIBUTING's tree lacks {sorted(missing)} in {folder or 'the root'}"


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README + PAGES, re.S)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_the_readme_shows_the_two_commands():
    assert {"make demo", "make test"} <= set(commands())


@pytest.mark.parametrize("command", sorted({c for c in commands() if c.startswith("make ")}))
def test_every_make_command_has_a_target(command):
    target = command.split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), (
        f"no target for {command!r}"
    )


@pytest.mark.parametrize("command", sorted({c for c in commands() if re.match(r"lab \w", c)}))
def test_every_lab_command_has_its_flags(command, capsys):
    words = command.split()[1:]
    with pytest.raises(SystemExit, match="^0$"):
        main(
            [
                *words[: 1 + (len(words) > 1 and words[1] in lab.cli.names(words[0]))],
                "--help",
                "--help-all",
            ]
        )
    said = capsys.readouterr().out
    for flag in (w.split("=")[0] for w in words if w.startswith("--") and "." not in w):
        assert flag in said, f"{command!r}: {flag} is not in its --help"


def brought_by(extras: list[str], project: dict) -> set[str]:
    """These extras and all that they bring."""
    found, open_ = set(), list(extras)
    while open_:
        extra = open_.pop()
        found.add(extra)
        for line in project["optional-dependencies"][extra]:
            more = re.fullmatch(r"rankscope\[(.*)\]", line)
            open_ += more[1].split(",") if more else []
    return found


def test_conda_installs_the_same_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(d["pip"] for d in conda["dependencies"] if isinstance(d, dict))
    extras = re.fullmatch(r"-e \.\[(.*)\]", pip[-1]).group(1).split(",")
    assert brought_by(extras, project) == set(project["optional-dependencies"]) - UNTESTED
    named = {
        "jupyterlab",
        "ipywidgets",
        "streamlit",
        "torch",
        "timm",
        "plotly",
        "umap-learn",
        "faiss-gpu",
    }
    assert {re.match(r"[\w-]+", line)[0] for line in pip[:-1]} == named, (
        "everything else belongs in pyproject.toml"
    )
    assert set(pip[:-1]) <= {
        *project["dependencies"],
        *sum(project["optional-dependencies"].values(), []),
    }
    assert f"python{project['requires-python']}" in conda["dependencies"]


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == project["version"] == lab.__version__
    assert project["version"] in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_names_the_four_papers():
    papers = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    titles = {
        title.full.partition(" (")[0]
        for number, title in lab.papers.tables.TITLES.items()
        if number != "002"
    }
    assert {paper["title"] for paper in papers} == titles
    for paper in papers:
        assert (
            paper["authors"]
            and paper["year"]
            and (paper.get("journal") or paper.get("collection-title"))
        )


def test_no_file_names_a_machine_or_a_registry():
    hosts = "|".join(
        [
            "pypi" + r"\.org",
            "python" + "hosted",
            "registry.npm" + "js",
            "deb.deb" + "ian",
            "anaconda" + r"\.org",
        ]
    )
    path = "|".join(["/wo" + "rk/", "/ro" + "ot/", "/opt/" + "pypi"])
    pattern = re.compile(f"{hosts}|{path}")
    for name in TRACKED:
        file = ROOT / name
        if (
            file.suffix in {".npz", ".png", ".webp", ".jpg", ".safetensors", ".gif"}
            or not file.is_file()
        ):
            continue
        found = pattern.search(file.read_text(errors="ignore"))
        assert not found, f"{name} names {found.group(0)!r}"


def test_every_part_is_reached_after_import_lab_and_none_is_loaded_by_it():
    words = "import sys, lab; assert not {'torch', 'numpy'} & set(sys.modules)"
    words += "; [getattr(lab, name) for name in ('core', 'integrations', 'doctor', 'papers')]"
    words += "; assert {'core', 'losses', 'doctor'} <= set(dir(lab))"
    subprocess.run([sys.executable, "-c", words], check=True, cwd=ROOT)


def test_a_temperature_is_called_one_everywhere():
    import lab.figures
    import lab.losses
    from lab.core.knobs import describe

    for catalogue in (lab.losses, lab.figures):
        for name in catalogue.names():
            for knob in describe(catalogue.get(name).Knobs):
                if knob.name in ("tau", "tau1", "tau2", "temperature"):
                    assert "emperature" in knob.help, f"{name}.{knob.name}: {knob.help}"


def test_the_constraints_are_versions_with_hashes_that_the_ranges_allow():
    from packaging.requirements import Requirement

    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    text = "\n".join(lines) + "\n"
    one = r"([a-z0-9-]+)==([0-9][0-9a-z.]*) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
    assert re.fullmatch(f"(?:{one})+", text), "names, versions and hashes, nothing else"
    tested = {name: version for name, version, _ in re.findall(one, text)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        name: needed
        for name, needed in project["optional-dependencies"].items()
        if name not in UNTESTED
    }
    for text in [*project["dependencies"], *(r for extra in extras.values() for r in extra)]:
        needed = Requirement(text)
        name = needed.name.lower()
        if name != "rankscope" and (needed.marker is None or needed.marker.evaluate()):
            assert name in tested, f"constraints.txt lacks {name}"
            assert needed.specifier.contains(tested[name]), (
                f"{text} excludes the tested {tested[name]}"
            )


@pytest.mark.parametrize("name", ["streamlit", "plotly", "pydantic", "numpy", "torch"])
def test_what_breaks_with_a_major_version_has_an_upper_bound(name):
    project = (ROOT / "pyproject.toml").read_text()
    assert re.search(rf'"{name}>=[^",]+,<\d+(\.\d+)?"', project), f"{name} has no upper bound"


@pytest.mark.parametrize("name", ["site.yml", "test.yml"])
def test_workflows_name_actions_by_digest_and_have_least_rights(name):
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for title, job in workflow["jobs"].items():
        used = [step["uses"] for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used), title
        if "permissions" in job:  # only what publishes, which installs and runs nothing
            assert not any("run" in step for step in job["steps"]), title


def test_the_workflow_for_forks_runs_the_tests_and_the_audit():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    steps = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    assert any(step.startswith("make test") for step in steps) and any(
        step.startswith("pip-audit") for step in steps
    )
