"""`lab.compare` and `lab runs compare`: tables, sentences, files, refusals, and the same numbers from every door."""

from __future__ import annotations

import csv
import io
import itertools
import json

import numpy as np
import pytest

import lab
from lab.__main__ import main
from lab.inference.crossed import method_difference
from lab.report import more_seeds
from lab.report.methods import by_setting

LABELS = [f"class {row // 5}" for row in range(60)]


def embeddings(chance, noise):
    """float32 [60 8]: twelve classes of five, each around its own centre."""
    centres = np.random.default_rng(0).normal(size=(12, 8))
    return (centres.repeat(5, axis=0) + noise * chance.normal(size=(60, 8))).astype(np.float32)


@pytest.fixture(scope="module")
def loops():
    """Three methods of somebody's own: a good one and a bad one, three trainings each, and one trained once."""
    chance = np.random.default_rng(1)
    trained = {"good_loss": 0.4, "bad": 1.6}
    methods = {
        name: [embeddings(chance, noise) for _ in range(3)] for name, noise in trained.items()
    }
    return {**methods, "alone": [embeddings(chance, 1.6)]}


def test_numbers_are_those_of_evaluate_and_of_the_difference(loops):
    found = lab.compare(loops, LABELS, baseline="bad")
    assert found.scores == ("r@1", "MAP@R") and [method.name for method in found.methods] == [
        "bad",
        "good_loss",
        "alone",
    ]
    per_query = {
        name: np.stack([lab.evaluate(one, LABELS).per_query["MAP@R"] for one in trainings])
        for name, trainings in loops.items()
    }
    rows = {(row.score, row.method): row for row in found.rows()}
    good = rows["MAP@R", "good_loss"]
    means = per_query["good_loss"].mean(1)
    assert (good.mean, good.deviation) == pytest.approx((means.mean(), means.std(ddof=1)))
    assert (good.trainings, good.queries, good.classes) == (3, 60, 12)
    assert good.difference == method_difference(
        per_query["bad"], per_query["good_loss"], np.array(LABELS)
    )
    assert rows["MAP@R", "bad"].difference is None and rows["MAP@R", "alone"].deviation is None


def test_what_may_be_said_names_what_was_repeated(loops):
    good, alone = lab.compare(loops, LABELS, baseline="bad", scores=["MAP@R"]).sentences
    assert good.startswith("MAP@R of good_loss is higher than that of bad: +0.")
    assert "95 % interval over classes and trainings" in good
    assert "3 trainings and 3 of bad, 12 classes" in good
    assert (
        "and trainings" not in alone
        and "This compares networks" in alone
        and "1 training and 3 of bad" in alone
    )
    few = lab.compare(
        {name: loops[name] for name in ("bad", "good_loss")}, [row % 5 for row in range(60)]
    )
    assert all("5 classes are too few" in sentence for sentence in few.sentences)


def test_tables_of_every_kind_hold_the_same(loops, tmp_path):
    found = lab.compare(loops, LABELS)
    head, body = found.cells()
    assert len(body) == 6 and head[-2] == "less good_loss"
    printed = str(found)
    for line in body:
        assert all(cell in printed for cell in line)
    rows = list(csv.DictReader(io.StringIO(found.csv())))
    assert [row["method"] for row in rows] == [line[1] for line in body]
    assert [f"{float(row['mean']):.3f}" for row in rows] == [line[3] for line in body]
    latex = found.save(tmp_path / "table.tex").read_text()
    assert (
        r"good\_loss & 3 &" in latex
        and latex.count(r"\addlinespace") == 1
        and r"95 \% interval" in latex
    )
    assert (
        latex.count(r"\toprule") == latex.count(r"\bottomrule") == 1
        and latex.count("{tabular}") == 2
    )
    assert "| r@1 | good_loss | 3 |" in found.save(tmp_path / "table.md").read_text()
    assert found.to_frame()["mean"].tolist() == pytest.approx([row.mean for row in found.rows()])
    with pytest.raises(
        ValueError, match="ends in .tex, .csv, .md, .pdf, .svg, .png, .html, got table.doc"
    ):
        found.save(tmp_path / "table.doc")


