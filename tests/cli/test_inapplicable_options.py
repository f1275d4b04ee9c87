"""An option that cannot apply is refused in one sentence, or takes effect; it is never ignored."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import lab
from lab.__main__ import main
from lab.core.streams import result_of


@pytest.fixture
def place(tmp_path) -> Path:
    """Pictures, an untrained run of them, imported vectors, and a gallery in shards."""
    random, photos, runs = np.random.default_rng(0), tmp_path / "photos", tmp_path / "runs"
    for kind in range(4):
        (photos / f"c{kind}").mkdir(parents=True)
        for number in range(4):
            pixels = random.integers(0, 255, (16, 16, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(photos / f"c{kind}" / f"{number}.png")
    config = {
        "data": {"name": "class_folders", "root": str(photos), "test": 0.5, "validation": 0.0},
        "augmentation": {"size": 16},
        "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
        "sampler": {"name": "m_per_class", "batch_size": 4, "per_class": 2},
        "training": {"steps": 0, "device": "cpu", "keep_frames": 0, "seed": 0},
        "evaluation": {"splits": ["test"]},
    }
    result_of(lab.runs.execute(lab.runs.create(lab.runs.RunConfig.of(config), runs, "trained")))
    vectors = random.normal(size=(16, 8)).astype(np.float32)
    np.save(tmp_path / "v.npy", vectors)
    labels = [f"c{row // 4}" for row in range(16)]
    lab.runs.from_embeddings(vectors, labels, normalise=True, name="brought", runs=runs)
    assert (
        main(
            [
                "embed",
                str(photos),
                "--encoder",
                "trained",
                "--runs",
                str(runs),
                "--shards",
                f"{tmp_path}/sh",
            ]
        )
        == 0
    )
    return tmp_path


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("threshold brought {runs} --far 0", "must lie between 0 and 1, got 0.0"),
        ("threshold brought {runs} --classes -1", "--classes must be at least 1, got -1"),
        ("threshold brought {runs} --at nan", "from -1 to 1, since it is a cosine; got nan"),
        ("threshold brought {runs} --at 5", "from -1 to 1, since it is a cosine; got 5.0"),
        ("evaluate {sh} --gallery {sh} --split test", "--split cannot be had of folders of shards"),
        (
            "evaluate {sh} --gallery {sh} --device cpu",
            "--device cannot be had of folders of shards",
        ),
        (
            "evaluate {sh} --gallery {sh} --encoder a:b",
            "--encoder cannot be had of folders of shards",
        ),
        (
            "evaluate {sh} --gallery {sh} --allow paths",
            "--allow cannot be had of folders of shards",
        ),
        ("embed {photos} --encoder trained {runs} --batch-size 0", "got a batch size of 0"),
        (
            "embed {photos} --encoder trained {runs} --workers -1",
            "processes read pictures ahead, got -1",
        ),
        ("embed {photos} --encoder trained {runs} --device odd", "got 'odd'"),
        ("adapt trained {runs} --weights w.pth", "name the network of w.pth, too"),
        ("import {v} {runs} --root {photos} --normalise", "nothing says which picture each row is"),
        (
            "import {v} {runs} --root {photos} --like brought --normalise",
            "nothing says which picture each row is",
        ),
        ("import {v} {runs} --vector emb --normalise", "'emb' names nothing in it"),
        ("import {v} {runs} --measure --normalise", "so there is nothing to measure"),
        (
            "evaluate brought {runs} --evaluation.batch_size 3",
            "evaluation.batch_size cannot be changed",
        ),
        (
            "evaluate brought {runs} --evaluation.splits train",
            "holds no embeddings of split 'train'",
        ),
        ("evaluate brought {runs} --evaluation.rerank_k 5", "rerank_k is for re-ranking"),
        ("evaluate trained {runs} --evaluation.rerank_k 5", "rerank_k is for re-ranking"),
        (
            "runs brought {runs} --loss smooth_ap",
            "--loss is for the list of all runs; leave out brought",
        ),
        (
            "runs brought trained {runs} --last 3 --sort r@1",
            "--last, --sort is for the list of all runs",
        ),
        ("runs {runs} --scores odd", "No run has a score 'odd'; there are r@1"),
        ("runs report brought {runs} --html a.html --format latex", "--format is for the table"),
        ("runs report brought {runs} --json --format latex", "--format is for the table"),
        (
            "adapt brought {runs} --head none --encoder.whiten 4 --training.steps 5",
            "so training.steps would change nothing",
        ),
        ("train {runs} --training.graph_memory 1 --training.steps 1", "graph_memory is for chunks"),
    ],
)
def test_an_option_that_cannot_apply_is_refused(place, capsys, command, sentence):
    runs = f"--runs {place / 'runs'}"
    words = command.format(
        runs=runs, sh=place / "sh", photos=place / "photos", v=place / "v.npy"
    ).split()
    before = sorted(path.name for path in (place / "runs").iterdir())
    capsys.readouterr()
    assert main(words) == 2
    assert sentence in capsys.readouterr().err
    assert sorted(path.name for path in (place / "runs").iterdir()) == before


def test_a_head_that_is_not_trained_takes_its_own_options(place):
    words = [
        "adapt",
        "brought",
        "--runs",
        str(place / "runs"),
        "--head",
        "none",
        "--training.device",
        "cpu",
    ]
    assert main([*words, "--encoder.whiten", "2"]) == 0


def test_a_saved_index_says_itself_what_is_searched_and_how(place):
    model = lab.load("trained", runs=place / "runs")
    index = model.save_index(place / "it.index")
    for given, name in (({"probes": 2}, "probes"), ({"gallery": place / "photos"}, "gallery")):
        with pytest.raises(ValueError, match=f"says what is searched and how, so leave out {name}"):
            lab.load("trained", runs=place / "runs", index=index, **given)


def test_a_picture_that_was_replaced_is_named_beside_its_score(place, capsys):
    run = lab.runs.open("trained", place / "runs")
    item = int(run.embeddings().items[0])
    picture = run.dataset().path(item)
    words = ["query", "trained", str(picture), "--runs", str(place / "runs"), "--k", "8"]
    assert main(words) == 0 and "replaced" not in capsys.readouterr().err
    Image.new("RGB", (16, 16), "red").save(picture)
    assert main(words) == 0
    told = capsys.readouterr().err
    assert (
        f"1 picture shown was replaced since trained embedded its test split, for instance {picture.parent.name}"
        in told
    )
    assert main(["evaluate", "trained", "--runs", str(place / "runs")]) == 0
    capsys.readouterr()
    assert main(words) == 0 and "replaced" not in capsys.readouterr().err


def test_the_network_of_adapt_is_named_by_its_flag(place, capsys):
    words = [
        "adapt",
        str(place / "photos"),
        "--runs",
        str(place / "runs"),
        "--encoder",
        "small_cnn",
    ]
    assert main([*words, "--training.steps", "1", "--training.device", "cpu"]) == 0
    assert "queries" in capsys.readouterr().out
    (place / "c.yaml").write_text("encoder: small_cnn\n")
    assert main([*words, "--config", str(place / "c.yaml")]) == 2
    assert "has the section encoder" in capsys.readouterr().err


def test_a_run_embeds_as_many_pictures_at_once_as_asked(place, monkeypatch):
    from lab.runs.evaluate import Evaluator

    asked, embed = [], Evaluator.embed

    def seen(self, loader, items, what="images", batch_size=None):
        asked.append(batch_size)
        return embed(self, loader, items, what, batch_size)

    monkeypatch.setattr(Evaluator, "embed", seen)
    result_of(lab.runs.embed_folder(place / "photos", "trained", batch_size=3, runs=place / "runs"))
    assert asked == [3]


@pytest.mark.parametrize(
    "given", [{"loss": "contrastive"}, {"optimiser": {"name": "sgd"}}, {"sampler": "uniform"}]
)
def test_a_head_that_is_not_trained_takes_no_training_options(place, given):
    with pytest.raises(
        ValueError, match="The head none is not trained, so (loss|optimiser|sampler) would change"
    ):
        lab.adapt("brought", head="none", encoder={"whiten": 2}, runs=place / "runs", **given)


def test_weights_that_no_network_takes_leave_no_run_behind(place):
    before = {run.name for run in lab.runs.list(place / "runs")}
    with pytest.raises(ValueError):
        lab.adapt(
            str(place / "photos"),
            encoder="small_cnn",
            weights=str(place / "v.npy"),
            runs=place / "runs",
        )
    assert {run.name for run in lab.runs.list(place / "runs")} == before


def test_labels_beside_another_run_must_be_its_own(place):
    run = lab.runs.open("brought", place / "runs")
    vectors, keys = np.eye(16, 8, dtype=np.float32) + 1, list(run.dataset().keys)
    labels = [f"c{row // 4}" for row in range(16)]
    options = {"like": run, "keys": keys, "normalise": True, "runs": place / "runs"}
    again = lab.runs.from_embeddings(vectors, labels, name="again", **options)
    assert (again.embeddings().labels == run.embeddings().labels).all()
    labels[5] = "c3"
    with pytest.raises(
        ValueError, match="Labels come from run brought, and row 6 is 'c3' here and 'c1' there"
    ):
        lab.runs.from_embeddings(vectors, labels, name="other", **options)
    with pytest.raises(ValueError, match="role come from run brought; leave them out"):
        lab.runs.from_embeddings(vectors, roles=["query"] * 16, name="other", **options)
