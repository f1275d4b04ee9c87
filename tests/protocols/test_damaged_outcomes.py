"""Damaged settings, measurements and outcomes of protocols end in answers, or in one sentence that names the file."""

from __future__ import annotations

import json
import random

import pytest

import lab.figures
from lab.core.outcome_file import OutcomeFile, read_outcome
from lab.core.stored import Scores
from lab.figures.own_runs.reference_scores import reproduced
from lab.protocols._outcome import Outcome, merge, summarise
from lab.protocols.reality_check import FoldsFile
from lab.sweeps import Bench
from scripts.soak.damaged_files import as_json, damaged_bytes, damaged_text, trouble
from tests.figures.test_measured_tricks import outcome as tricks

from .conftest import finish

FOLDS = {
    "width": 8,
    "separated": {"MAP@R": 0.5, "r@1": None},
    "concatenated": {"MAP@R": 0.6, "r@1": None},
}
SETTINGS = {"protocol": "tricks", "knobs": {"seeds": 2}, "config": {"data": {"name": "emoji7"}}}


def no_work():
    """A measurement that must not begin, since its file is there."""
    raise AssertionError("measured again")
    yield


def reproduction() -> Outcome:
    rows = [summarise({"score": "r@1", "published": 0.8}, {"ours": 0.7}, {"ours": 0.8})]
    return Outcome(
        "reproduction", "x", "seeds", {"recipe": "rsk_cars196_r50_512"}, tuple(rows), ("a note",)
    )


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "bench")


@pytest.fixture
def readers(bench, tmp_path):
    """A file, what it holds when it is whole, and what reads it."""
    folder, outcome = bench.folder / "measured", tmp_path / "outcome.json"
    return [
        (bench.folder / "protocol.json", SETTINGS, lambda: bench.begin(SETTINGS)),
        (
            folder / "scores.json",
            FOLDS["separated"],
            lambda: finish(bench.kept("scores", no_work(), Scores)),
        ),
        (folder / "folds.json", FOLDS, lambda: finish(bench.kept("folds", no_work(), FoldsFile))),
        (
            folder / "judged.json",
            reproduction().as_json(),
            lambda: Outcome.read(
                finish(bench.kept("judged", no_work(), OutcomeFile))[0]
            ).as_markdown(),
        ),
        (
            outcome,
            tricks(),
            lambda: lab.figures.create("measured_tricks", file=str(outcome)).numbers(),
        ),
        (outcome, reproduction().as_json(), lambda: reproduced(str(outcome), "Cars196")),
    ]


def test_a_damaged_file_ends_in_an_answer_or_one_sentence(readers):
    chance = random.Random(3)
    for path, whole, read in readers:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = as_json(whole)
        path.write_bytes(content)
        assert trouble(read) == ""
        for _ in range(60):
            if chance.random() < 0.2:
                bad = damaged_bytes(content, chance)
            else:
                bad = damaged_text(content, chance, as_json, json.loads)
            path.write_bytes(bad)
            assert trouble(read) == "", f"{path.name}: {bad[:300]!r}"


def test_the_sentence_names_the_file_the_field_and_what_to_do(bench):
    path = bench.folder / "measured" / "seed-0.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(as_json({**FOLDS, "width": "8"}))
    with pytest.raises(ValueError) as caught:
        finish(bench.kept("seed-0", no_work(), FoldsFile))
    assert str(caught.value) == (
        f"{path} is damaged: width must be a whole number, got '8'. Move that file away, and it is measured again."
    )
    (bench.folder / "protocol.json").write_text("[]")
    with pytest.raises(
        ValueError, match="protocol.json is no JSON object: it holds a list. Choose another name"
    ):
        bench.begin(SETTINGS)


def test_measurements_are_written_once_also_where_nothing_could_be_measured(bench):
    def work():
        yield from ()
        return {"MAP@R": float("nan"), "r@1": 0.5}

    for once in (work(), no_work()):
        assert finish(bench.kept("seed-0", once, Scores))[0] == {"MAP@R": None, "r@1": 0.5}


def test_outcomes_with_other_rows_are_not_joined():
    one = reproduction()
    other = Outcome(
        one.protocol, one.source, one.over, one.knobs, (summarise({}, {"theirs": 0.1}),)
    )
    with pytest.raises(
        ValueError, match="measured of the seeds differs in rows or columns; move the folder"
    ):
        merge([one, other], "seeds")


def test_a_file_of_another_kind_is_refused_by_the_figure_that_reads_it(tmp_path):
    path = tmp_path / "outcome.json"
    path.write_bytes(
        as_json({**reproduction().as_json(), "rows": [{"setting": {"score": []}, "scores": {}}]})
    )
    with pytest.raises(ValueError) as caught:
        read_outcome(str(path), "ReferenceScores", "lab papers reproduce")
    assert str(caught.value) == (
        f"ReferenceScores: {path} is no outcome of `lab papers reproduce` "
        f"({path} is damaged: rows.0.setting.score must be a text or a number, got [])."
    )
