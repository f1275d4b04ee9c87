"""Runs that were made elsewhere are one row of a report where their method is equal, and nothing false is said."""

import numpy as np
import pytest

import lab
import lab.report
from lab.__main__ import main
from lab.report import rows as tables

LABELS = [f"class {row // 4}" for row in range(24)]


def vectors(seed, noise):
    random = np.random.default_rng(seed)
    rows = np.repeat(random.normal(size=(6, 8)), 4, axis=0) + noise * random.normal(size=(24, 8))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def lines_of(runs, **more):
    found = lab.report.report(runs, **more)
    return {line.name: len(line.runs) for line in found.lines}, found


def test_two_imported_methods_on_one_backbone_are_two_rows(tmp_path):
    runs = [
        lab.runs.from_embeddings(
            vectors(seed, noise), LABELS, name=f"{method}-{seed}", encoder="linear", method=method, seed=seed,
            runs=tmp_path,
        )
        for method, noise in (("A", 0.2), ("B", 2.0))
        for seed in range(3)
    ]  # fmt: skip
    lines, found = lines_of(runs)
    assert lines == {"A": 3, "B": 3} and found.warnings == ()
    assert [line.seeds for line in found.lines] == [(0, 1, 2)] * 2
    a, b = (line.scores["MAP@R"] for line in found.lines)
    assert a.mean > b.mean and a.half < 0.3
    text = lab.report.write(found)
    assert "| A | own | linear | 8 | - | 3 |" in text and "| B | own | linear | 8 | - | 3 |" in text
    assert (
        tables.over_seeds(
            runs, [{"loss": m, "encoder": "", "data": "", "seed": 0} for m in "AAABBB"]
        )[0]["runs"]
        == 3
    )


def test_three_recorded_losses_by_five_seeds_are_three_rows(tmp_path, capsys):
    runs = []
    for method, noise in (("mine", 0.2), ("recall_at_k", 1.0), ("roadmap", 2.0)):
        for seed in range(5):
            told = {"loss": method, "seed": seed, "lr": 0.1}
            with lab.runs.record(f"{method}-{seed}", told, runs=tmp_path) as run:
                run.log(1, loss=1.0)
                run.embeddings(1, vectors(seed, noise), LABELS)
            runs.append(lab.runs.open(f"{method}-{seed}", tmp_path))
    lines, found = lines_of(runs)
    assert lines == {"mine": 5, "recall_at_k": 5, "roadmap": 5} and found.warnings == ()
    assert found.split == "validation" and {line.seeds for line in found.lines} == {(0, 1, 2, 3, 4)}
    assert len({run.config.data.values["digest"] for run in runs}) == 1
    assert main(["runs", "report", *(str(run.path) for run in runs)]) == 0
    told = capsys.readouterr().out
    assert "Not directly comparable" not in told and "| mine | own | - | 8 | - | 5 |" in told
    listed = tables.row(runs[3], runs[3].config_dict, {}, "validation")
    assert listed["seed"] == 3


def test_without_a_method_a_run_is_a_row_by_its_name(tmp_path):
    runs = [
        lab.runs.from_embeddings(
            vectors(seed, 0.5), LABELS, name=f"own-{seed}", encoder="linear", runs=tmp_path
        )
        for seed in range(3)
    ]
    lines, found = lines_of(runs)
    assert lines == {"own-0": 1, "own-1": 1, "own-2": 1} and found.warnings == ()
    elsewhere = lab.runs.from_embeddings(
        vectors(0, 0.5), LABELS, name="own-0", encoder="linear", runs=tmp_path / "b"
    )
    assert [line.runs for line in lab.report.report([runs[0], elsewhere]).lines] == [
        ("own-0",),
        ("own-0",),
    ]


def test_runs_of_one_method_without_seeds_share_none(tmp_path):
    runs = [
        lab.runs.from_embeddings(
            vectors(at, 0.5), LABELS, name=f"a{at}", method="01", runs=tmp_path
        )
        for at in range(3)
    ]
    lines, found = lines_of(runs)
    assert lines == {"01": 3} and found.lines[0].seeds == () and found.warnings == ()
    other = lab.runs.from_embeddings(
        vectors(3, 0.5), LABELS, name="other", method="1", runs=tmp_path
    )
    assert lines_of([*runs, other])[0] == {"01": 3, "1": 1}
    same = [
        lab.runs.from_embeddings(
            vectors(at, 0.5), LABELS, name=f"s{at}", method="01", seed=4, runs=tmp_path
        )
        for at in range(2)
    ]
    assert "share a seed" in " ".join(lab.report.report(same).warnings)


