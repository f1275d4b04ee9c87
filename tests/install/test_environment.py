"""What meta.json says of the source: our revision, never that of the project in whose folder we are installed."""

import subprocess

import pytest

from lab.core.installed import environment


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Somebody's own repository with one commit, in which this module lies and is not tracked."""
    inside = tmp_path / "venv" / "environment.py"
    inside.parent.mkdir()
    inside.touch()
    (tmp_path / "theirs.py").touch()
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "theirs.py")
    commit(tmp_path)
    monkeypatch.setattr(environment, "__file__", str(inside))
    return tmp_path


def git(folder, *words) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder) -> None:
    git(
        folder,
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "commit",
        "--quiet",
        "-m",
        "theirs",
    )


def test_a_source_that_the_repository_holds_has_its_revision(project):
    git(project, "add", "venv")
    commit(project)
    revision = git(project, "rev-parse", "HEAD")[:12]
    assert environment.git_revision() == revision
    (project / "venv" / "environment.py").write_text("changed")
    assert environment.git_revision() == revision + "+"
