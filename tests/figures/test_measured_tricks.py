"""The waterfall of measured tricks: numbers by hand, and files that hold none."""

import json

import numpy as np
import pytest

import lab.figures
from lab.core.estimates import Estimate, paired
from lab.figures.tricks.measured_tricks import ALONE, CHAIN, UNSURE

EMPTY = {
    "protocol": "tricks",
    "source": "x",
    "over": "seeds",
    "knobs": {},
    "rows": [],
    "notes": [],
    "shown": [],
}


def outcome(seeds: int = 2) -> dict:
    """A baseline of 10 and 12, a trick that surely adds 3, and one that takes 1 or adds 1."""
    base, sure, unsure = (np.array(v)[:seeds] for v in ([0.10, 0.12], [0.13, 0.15], [0.12, 0.16]))

    def row(tricks, name, values, before=None):
        scores = {"MAP@R": Estimate.of(values).as_dict()}
        if before is not None:
            scores["MAP@R gain"] = paired(Estimate.of(values), Estimate.of(before)).as_dict()
        return {"setting": {"tricks": tricks, "switched on": name}, "scores": scores}

    rows = [
        row(CHAIN, "baseline", base),
        row(CHAIN, "crop 36", sure, base),
        row(CHAIN, "flip", unsure, sure),
    ]
    rows += [row(ALONE, "crop 36", sure, base), row(ALONE, "flip", unsure - 0.03, base)]
    return {**EMPTY, "rows": rows}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "outcome.json"
    path.write_text(json.dumps(outcome()))
    return str(path)


def test_gains_stand_on_the_row_before_and_alone_on_the_baseline(file):
    chain = lab.figures.create("measured_tricks", file=file)
    found = chain.numbers()
    assert found["names"] == ["baseline", "crop 36", "flip"] and found["seeds"] == 2
    assert found["scores"] == pytest.approx([0.11, 0.14, 0.14]) and found["gains"] == pytest.approx(
        [0.03, 0.0]
    )
    assert found["halves"] == pytest.approx([0, 12.7062 * 0.01], abs=1e-5)
    drawn = chain.figure()
    bars = {
        x: (base, y) for t in drawn.data[1:] for x, base, y in zip(t.x, t.base, t.y, strict=True)
    }
    assert bars["crop 36"] == pytest.approx((11, 3)) and bars["flip"] == pytest.approx((14, 0))
    assert any(UNSURE in note.text for note in drawn.layout.annotations)
    alone = lab.figures.create("measured_tricks", file=file, show=ALONE)
    assert alone.numbers()["names"] == ["baseline", "crop 36", "flip"]
    assert all(base == pytest.approx(11) for t in alone.figure().data[1:] for base in t.base)


def test_one_seed_says_nothing_of_chance(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(outcome(seeds=1)))
    drawn = lab.figures.create("measured_tricks", file=str(path)).figure()
    assert all(UNSURE in note.text for note in drawn.layout.annotations)
    assert "nan" not in drawn.layout.meta["alt"] and "no interval" in drawn.layout.meta["alt"]


@pytest.mark.parametrize(
    ("text", "metric", "sentence"),
    [
        (None, "MAP@R", "f.json is not there"),
        ("{", "MAP@R", "is no outcome of `lab papers protocol tricks`"),
        (
            json.dumps({**EMPTY, "protocol": "few_shot"}),
            "MAP@R",
            "an outcome of the protocol few_shot, not of tricks",
        ),
        (json.dumps(outcome()), "r@9", "holds no waterfall of 'r@9'; it has MAP@R"),
        (json.dumps(EMPTY), "MAP@R", "it has no scores of tricks"),
        ('{"protocol": "tricks"}', "MAP@R", "f.json is damaged: source is missing"),
    ],
)
def test_a_file_without_a_waterfall_gets_a_sentence(tmp_path, text, metric, sentence):
    path = tmp_path / "f.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        lab.figures.create("measured_tricks", file=str(path), metric=metric).figure()


def test_a_row_without_a_gain_is_named(tmp_path):
    path, damaged = tmp_path / "f.json", outcome()
    del damaged["rows"][1]["scores"]["MAP@R gain"]
    path.write_text(json.dumps(damaged))
    with pytest.raises(ValueError, match="f.json has a row without 'MAP@R gain'"):
        lab.figures.create("measured_tricks", file=str(path)).figure()