def test_the_command_takes_method_seed_and_split(tmp_path, capsys):
    np.save(tmp_path / "x.npy", vectors(0, 0.5))
    np.save(tmp_path / "y.npy", np.array(LABELS))
    words = [
        "import",
        str(tmp_path / "x.npy"),
        "--table",
        str(tmp_path / "y.npy"),
        "--runs",
        str(tmp_path / "runs"),
    ]
    more = [
        "--method",
        "1e3",
        "--seed",
        "7",
        "--split",
        "validation",
        "--encoder",
        "010",
        "--name",
        "it",
    ]
    assert main([*words, *more]) == 0
    run = lab.runs.open("it", tmp_path / "runs")
    assert (run.config.method, run.config.seed, run.splits) == ("1e3", 7, ("validation",))
    assert run.config.encoder.values["what"] == "010"
    assert main([*words, "--seed", "-1"]) == 2 and "whole number from 0" in capsys.readouterr().err


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_recorded_run_is_compared_with_one_on_the_same_images(tmp_path, split):
    keys = [f"image {row}" for row in range(24)]
    first = lab.runs.from_embeddings(
        vectors(0, 0.5), LABELS, keys=keys, split=split, name="first", method="A", runs=tmp_path
    )
    with lab.runs.record("second", {"loss": "B"}, runs=tmp_path, split=split, like="first") as run:
        run.log(1, loss=1.0)
        run.embeddings(1, vectors(1, 0.5), LABELS)
    with lab.runs.record("third", {"loss": "C"}, runs=tmp_path, split=split, like=first) as run:
        run.embeddings(1, vectors(1, 0.5)[::-1].copy(), keys=keys[::-1])
    second, third = (lab.runs.open(name, tmp_path) for name in ("second", "third"))
    assert second.config.data == first.config.data == third.config.data and second.splits == (
        split,
    )
    assert second.scores(split)["values"] == pytest.approx(third.scores(split)["values"])
    order = np.argsort(third.embeddings(split).items)
    np.testing.assert_allclose(
        third.embeddings(split).vectors[order], second.embeddings(split).vectors, atol=1e-6
    )
    lines, found = lines_of([first, second, third])
    assert lines == {"A": 1, "B": 1, "C": 1} and found.warnings == () and found.split == split
    with lab.runs.record("wrong", runs=tmp_path, split=split, like="first") as run:
        with pytest.raises(ValueError, match="does not fit to its class in run first"):
            run.embeddings(1, vectors(1, 0.5), [*LABELS[1:], LABELS[0]])
        with pytest.raises(ValueError, match="23 vectors, but"):
            run.embeddings(1, vectors(1, 0.5)[1:])


def test_recorded_and_imported_runs_on_the_same_rows_have_one_digest(tmp_path):
    runs = [
        lab.runs.from_embeddings(
            vectors(0, 0.5), LABELS, name="a", split="validation", runs=tmp_path
        )
    ]
    with lab.runs.record("b", runs=tmp_path) as run:
        run.embeddings(1, vectors(0, 0.5), LABELS)
    runs.append(run.run)
    assert (
        runs[0].config.data.values == runs[1].config.data.values
        and runs[1].dataset().keys == runs[0].dataset().keys
    )
    with lab.runs.record("c", runs=tmp_path) as run:
        run.embeddings(1, vectors(0, 0.5), [f"other {label}" for label in LABELS])
    assert run.run.config.data != runs[0].config.data
    assert "digest" in " ".join(lab.report.report([runs[0], run.run]).warnings)


def test_one_training_that_is_imported_twice_is_said(tmp_path):
    random = np.random.default_rng(0)
    labels = np.arange(20) // 4
    runs = []
    for seed, vectors in enumerate([random.normal(size=(20, 4)), random.normal(size=(20, 4))]):
        options = {"method": "mine", "seed": seed, "normalise": True, "runs": tmp_path}
        runs.append(lab.runs.from_embeddings(vectors, labels, name=f"mine-{seed}", **options))
    assert not any("equal embeddings" in words for words in lab.report.report(runs).warnings)
    runs.append(lab.runs.from_embeddings(vectors, labels, name="again", **{**options, "seed": 7}))
    warnings = lab.report.report(runs).warnings
    assert (
        "Runs mine-1, again of mine hold equal embeddings: one training is counted more than once."
        in warnings
    )