def test_the_forest_plot_draws_each_interval(loops, tmp_path):
    found = lab.compare(loops, LABELS, scores=["MAP@R"])
    known, unknown = found.figure().data
    bad = next(row for row in found.rows() if row.method == "bad").difference
    assert known.x[0] == pytest.approx(100 * bad.mean) and known.y == ("bad, MAP@R",)
    assert known.x[0] + known.error_x.array[0] == pytest.approx(100 * bad.high)
    assert known.x[0] - known.error_x.arrayminus[0] == pytest.approx(100 * bad.low)
    assert unknown.y == ("alone, MAP@R",) and unknown.error_x.array is None
    assert found.save(tmp_path / "forest.svg").read_bytes().startswith(b"<svg")
    assert found.save(tmp_path / "forest.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("kind", ["tensors", "sets", "stacked", "lists"])
def test_embeddings_may_be_given_as_what_a_loop_has(loops, kind):
    import torch

    as_given = {
        "tensors": lambda trainings: [torch.tensor(one, requires_grad=True) for one in trainings],
        "sets": lambda trainings: [one.astype(np.float64) for one in trainings],
        "stacked": np.stack,
        "lists": lambda trainings: [one.tolist() for one in trainings],
    }[kind]
    given = {name: as_given(loops[name]) for name in ("bad", "good_loss")}
    plain = {name: loops[name] for name in given}
    assert lab.compare(given, LABELS).records() == lab.compare(plain, LABELS).records()


def test_a_gallery_is_searched(loops):
    chance = np.random.default_rng(7)
    galleries = {
        name: [embeddings(chance, 0.5) for _ in trainings] for name, trainings in loops.items()
    }
    found = lab.compare(loops, LABELS, scores=["r@1"], galleries=galleries, gallery_labels=LABELS)
    alone = lab.evaluate(
        loops["bad"][1], LABELS, gallery=galleries["bad"][1], gallery_labels=LABELS
    )
    assert found.methods[1].values["r@1"][1].tolist() == alone.per_query["r@1"].tolist()


def test_what_cannot_be_compared_is_refused_in_a_sentence(loops):
    good, bad = loops["good_loss"], loops["bad"]
    twice = [bad[0], bad[1], bad[0].copy()]
    refused = [
        (({"a": good}, LABELS), {}, "at least two methods"),
        (({"a": good, "b": []}, LABELS), {}, "b has no training"),
        (({"a": good, "b": bad},), {}, "needs the class of each image"),
        (
            ({"a": good, "b": twice}, LABELS),
            {},
            "Trainings 1 and 3 of b have the same vectors",
        ),
        (({"a": good, "b": bad}, LABELS[:-1]), {}, "60"),
        (({"a": good, "b": bad}, LABELS), {"scores": ["r@3"]}, "no score r@3"),
        (({"a": good, "b": bad}, LABELS), {"baseline": "c"}, "no method 'c'"),
        (({"a": good, "b": bad}, LABELS), {"split": "test"}, "embeddings have none"),
        (
            ({"a": good, "b": bad}, LABELS),
            {"galleries": {"a": good, "b": bad}},
            "gallery_labels together",
        ),
        (({"a": good, "b": bad}, LABELS), {"nonsense": 1}, "nonsense"),
        ((good, LABELS), {}, "with the name of their method"),
        (({"a": ["run"], "b": bad}, LABELS), {}, "runs or embeddings, not both"),
        (({"a": ["run"], "b": ["other"]}, LABELS), {}, "labels cannot be given for runs"),
        ((3, LABELS), {}, "takes a mapping"),
    ]
    for given, named, sentence in refused:
        with pytest.raises(ValueError, match=sentence):
            lab.compare(*given, **named)


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Runs that were made elsewhere: two methods, three seeds each."""
    root, chance = tmp_path_factory.mktemp("imported"), np.random.default_rng(3)
    for method, noise in (("A", 0.4), ("B", 1.6)):
        for seed in range(3):
            lab.runs.from_embeddings(
                embeddings(chance, noise),
                LABELS,
                name=f"{method}-{seed}",
                method=method,
                seed=seed,
                runs=root,
                normalise=True,
            )
    return root


def test_runs_are_grouped_by_what_sets_them_apart(imported, capsys):
    names = [f"{method}-{seed}" for seed, method in itertools.product(range(3), "AB")]
    runs = [lab.runs.open(imported / name) for name in names]
    found = lab.compare(runs)
    assert [(method.name, method.runs) for method in found.methods] == [
        ("A", ("A-0", "A-1", "A-2")), ("B", ("B-0", "B-1", "B-2")),
    ]  # fmt: skip
    named = lab.compare({"A": runs[::2], "B": runs[1::2]})
    assert named.records() == found.records()
    vectors = {
        name: [lab.runs.open(run.path).embeddings().vectors for run in runs[at::2]]
        for at, name in enumerate("AB")
    }
    own = lab.compare(vectors, runs[0].embeddings().labels)
    assert own.records() == found.records()
    folders = [str(imported / name) for name in names]
    assert main(["runs", "compare", *folders, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == found.records() and told["sentences"] == found.sentences
    assert "Trainings: A: A-0, A-1, A-2; B: B-0, B-1, B-2." in told["sentences"]


def test_the_command_writes_what_the_file_says_and_refuses_in_a_sentence(
    imported, capsys, tmp_path
):
    runs = ["--runs", str(imported)]
    assert (
        main(["runs", "compare", "A-0", "B-0", *runs, "--output", str(tmp_path / "one.csv")]) == 0
    )
    assert (tmp_path / "one.csv").read_text().startswith("score,method,trainings")
    capsys.readouterr()
    for words, sentence in (
        (["A-0", "A-1"], "trainings of one method"),
        (["A-0", "B-0", "A-0"], "A-0 is given twice"),
        (["A-0", "B-0", "--seeds", "1"], "--seeds is from 2 to 100"),
        (["A-0", "B-0", "--seeds", "4"], "A-0 was trained elsewhere"),
        (["A-0", "B-0", "--seeds", "3", "--on", "here"], "take --on local"),
    ):
        assert main(["runs", "compare", *words, *runs]) == 2
        told = capsys.readouterr().err
        assert sentence in told and told.count("\n") == 1
    assert main(["runs", "compare", "A-0", "B-0", *runs, "--seeds", "3"]) == 0
    assert "3 trainings and 3 of A" in capsys.readouterr().err


@pytest.fixture(scope="module")
def trained(tmp_path_factory, train_tiny):
    root = tmp_path_factory.mktemp("seeds")
    train_tiny(root, "recall", loss="recall_at_k")
    train_tiny(root, "smooth", loss="smooth_ap")
    return root


def test_missing_seeds_are_trained_and_compared(trained, capsys):
    assert (
        main(["runs", "compare", "recall", "smooth", "--runs", str(trained), "--seeds", "2"]) == 0
    )
    done = capsys.readouterr()
    made = sorted(run.name for run in lab.runs.list(trained))
    assert made == ["recall", "recall-seed-1", "smooth", "smooth-seed-1"]
    assert "2 trainings and 2 of recall" in done.err and "smooth_ap" in done.out
    first, second = (lab.runs.open(trained / name) for name in ("recall", "recall-seed-1"))
    assert set(lab.runs.difference(first.config, second.config)) == {"training.seed"}
    assert (
        main(["runs", "compare", "recall", "smooth", "--runs", str(trained), "--seeds", "2"]) == 0
    )
    assert len(lab.runs.list(trained)) == 4, "nothing is trained twice"
    together = by_setting(lab.runs.list(trained))
    assert sorted(map(len, together.values())) == [2, 2]
    members = more_seeds.trainings(first, lab.runs.list(trained))
    assert [run.name for run in members] == ["recall", "recall-seed-1"]
    assert {config.seed for config in more_seeds.missing(first, members, 4).values()} == {2, 3}
