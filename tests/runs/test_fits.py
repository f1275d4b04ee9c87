"""What a configuration decides by itself: lengths, similarity, and paths that hold from anywhere."""

import numpy as np
import pytest

import lab.runs
from lab.__main__ import main
from lab.runs import RunConfig
from lab.runs.building.parts import parts_of


@pytest.mark.parametrize(
    "given, normalise, similarity",
    [
        ({}, True, "cosine"),
        ({"loss": "class_anchor_margin"}, False, "euclidean"),
        ({"loss": "cross_entropy"}, False, "euclidean"),
        ({"loss": "proxy_anchor"}, True, "cosine"),
        ({"loss": "class_anchor_margin", "encoder": {"normalise": True}}, True, "cosine"),
        ({"evaluation": {"beta": 0.5}}, True, "euclidean"),
    ],
)
def test_lengths_are_kept_where_they_mean_something(given, normalise, similarity):
    config = RunConfig.of(given)
    assert config.encoder.values["normalise"] is normalise
    assert config.similarity == similarity
    assert RunConfig.of(config.as_dict()) == config


def test_a_run_with_anchors_is_searched_by_distance(train_tiny, tmp_path):
    run = train_tiny(tmp_path, "anchors", loss={"name": "class_anchor_margin", "init": "random"})
    vectors = run.embeddings("test").vectors
    assert not np.allclose(np.linalg.norm(vectors, axis=1), 1)
    away = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    np.fill_diagonal(away, np.inf)
    labels = run.embeddings("test").labels
    expected = (labels[away.argmin(1)] == labels).mean()
    assert run.scores("test")["values"]["r@1"] == pytest.approx(expected, abs=2 / len(labels))


def test_a_run_with_anchors_is_searched_in_two_stages(train_tiny, tmp_path, capsys):
    """Of a search by anchors a query finds what lies nearest to its own anchor, and no more."""
    run = train_tiny(
        tmp_path,
        "staged",
        loss={"name": "class_anchor_margin", "init": "random", "init_scale": 0.01},
        metrics=[{"name": "hit_rate_at_k", "k": (1,)}, {"name": "mean_average_precision"}],
        training={"select_by": "mAP"},
    )
    exact = run.scores("test")["values"]
    assert main(["evaluate", str(run.path), "--split", "test", "--evaluation.search", "two_stage"]) == 0
    run = lab.runs.open(run.path)
    assert run.config_of("test").evaluation.knobs.search == "two_stage"
    kept, staged = run.embeddings("test"), run.scores("test")["values"]
    anchors = run.anchors("test")[0]
    file_of = np.linalg.norm(kept.vectors[:, None] - anchors[None], axis=2).argmin(1)
    away = np.linalg.norm(kept.vectors[:, None] - kept.vectors[None], axis=2)
    away[file_of[:, None] != file_of[None, :]] = np.inf
    np.fill_diagonal(away, np.inf)
    right = (kept.labels[away.argmin(1)] == kept.labels) & np.isfinite(away.min(1))
    assert staged["r@1"] == pytest.approx(right.mean(), abs=2 / len(right))
    assert staged["mAP"] != exact["mAP"]


def test_a_search_by_anchors_needs_anchors(train_tiny, tmp_path, capsys):
    run = train_tiny(tmp_path, "plain")
    assert main(["evaluate", str(run.path), "--evaluation.search", "two_stage"]) == 2
    assert "two_stage needs class anchors, which recall_at_k has not" in capsys.readouterr().err
    config = RunConfig.of({"data": run.config.data.as_dict(), "evaluation": {"search": "two_stage"}})
    with pytest.raises(ValueError, match="two_stage needs class anchors, which recall_at_k has not"):
        parts_of(config)


def test_data_is_found_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = lab.runs.create(RunConfig.of({"data": {"name": "class_folders", "root": "photos"}}), tmp_path / "runs", "one")
    assert run.config.data.values["root"] == str(tmp_path / "photos")


def test_one_damaged_run_hides_no_other(tmp_path, capsys):
    lab.runs.create(RunConfig.of(), tmp_path, "good")
    lab.runs.create(RunConfig.of(), tmp_path, "bad")
    (tmp_path / "bad" / "config.yaml").write_text("{ this is: [no yaml")
    assert main(["runs", "--runs", str(tmp_path), "--json"]) == 0
    shown = capsys.readouterr().out
    assert '"good"' in shown and '"bad"' in shown


def test_a_metric_that_is_undefined_fails_no_run(train_tiny, tmp_path):
    run = train_tiny(
        tmp_path,
        "undefined",
        loss={"name": "class_anchor_margin", "init": "random"},
        metrics=[{"name": "map_at_r"}, {"name": "nearest_anchor_accuracy"}],
    )
    assert run.state == "finished"
    values = run.scores("test")["values"]
    assert values["MAP@R"] is not None and None in values.values()


def test_a_split_is_asked_as_it_was_embedded(train_tiny, tmp_path):
    from lab.runs.evaluate import examiner_of

    run = train_tiny(tmp_path, "flipped")
    assert main(["evaluate", str(run.path), "--evaluation.flip", "true", "--evaluation.beta", "0.5"]) == 0
    run = lab.runs.open(run.path)
    assert run.config_of("test").similarity == "euclidean" and run.config.similarity == "cosine"
    stored, dataset = run.embeddings("test"), run.dataset()
    again = examiner_of(run, "test").embed_of(dataset, stored.items[:5])
    while True:
        try:
            next(again)
        except StopIteration as done:
            np.testing.assert_allclose(done.value.vectors, stored.vectors[:5], atol=1e-5)
            break
