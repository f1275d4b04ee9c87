"""Protocols that train several runs: what they train, what they select by, and that they go on where they stopped."""

import json
import shutil

import numpy as np
import pytest

import lab.protocols
import lab.runs
import lab.runs.evaluate
from lab.__main__ import main
from lab.core.estimates import Estimate
from lab.core.records import Stepped
from lab.core.results import EmbeddingSet
from lab.protocols import _selection
from lab.protocols.few_shot import config_with_shots
from lab.protocols.reality_check import concatenate
from lab.runs import RunConfig
from lab.runs.folder import FINISHED
from lab.sweeps import Bench, Paused

from .conftest import config, finish


@pytest.fixture
def base(squares):
    return config({"name": "class_folders", "root": str(squares), "test": 0.5, "validation": 0.25})


def steps(records) -> int:
    return sum(isinstance(record, Stepped) for record in records)


# The bench


def one(bench, config):
    """The run `one` of a bench, and the records of its training."""
    runs, records = finish(bench.trained({"one": config}))
    return runs["one"], records


def test_what_is_finished_is_not_trained_again(base, tmp_path):
    bench = Bench(tmp_path / "b")
    run, first = one(bench, base.changed("training.steps", 2))
    again, second = one(bench, base.changed("training.steps", 2))
    assert (
        (steps(first), steps(second)) == (2, 0)
        and again.path == run.path
        and again.state == FINISHED
    )
    with pytest.raises(ValueError, match="one already, with training.steps 2 and not 3"):
        one(bench, base.changed("training.steps", 3))


def test_a_stopped_run_goes_on_from_its_checkpoint(base, tmp_path):
    base = base.changed("training.steps", 4)
    asked = iter([False, False, True, *[True] * 50])
    with pytest.raises(Paused, match="The same command continues"):
        one(Bench(tmp_path / "b", stop=lambda: next(asked)), base)
    run, records = one(Bench(tmp_path / "b"), base)
    assert run.state == FINISHED and 0 < steps(records) < 4
    whole, _ = one(Bench(tmp_path / "c"), base)
    assert run.scores("test")["values"] == whole.scores("test")["values"]


class Here:
    """A launcher that trains in this process, one run after the other."""

    def __init__(self):
        self.waiting, self.submitted = [], []

    def submit(self, runs):
        self.waiting += runs
        self.submitted.append([run.name for run in runs])

    def ended(self):
        while self.waiting:
            run = self.waiting.pop(0)
            yield None
            finish(lab.runs.execute(run))
            yield run


def test_a_folder_serves_one_protocol(tmp_path):
    bench = Bench(tmp_path / "b")
    bench.begin({"protocol": "tricks", "knobs": {"seeds": 3}})
    bench.begin({"protocol": "tricks", "knobs": {"seeds": 3}})
    with pytest.raises(ValueError, match="begun with other settings .knobs differ"):
        bench.begin({"protocol": "tricks", "knobs": {"seeds": 4}})


# Selecting and searching


def test_a_grid_is_every_combination():
    found = _selection.grid(("optimiser.lr=0.1:1e-3", "loss.simix=true"))
    assert found == [
        {"optimiser.lr": 0.1, "loss.simix": True},
        {"optimiser.lr": 1e-3, "loss.simix": True},
    ]
    assert _selection.grid(()) == [{}]
    for wrong in (("lr=3",), ("optimiser.lr",), ("optimiser.lr=",), ("loss.tau=1", "loss.tau=2")):
        with pytest.raises(ValueError, match="SECTION.KNOB=VALUE:VALUE"):
            _selection.grid(wrong)


def test_every_drawn_knob_is_legal_and_moves():
    import lab.losses

    for loss in lab.protocols.get("reality_check").Knobs().losses:
        kind = lab.losses.get(loss)
        for knob in _selection.searched_knobs(kind.Knobs):
            values = [_selection.draw_value(knob, np.random.default_rng(i)) for i in range(40)]
            assert all(knob.check(v) is None for v in values), (loss, knob.name)
            assert np.std(values) > 0, (loss, knob.name)
            if knob.scale == "log":
                assert max(values) / min(values) > 4 and all(
                    v <= 10.001 * knob.default for v in values
                )


