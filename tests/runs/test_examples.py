"""The runs that come with Rankscope are those of today's code; else scripts/build_examples.py makes them anew."""

from __future__ import annotations

import numpy as np
import pytest

import lab
from lab.core.results import Evidence
from lab.metrics import create
from lab.runs import RunConfig, examples, management

OUTGROWN = "the code has outgrown the example runs: python -m scripts.build_examples"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    examples.copy_into(folder)
    return folder


@pytest.fixture(params=examples.LOSSES)
def example(request, root):
    return lab.runs.open(f"example-{request.param}", root)


def test_an_example_is_a_finished_run_of_the_demos_configuration(example):
    wished, chosen = (
        examples.configs()[example.config.loss.name],
        example.config.training.knobs.precision,
    )
    wished = wished.changed("training.precision", chosen)
    # recorded by 0.2, which knew no other
    wished = wished.changed("testing.preprocessing", "protocol")
    assert example.config.as_dict() == wished.as_dict(), OUTGROWN
    assert (
        example.state == "finished"
        and example.frames()
        and example.batches()
        and example.metrics("stepped")
    )
    told = management.notes(example)
    assert (
        told["tags"] == [examples.TAG]
        and example.meta["git"] in told["note"]
        and "worker" not in example.meta
    )


def test_todays_code_finds_the_stored_scores_and_embeddings_again(example):
    rows, config = example.embeddings("test"), example.config
    assert rows.vectors.dtype == np.float32
    ranking = (
        lab.search.create("exact", k=100, similarity=config.similarity)
        .build(rows)
        .rank(rows, same_source=True)
    )
    for metric in config.metrics:
        found = create(metric.name, **metric.values)(Evidence(ranking, rows, rows)).values
        stored = example.scores("test")["values"]
        assert found == pytest.approx({name: stored[name] for name in found}, abs=2e-3), OUTGROWN
    model, images = lab.load(example), example.dataset()
    made = np.concatenate([model.embed(images.load(int(item))) for item in rows.items[:8]])
    np.testing.assert_allclose(
        made, rows.vectors[:8], rtol=2e-3, atol=1e-3 * np.abs(made).max(), err_msg=OUTGROWN
    )


def test_the_examples_are_small():
    assert sum(path.stat().st_size for path in examples.FOLDER.glob("*.zip")) < 6e6


def test_they_are_copied_once_and_make_room_for_ones_own(tmp_path):
    copied = examples.copy_into(tmp_path)
    assert list(copied) == list(examples.LOSSES) and not examples.copy_into(tmp_path)
    mine = management.rename(copied["cross_entropy"], "mine")
    assert not examples.copy_into(tmp_path), "a run of the same configuration is there"
    examples.replace(copied["recall_at_k"])
    examples.replace(management.annotate(mine, tags=[]) and mine)
    assert [run.name for run in lab.runs.list(tmp_path)] == ["mine"], (
        "only what came with Rankscope goes"
    )
    assert [path.name for path in management.trashed(tmp_path)] == ["example-recall_at_k"]


def test_an_example_cannot_go_on_training(example):
    with pytest.raises(ValueError, match="came without its last checkpoint"):
        next(lab.runs.execute(example))
    assert example.state == "finished"


@pytest.mark.parametrize("loss", examples.LOSSES)
def test_the_recipe_of_version_02_stays_as_it_was(loss):
    config = RunConfig.load(f"demo-0.2_{loss}")
    assert (config.training.knobs.steps, config.training.knobs.precision) == (1000, "float32")
    assert (config.sampler.knobs.batch_size, config.training.knobs.seed) == (128, 0)
