"""The model folder is read back with the Hub's own library, and the lines of its card are run."""

import pytest
from huggingface_hub import ModelCard

from lab import exporters
from lab.__main__ import main
from lab.exporters.huggingface import scores_of
from lab.inference.over_classes import mean_over_classes


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    place = tmp_path_factory.mktemp("out") / "model"
    words = ["--export.license", "apache-2.0", "--output", str(place)]
    assert main(["export", str(run.path), "--to", "huggingface", *words]) == 0
    return place


def test_the_card_says_what_the_hub_reads(run, folder):
    read = ModelCard.load(folder / "README.md")
    assert read.data.license == "apache-2.0" and read.data.library_name == "transformers"
    told = {
        (one.dataset_split, one.metric_type): one.metric_value for one in read.data.eval_results
    }
    for split in run.splits:
        for column, value in run.scores(split)["values"].items():
            assert told[split, column] == pytest.approx(value)
    assert "CC-BY-4.0" in read.text and "step 2 of 2" in read.text
    r1 = run.scores("test")["values"]["r@1"]
    half = mean_over_classes(run.per_query("test")["r@1"], run.embeddings("test").labels).half
    assert f"| r@1 | {100 * r1:.1f} | ± {100 * half:.1f} |" in read.text


def test_a_run_without_scores_or_licence_has_an_honest_card(run, tmp_path):
    import shutil

    from lab.runs.folder import Run

    bare = Run(shutil.copytree(run.path, tmp_path / "bare"))
    shutil.rmtree(bare.path / "scores")
    place = exporters.create("huggingface").export(bare, tmp_path / "model")
    text = (place / "README.md").read_text()
    assert "has not been evaluated" in text and "None was given" in text
    assert ModelCard.load(place / "README.md").data.license is None


def test_every_score_has_its_interval(run):
    assert all(half is not None for _, half in scores_of(run)["test"]["values"].values())