def test_the_best_on_validation_is_chosen_and_the_test_is_seen_once(base, tmp_path, monkeypatch):
    """Scores on the validation classes are made up so that the second candidate wins, whatever the test would say."""
    made_up = {"candidate-0": 0.2, "candidate-1": 0.9}
    monkeypatch.setattr(
        "lab.protocols.class_validation.validation_score", lambda run: made_up[run.name]
    )
    protocol = lab.protocols.create(
        "class_validation", vary=("optimiser.lr=0.001:0.005",), validation=0.5, seeds=2
    )
    launcher = Here()
    outcome, _ = finish(protocol.conduct(base, Bench(tmp_path / "b", launcher=launcher)))
    runs = {run.name: run for run in lab.runs.list(tmp_path / "b")}
    assert launcher.submitted == [
        ["candidate-0", "candidate-1"],
        ["chosen-seed-0", "chosen-seed-1"],
    ], "all at once"
    for name, run in runs.items():
        assert run.splits == (("validation",) if name.startswith("candidate") else ("test",)), name
    chosen = runs["chosen-seed-1"]
    assert chosen.config.optimiser.knobs.lr == 0.005 and chosen.config.training.knobs.seed == 1
    train = [
        len(np.unique(d.labels[d.splits["train"].items]))
        for d in (r.dataset() for r in runs.values())
    ]
    assert sorted(train) == [4, 4, 8, 8], "the winner trains on all eight classes of the half"
    last = outcome.rows[-1]
    assert (
        last.setting["settings"] == "chosen: optimiser.lr=0.005"
        and last.scores["MAP@R, test"].count == 2
    )
    assert all("test" not in c for row in outcome.rows[:-1] for c in row.scores)
    again, records = finish(protocol.conduct(base, Bench(tmp_path / "b")))
    assert again == outcome and steps(records) == 0


REFUSED = [
    ("class_validation", {}, {"name": "svhn"}, "svhn tests on the classes it trains on"),
    ("class_validation", {"validation": 0.01}, {}, "holds no class back for validation"),
    ("class_validation", {"vary": ("optimiser.speed=1",)}, {}, "no knob 'speed'"),
    (
        "class_validation",
        {"vary": ("data.split_seed=1:2",)},
        {},
        "data.split_seed cannot be varied",
    ),
    (
        "class_validation",
        {"vary": ("evaluation.splits=test",)},
        {},
        "evaluation.splits cannot be varied",
    ),
    ("reality_check", {"folds": 9}, {}, "8 classes that do not test, too few for 9 folds"),
    ("reality_check", {"losses": ("contrastiv",)}, {}, "Did you mean 'contrastive'"),
    ("reality_check", {}, {"name": "svhn"}, "its classes make no folds"),
    ("few_shot", {}, {"name": "revisited_oxford"}, "no training images to draw shots from"),
    ("tricks", {"tricks": ("temperature",)}, {}, "contrastive has no knob temperature; proxy_nca"),
    ("tricks", {"tricks": ("flip", "flip")}, {}, "switched on once"),
    ("standard_halves", {}, {"name": "in_shop"}, "use the protocol query_gallery"),
]


@pytest.mark.parametrize(("name", "knobs", "data", "sentence"), REFUSED)
def test_nothing_is_trained_for_what_cannot_be_measured(
    base, tmp_path, name, knobs, data, sentence
):
    from tests.data.miniatures import WRITERS

    if data:
        base = config({**data, "root": str(WRITERS[data["name"]](tmp_path))})
    with pytest.raises(ValueError, match=sentence):
        finish(lab.protocols.create(name, **knobs).conduct(base, Bench(tmp_path / "b")))
    assert not lab.runs.list(tmp_path / "b")


# Few images a class


def test_few_shot_trains_every_size_and_seed(base, tmp_path):
    by_image = base.changed("sampler", {"name": "uniform", "batch_size": 16}).changed(
        "loss", "normalized_softmax"
    )
    shrunk = config_with_shots(by_image, by_image.data.create(), shots=2, seed=0)
    assert shrunk.sampler.knobs.batch_size == 12, (
        "batches drawn image by image shrink to what there is"
    )
    base = base.changed("sampler.short_classes", "refuse")
    outcome, _ = finish(
        lab.protocols.create("few_shot", seeds=2).conduct(base, Bench(tmp_path / "b"))
    )
    assert [row.setting["shots"] for row in outcome.rows] == [1, 2, 4]
    runs = {run.name: run for run in lab.runs.list(tmp_path / "b")}
    assert len(runs) == 6
    one, other = runs["shots-1-seed-0"].dataset(), runs["shots-1-seed-1"].dataset()
    assert (
        len(one.splits["train"]) == 6
        and one.splits["train"].items.tolist() != other.splits["train"].items.tolist()
    )
    assert one.splits["test"].items.tolist() == other.splits["test"].items.tolist()
    assert runs["shots-1-seed-0"].config.sampler.knobs.short_classes == "repeat"
    assert runs["shots-2-seed-0"].config.sampler.knobs.short_classes == "refuse"
    values = [runs[f"shots-4-seed-{seed}"].scores("test")["values"]["MAP@R"] for seed in (0, 1)]
    assert outcome.rows[2].scores["MAP@R"] == Estimate.of(values)


