"""What embeddings were made with goes with them: another evaluation of a run changes how its queries are embedded."""

import numpy as np
import pytest

import lab
from lab import threshold
from lab.__main__ import main
from lab.core.streams import result_of


@pytest.fixture
def trained(tmp_path, pictures, train_tiny):
    data = {"name": "class_folders", "root": str(pictures), "test": 0.5, "validation": 0.25}
    train_tiny(tmp_path, "tiny", data=data, sampler={"batch_size": 12, "per_class": 3})
    return lab.runs.open("tiny", tmp_path)


def evaluated(run, *flags):
    assert (
        main(
            ["evaluate", run.name, "--runs", str(run.path.parent), "--split", "test", "-q", *flags]
        )
        == 0
    )
    return lab.runs.open(run.name, run.path.parent)


def chosen(run):
    pairs = threshold.measure(run)
    return threshold.save(run, pairs, pairs.let_through(0.2))


@pytest.mark.parametrize(
    "flags",
    [["--testing.size", "24"], ["--testing.preprocessing", "protocol"], ["--testing.squash"], []],
)
def test_a_query_is_seen_as_the_images_that_are_searched(trained, flags):
    run = evaluated(trained, *flags)
    model, stored = lab.load(run), run.embeddings()
    images = run.dataset()
    again = model.embed([images.path(item) for item in stored.items[:4].tolist()])
    np.testing.assert_allclose(again, stored.vectors[:4], atol=1e-5)


def test_a_threshold_is_one_of_the_embeddings_it_was_chosen_on(trained):
    run = trained
    kept = chosen(run)
    assert threshold.stored(run) == kept
    assert threshold.stored(evaluated(run, "--metrics", "nmi")) == kept, (
        "the same embeddings, measured by another metric"
    )
    for flags in (["--testing.size", "24"], ["--evaluation.flip"], ["--evaluation.beta", "0.5"]):
        with pytest.raises(ValueError, match="is of other embeddings than those stored now"):
            threshold.stored(evaluated(run, *flags))
    assert threshold.stored(evaluated(run)) == kept


def test_a_threshold_of_other_settings_does_not_go_with_the_encoder(trained):
    chosen(trained)
    assert threshold.exported(trained) and threshold.exported(trained, of_encoder=True)
    run = evaluated(trained, "--evaluation.flip")
    chosen(run)
    assert threshold.exported(run) and not threshold.exported(run, of_encoder=True)


def test_an_index_compares_as_its_embeddings_are_compared(trained, tmp_path):
    faiss = pytest.importorskip("faiss")
    run = evaluated(trained, "--evaluation.beta", "0.5")
    path = lab.exporters.create("faiss").export(run, tmp_path / "gallery")
    index = faiss.read_index(str(path / "index.faiss"))
    assert run.config_of("test").similarity == "euclidean" and index.metric_type == faiss.METRIC_L2


@pytest.mark.parametrize("flags", [["--evaluation.flip"], ["--testing.size", "24"]])
def test_a_gallery_of_other_settings_is_refused(trained, tmp_path, flags):
    run, photos = trained, trained.dataset().root
    index = lab.load(run).save_index(tmp_path / "it.index")
    shop = result_of(lab.runs.embed_folder(photos, str(run.path), name="shop", runs=tmp_path))
    picture = run.dataset().path(int(run.embeddings().items[0]))
    assert lab.load(run, index=index).search(picture) and lab.load(run, gallery=shop).search(
        picture
    )
    changed = evaluated(run, *flags)
    for given in ({"index": index}, {"gallery": shop}):
        with pytest.raises(ValueError, match="was embedded by another encoder"):
            lab.load(changed, **given).search(picture)
    again = evaluated(run)
    assert lab.load(again, index=index).search(picture)
