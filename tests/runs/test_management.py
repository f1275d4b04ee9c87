"""Notes, names and the trash of run folders."""

from __future__ import annotations

import time

import pytest

from lab.runs import Run, RunConfig, create, management
from lab.runs import list as runs_in
from lab.runs.folder import RUNNING
from lab.runs.writer import Writer


@pytest.fixture
def run(tmp_path) -> Run:
    return create(RunConfig.of(), tmp_path, "one")


def test_remarks_come_back_clean(run):
    assert management.notes(run) == {"note": "", "tags": [], "group": ""}
    management.annotate(run, "looks <b>odd</b>\n", [" best ", "best", "", "seed 3"])
    assert management.notes(run) == {
        "note": "looks <b>odd</b>\n",
        "tags": ["best", "seed 3"],
        "group": "",
    }


def test_what_is_not_given_stays(run):
    management.annotate(run, "a note", ["tag"], " taus ")
    assert management.annotate(run, tags=["other"]) == {
        "note": "a note",
        "tags": ["other"],
        "group": "taus",
    }
    assert (
        management.annotate(run, group="")
        == management.notes(run)
        == {"note": "a note", "tags": ["other"], "group": ""}
    )
    for bad in ("x" * 101, "two\nlines"):
        with pytest.raises(ValueError, match="one line of at most 100"):
            management.annotate(run, group=bad)


@pytest.mark.parametrize("name", ["", "../out", ".hidden", "a" * 101, "one"])
def test_bad_and_taken_names_are_refused(run, tmp_path, name):
    with pytest.raises(ValueError):
        management.rename(run, name)
    assert [r.name for r in runs_in(tmp_path)] == ["one"]


def test_the_trash_gives_back(run, tmp_path):
    thrown = management.trash(run)
    assert runs_in(tmp_path) == ()
    assert management.trashed(tmp_path) == (thrown,)
    create(RunConfig.of(), tmp_path, "one")
    back = management.restore(thrown)
    assert back.name == "one-2" and back.config == RunConfig.of()
    assert management.trashed(tmp_path) == ()


def test_a_run_at_work_stays_where_it_is(run):
    writer = Writer(run)
    writer.claim()
    writer.status(RUNNING, step=1, updated=time.time())
    for act in (management.trash, lambda r: management.rename(r, "two")):
        with pytest.raises(ValueError, match="already running"):
            act(run)
    assert run.path.is_dir()