# The reality check


def test_embeddings_side_by_side_score_the_mean_of_the_cosines():
    random = np.random.default_rng(0)
    parts = [
        EmbeddingSet(random.normal(size=(5, d)).astype(np.float32), np.arange(5), np.arange(5))
        for d in (2, 3)
    ]
    whole = concatenate(parts)
    cosines = [
        (v := p.vectors / np.linalg.norm(p.vectors, axis=1, keepdims=True)) @ v.T for p in parts
    ]
    np.testing.assert_allclose(whole.vectors @ whole.vectors.T, np.mean(cosines, axis=0), atol=1e-6)
    other = EmbeddingSet(parts[0].vectors, parts[0].labels, parts[0].items + 1)
    with pytest.raises(ValueError, match="same images"):
        concatenate([parts[0], other])


def test_every_loss_gets_the_same_budget_and_folds_never_overlap(base, tmp_path):
    knobs = {"losses": ("cos_face",), "folds": 2, "trials": 2, "reproductions": 2}
    protocol = lab.protocols.create("reality_check", **knobs)
    outcome, _ = finish(protocol.conduct(base, Bench(tmp_path / "b")))
    runs = {run.name: run for run in lab.runs.list(tmp_path / "b")}
    assert (
        len([n for n in runs if "trial" in n]) == 4 and len([n for n in runs if "seed" in n]) == 4
    )
    scores = [
        np.mean(
            [
                runs[f"cos_face-trial-{t}-fold-{f}"].scores("validation")["values"]["MAP@R"]
                for f in (0, 1)
            ]
        )
        for t in (0, 1)
    ]
    first, other, chosen = (
        runs[f"cos_face-{one}-fold-0"].config.loss for one in ("trial-0", "trial-1", "seed-1")
    )
    assert chosen == (first, other)[int(np.argmax(scores))], (
        "what is reproduced is what scored best"
    )
    assert first == RunConfig.of({"loss": "cos_face"}).loss != other, "the first are the defaults"
    assert all(run.splits == ("validation",) for run in runs.values()), (
        "no run has looked at the test by itself"
    )
    held = [
        set(d.labels[d.splits["validation"].items])
        for d in (runs[f"cos_face-seed-1-fold-{f}"].dataset() for f in (0, 1))
    ]
    assert not held[0] & held[1] and len(held[0] | held[1]) == 8
    assert runs["cos_face-trial-0-fold-0"].config.sampler.knobs.per_class == 1
    assert [(r.setting["loss"], r.setting["embeddings"], r.setting["width"]) for r in outcome.rows] == [
        ("cos_face", "concatenated", 6), ("cos_face", "separated", 3),
    ]  # fmt: skip
    assert all(
        row.scores["R-precision"].count == 2 and row.scores["MAP@R"].half is not None
        for row in outcome.rows
    )
    kept = json.loads((tmp_path / "b" / "measured" / "cos_face-seed-1.json").read_text())
    folds = [runs[f"cos_face-seed-1-fold-{f}"] for f in (0, 1)]
    alone = []
    for run in folds:
        shutil.copytree(run.path, tmp_path / run.name)
        copy = lab.runs.open(tmp_path / run.name)
        finish(lab.runs.evaluate.evaluate_run(copy, lab.runs.Writer(copy), splits=("test",)))
        alone.append(copy.scores("test")["values"]["MAP@R"])
    assert kept["separated"]["MAP@R"] == pytest.approx(np.mean(alone))


# Tricks


