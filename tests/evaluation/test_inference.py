"""Ways to use a trained model: several scales, other pooling, re-ranking; and whole images."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

import lab.encoders
import lab.losses
import lab.metrics
import lab.reranking
from lab.core.results import EmbeddingSet
from lab.data.images import transforms
from lab.evaluation.embedding import views
from lab.evaluation.scores import evaluate
from lab.runs.building.parts import reranker_of
from lab.runs.config import RunConfig


def result(generator):
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value


def test_views_are_every_scale_and_its_mirror_image():
    images = torch.rand(2, 3, 8, 12)
    seen = list(views(images, flip=True, scales=(1.0, 0.5)))
    assert [tuple(v.shape[2:]) for v in seen] == [(8, 12), (8, 12), (4, 6), (4, 6)]
    assert (
        seen[0] is images
        and torch.equal(seen[1], images.flip(-1))
        and torch.equal(seen[3], seen[2].flip(-1))
    )
    assert torch.allclose(seen[2], F.avg_pool2d(images, 2), atol=1e-6), (
        "half the size is the mean of four pixels"
    )
    assert len(list(views(images, flip=False, scales=(1.0,)))) == 1


def test_an_encoder_pools_otherwise_with_the_same_weights():
    encoder = lab.encoders.create("small_cnn", width=4, dim=6, pooling="avg").eval()
    images = torch.rand(3, 3, 32, 32)
    features = encoder.backbone(images)
    pooled = (features.mean((2, 3)) + features.amax((2, 3))) / 2
    expected = F.normalize(
        F.linear(pooled, encoder.head.embed.weight, encoder.head.embed.bias), dim=1
    )
    torch.testing.assert_close(encoder.pool_as("mixed")(images), expected)


def test_a_backbone_that_pools_by_itself_refuses():
    encoder = lab.encoders.create("timm_model", backbone="test_resnet", pretrained=False, dim=4)
    with pytest.raises(ValueError, match="pooling cannot be 'mixed' afterwards"):
        encoder.pool_as("mixed")


def test_whole_images_keep_their_proportions_and_are_never_enlarged():
    seen = transforms.whole(40)
    assert seen(Image.new("RGB", (80, 20))).shape == (3, 10, 40)
    assert seen(Image.new("RGB", (30, 20))).shape == (3, 20, 30)
    assert seen(Image.new("RGB", (400, 2))).shape == (3, 1, 40)


def random_set(n: int = 24) -> EmbeddingSet:
    vectors = np.random.default_rng(0).normal(size=(n, 5)).astype(np.float32)
    return EmbeddingSet(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.arange(n) % 6, np.arange(n)
    )


@pytest.mark.parametrize(("name", "size"), [("k_reciprocal", "k1"), ("contextual", "k")])
def test_what_is_measured_is_the_ranking_that_was_ordered_anew(name, size):
    seen = random_set()
    reranker = reranker_of(RunConfig.of({"evaluation": {"rerank": name, "rerank_k": 4}}))
    assert getattr(reranker.knobs, size) == 4
    metrics = {"map": lab.metrics.create("mean_average_precision")}
    plain = result(evaluate(seen, None, metrics))
    anew = result(evaluate(seen, None, metrics, reranker=reranker))
    expected = reranker.rerank(plain.ranking, seen, seen)
    np.testing.assert_array_equal(anew.ranking.positive_ranks, expected.positive_ranks)
    assert not np.array_equal(anew.ranking.neighbours, plain.ranking.neighbours)
    assert reranker_of(RunConfig.of()) is None


def test_a_metric_that_reads_a_hierarchy_refuses_a_set_without_one():
    with pytest.raises(ValueError, match="ap measures at coarser levels.*no super-classes"):
        result(
            evaluate(random_set(), None, {"ap": lab.metrics.create("hierarchical_ap")}, levels={})
        )


def test_temperature_divides_the_logits_of_the_classifier():
    torch.manual_seed(0)
    warm = lab.losses.create("cross_entropy", num_classes=3, dim=4, temperature=0.5).double()
    rows, labels = torch.randn(6, 4, dtype=torch.float64), torch.arange(6) % 3
    logits = F.linear(rows, warm.classifier.weight, warm.classifier.bias)
    torch.testing.assert_close(warm(rows, labels), F.cross_entropy(logits / 0.5, labels))
