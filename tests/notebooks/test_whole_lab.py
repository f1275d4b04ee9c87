"""The whole lab in one file: it runs, it learns, and each of its steps gives what the lab's own gives."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import lab.evaluation
import lab.losses
import lab.metrics
import lab.search
from lab.core.results import EmbeddingSet, Evidence

PATH = Path(__file__).parents[2] / "notebooks" / "whole_lab.py"


@pytest.fixture(scope="module")
def whole_lab():
    spec = importlib.util.spec_from_file_location("whole_lab", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def batch():
    random = torch.Generator().manual_seed(0)
    embeddings = torch.nn.functional.normalize(
        torch.randn(24, 5, generator=random, dtype=torch.float64), dim=1
    )
    return embeddings, torch.arange(24) % 4


def test_it_learns_what_makes_unseen_digits_alike(whole_lab, tmp_path, capsys):
    scores = whole_lab.main(tmp_path / "sheet.png", steps=60)
    assert scores["after training"]["MAP@R"] > scores["before training"]["MAP@R"] + 0.05
    assert Image.open(tmp_path / "sheet.png").size == (2 * (40 + 8 + 10 * 40) + 40, 3 * 40)
    assert "after training: r@1" in capsys.readouterr().out


def test_it_is_short_and_says_where_each_step_is_done_in_earnest():
    lines = PATH.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 250
    named = {
        word.strip(".,;")
        for line in lines
        if line.startswith("# ")
        for word in line.split()
        if "lab." in word
    }
    for name in sorted(
        word for word in named if word.isidentifier() or word.replace(".", "").isidentifier()
    ):
        importlib.import_module(name)
    assert {
        "lab.data",
        "lab.samplers",
        "lab.encoders",
        "lab.training",
        "lab.search",
        "lab.evaluation",
    } <= named


def test_its_loss_is_the_labs(whole_lab, batch):
    assert whole_lab.smooth_ap(*batch).item() == pytest.approx(
        lab.losses.create("smooth_ap", tau=0.05)(*batch).item()
    )


def test_its_ranking_and_scores_are_the_labs(whole_lab, batch):
    embeddings, labels = batch
    images = EmbeddingSet(embeddings.float().numpy(), labels.numpy(), np.arange(len(labels)))
    ranking = lab.search.create("exact").build(images).rank(images, same_source=True)
    neighbours = whole_lab.rank(embeddings.float())
    np.testing.assert_array_equal(neighbours, ranking.neighbours[:, : neighbours.shape[1]])
    evidence = Evidence(ranking, images, images)
    for name, metric in (
        ("r@1", "hit_rate_at_k"),
        ("mAP", "mean_average_precision"),
        ("MAP@R", "map_at_r"),
    ):
        values = lab.metrics.create(metric)(evidence).values
        assert whole_lab.measure(neighbours, labels.numpy())[name] == pytest.approx(values[name])