def test_a_waterfall_adds_one_trick_after_another_and_each_alone(base, tmp_path):
    base = base.changed("loss", {"name": "proxy_nca"}).changed("encoder.pooling", "gem")
    protocol = lab.protocols.create(
        "tricks", tricks=("pooling", "temperature", "flip", "mixed", "rerank"), seeds=1
    )
    outcome, _ = finish(protocol.conduct(base, Bench(tmp_path / "b")))
    runs = {run.name: run for run in lab.runs.list(tmp_path / "b")}
    trained = {"baseline", "pooling", "pooling_temperature", "temperature"}
    assert set(runs) == {f"{name}-seed-{seed}" for name in trained for seed in (0,)}, (
        "the others only look again"
    )
    baseline, both = runs["baseline-seed-0"].config, runs["pooling_temperature-seed-0"].config
    assert baseline.encoder.knobs.pooling == "avg" and baseline.loss.knobs.temperature == 1.0
    assert both.encoder.knobs.pooling == "max" and both.loss.knobs.temperature == pytest.approx(
        1 / 9
    )
    assert [(row.setting["tricks"], row.setting["switched on"]) for row in outcome.rows] == [
        ("one after the other", name)
        for name in ("baseline", "max pooling", "temperature 0.111", "flip averaging", "mixed inference",
                     "re-ranking, k_reciprocal")
    ] + [("alone", name) for name in ("max pooling", "temperature 0.111", "flip averaging", "mixed inference",
                                      "re-ranking, k_reciprocal")]  # fmt: skip
    rows = outcome.rows
    for i in range(1, 6):
        gains = np.subtract(rows[i].scores["MAP@R"].values, rows[i - 1].scores["MAP@R"].values)
        assert rows[i].scores["MAP@R gain"] == Estimate.of(gains.tolist())
    for row in rows[6:]:
        gains = np.subtract(row.scores["MAP@R"].values, rows[0].scores["MAP@R"].values)
        assert row.scores["MAP@R gain"] == Estimate.of(gains.tolist())
    assert [column for column in outcome.table()[1]] == [
        "tricks",
        "switched on",
        "MAP@R",
        "MAP@R gain",
    ]
    again, records = finish(protocol.conduct(base, Bench(tmp_path / "b")))
    assert again == outcome and steps(records) == 0


# The command


def test_a_run_is_judged_and_the_outcome_kept_beside_it(trained, squares, tmp_path, capsys):
    run = trained("class_folders", squares)
    words = ["--runs", str(tmp_path), "--json", "--quiet"]
    assert main(["papers", "protocol", "standard_halves", "run", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    kept = json.loads((run.path / "protocols" / "standard_halves.json").read_text())
    assert (
        told["rows"] == kept["rows"] and (run.path / "protocols" / "standard_halves.md").is_file()
    )


def test_a_protocol_is_conducted_by_command_and_again_without_training(base, tmp_path, capsys):
    (tmp_path / "c.yaml").write_text(base.as_yaml())
    words = [
        "papers",
        "protocol",
        "few_shot",
        "--config",
        str(tmp_path / "c.yaml"),
        "--runs",
        str(tmp_path / "runs"),
        "--quiet",
    ]
    words += ["--protocol.shots", "1", "--protocol.seeds", "1", "--json"]
    assert main(words) == 0
    first = json.loads(capsys.readouterr().out)
    folder = tmp_path / "runs" / "few_shot-contrastive-class_folders"
    before = (folder / "shots-1-seed-0" / "metrics.jsonl").read_text()
    assert main(words) == 0
    assert (
        json.loads(capsys.readouterr().out)
        == first
        == json.loads((folder / "outcome.json").read_text())
    )
    assert (folder / "shots-1-seed-0" / "metrics.jsonl").read_text() == before
    assert main([*words, "--loss.neg_margin", "0.3"]) == 2
    assert "begun with other settings (config differ)" in capsys.readouterr().err


MISTAKES = [
    (["few_shots"], "Did you mean 'few_shot'"),
    (["few_shot", "--protocol.seeds", "0"], "1 <= seeds"),
    (["few_shot", "--protocol.shotz", "1"], "did you mean --protocol.shots"),
    (["standard_halves", "nowhere"], "There is no run 'nowhere'"),
    (["few_shot", "--name", "../x"], "letters, digits"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence(words, sentence, tmp_path, capsys):
    try:
        status = main(["papers", "protocol", *words, "--runs", str(tmp_path)])
    except SystemExit as end:
        status = end.code
    assert status == 2 and sentence in capsys.readouterr().err.splitlines()[-1]
