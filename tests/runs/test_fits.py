"""What a configuration decides by itself: lengths, similarity, and paths that hold from anywhere."""

import numpy as np
import pytest

import lab.runs
from lab.__main__ import main
from lab.core.streams import result_of
from lab.runs import RunConfig
from lab.runs.building.parts import parts_of
from lab.runs.evaluate import evaluator_of


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


@pytest.fixture(scope="module")
def small(pictures):
    data = {"name": "class_folders", "root": str(pictures), "validation": 0.25, "test": 0.5}
    encoder = {"name": "small_cnn", "width": 4, "dim": 8}
    sampler = {"name": "m_per_class", "batch_size": 8, "per_class": 2}
    return {"data": data, "encoder": encoder, "augmentation": {"size": 16}, "sampler": sampler}


@pytest.fixture(scope="module")
def anchored(train_tiny, tmp_path_factory):
    return train_tiny(
        tmp_path_factory.mktemp("fits"),
        "anchors",
        loss={"name": "class_anchor_margin", "init": "random", "init_scale": 0.01},
        metrics=[
            {"name": "hit_rate_at_k", "k": (1,)},
            "mean_average_precision",
            "nearest_anchor_accuracy",
        ],
        training={"select_by": "mAP"},
    )


@pytest.fixture(scope="module")
def plain(small, train_tiny, tmp_path_factory):
    return train_tiny(tmp_path_factory.mktemp("fits"), "plain", **small, training={"steps": 2})


def test_a_run_with_anchors_is_searched_by_distance_or_in_two_stages(anchored, capsys):
    """Of a search by anchors a query finds what lies nearest to its own anchor, and no more."""
    kept, exact = anchored.embeddings("test"), anchored.scores("test")["values"]
    assert not np.allclose(np.linalg.norm(kept.vectors, axis=1), 1)
    away = np.linalg.norm(kept.vectors[:, None] - kept.vectors[None], axis=2)
    np.fill_diagonal(away, np.inf)
    expected = (kept.labels[away.argmin(1)] == kept.labels).mean()
    assert exact["r@1"] == pytest.approx(expected, abs=2 / len(kept))
    assert exact["mAP"] is not None and None in exact.values(), "what is undefined fails no run"
    assert (
        main(
            ["evaluate", str(anchored.path), "--split", "test", "--evaluation.search", "two_stage"]
        )
        == 0
    )
    assert anchored.config_of("test").evaluation.knobs.search == "two_stage"
    anchors, staged = anchored.anchors("test")[0], anchored.scores("test")["values"]
    file_of = np.linalg.norm(kept.vectors[:, None] - anchors[None], axis=2).argmin(1)
    away[file_of[:, None] != file_of[None, :]] = np.inf
    right = (kept.labels[away.argmin(1)] == kept.labels) & np.isfinite(away.min(1))
    assert staged["r@1"] == pytest.approx(right.mean(), abs=2 / len(right))
    assert staged["mAP"] != exact["mAP"]


def test_a_search_by_anchors_needs_anchors(plain, capsys):
    assert main(["evaluate", str(plain.path), "--evaluation.search", "two_stage"]) == 2
    assert "two_stage needs class anchors, which recall_at_k has not" in capsys.readouterr().err
    with pytest.raises(
        ValueError, match="two_stage needs class anchors, which recall_at_k has not"
    ):
        parts_of(plain.config.changed("evaluation.search", "two_stage"))


def test_data_is_found_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = lab.runs.create(
        RunConfig.of({"data": {"name": "class_folders", "root": "photos"}}),
        tmp_path / "runs",
        "one",
    )
    assert run.config.data.values["root"] == str(tmp_path / "photos")


def test_a_split_is_asked_as_it_was_embedded(plain):
    assert main(["evaluate", str(plain.path), "--evaluation.flip", "--evaluation.beta", "0.5"]) == 0
    assert plain.config_of("test").similarity == "euclidean" and plain.config.similarity == "cosine"
    stored, dataset = plain.embeddings("test"), plain.dataset()
    evaluator = evaluator_of(plain, "test")
    again = result_of(evaluator.embed(evaluator.trained.loader_of(dataset), stored.items[:5]))
    np.testing.assert_allclose(again.vectors, stored.vectors[:5], atol=1e-5)
