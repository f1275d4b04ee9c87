"""What a GPU must compute alike: every loss against the CPU, and a two-pass step against a plain one.

Not collected by `make test`, which has no GPU to ask: `tests/gpu/check.sh` runs it.
"""

import numpy as np
import pytest
import torch

import lab.data
import lab.encoders
import lab.kernels
import lab.losses
import lab.runs
import lab.search
from lab.evaluation.mixed_precision import MixedPrecision
from lab.training.steps import gradients

DEVICE = torch.device("cuda")


def build(name):
    torch.manual_seed(0)
    return lab.losses.get(name).sized(16, 32)


def value_and_gradient(loss, embeddings, labels):
    leaf = embeddings.clone().requires_grad_()
    value = loss(leaf, labels)
    value.backward()
    return value.detach().cpu(), leaf.grad.cpu()


@pytest.mark.parametrize("name", lab.losses.names())
@pytest.mark.parametrize(
    "dtype, close", [(torch.float64, 1e-9), (torch.float32, 1e-4)], ids=["float64", "float32"]
)
def test_a_loss_is_the_same_on_both(name, dtype, close):
    torch.manual_seed(1)
    embeddings = torch.nn.functional.normalize(torch.randn(64, 32, dtype=dtype), dim=1)
    labels = torch.arange(64) // 4
    here = value_and_gradient(build(name).to(dtype), embeddings, labels)
    there = value_and_gradient(
        build(name).to(DEVICE, dtype), embeddings.to(DEVICE), labels.to(DEVICE)
    )
    torch.testing.assert_close(there[0], here[0], rtol=close, atol=close)
    torch.testing.assert_close(
        there[1], here[1], rtol=10 * close, atol=10 * close * float(here[1].abs().max())
    )


@pytest.mark.parametrize(
    "name", ["recall_at_k", "smooth_ap", "sup_ap", "roadmap", "calibration", "simix"]
)
def test_a_large_batch_takes_triton_and_agrees_with_the_compiled_tiles(name):
    assert lab.kernels.path(DEVICE) == "triton" and lab.kernels.path("cpu") == "compiled"
    torch.manual_seed(3)
    labels = torch.arange(1000) // 5
    embeddings = torch.nn.functional.normalize(
        torch.randn(200, 128)[labels] + torch.randn(1000, 128), dim=1
    )
    knobs = {"simix": True} if name == "simix" else {}
    loss = lab.losses.create("recall_at_k" if name == "simix" else name, **knobs)
    here = value_and_gradient(loss.eval(), embeddings, labels)
    there = value_and_gradient(loss, embeddings.to(DEVICE), labels.to(DEVICE))
    torch.testing.assert_close(there[0], here[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(there[1], here[1], rtol=1e-4, atol=1e-4 * float(here[1].abs().max()))


@pytest.mark.parametrize("precision, close", [("float32", 1e-4), ("bfloat16", 0.1)])
def test_two_passes_give_the_gradients_of_one(precision, close):
    torch.manual_seed(2)
    encoder = lab.encoders.create("small_cnn", freeze_batchnorm=True).to(DEVICE)
    images, labels = torch.randn(64, 3, 32, 32), torch.arange(64) // 4
    found = []
    for chunk in (None, 16):
        encoder.zero_grad()
        # Torch's convolutions round to TF32 by default, in another way for each size of a batch.
        with torch.backends.cudnn.flags(allow_tf32=False):
            gradients(
                encoder,
                build("smooth_ap"),
                images,
                labels,
                chunk=chunk,
                precision=MixedPrecision(precision, DEVICE),
            )
        found.append(
            {name: p.grad.clone() for name, p in encoder.named_parameters() if p.grad is not None}
        )
    plain, two = (torch.cat([grad.flatten() for grad in one.values()]) for one in found)
    assert float((two - plain).norm() / plain.norm()) < close


@pytest.mark.parametrize("name", ["exact", "two_stage"])
def test_a_search_finds_the_same_on_both(name):
    from lab.doctor.bench._measure import around, centres

    places = centres(8, 32, seed=0)
    gallery, asked = around(places, 600, 1.5, seed=1), around(places, 40, 1.5, seed=2)
    found = []
    for device in ("cpu", "cuda"):
        index = lab.search.create(name, device=device, k=10)
        index.build(gallery, **({"anchors": places} if name == "two_stage" else {}))
        ranking = index.rank(asked, same_source=False)
        found.append((ranking, *index.neighbours(asked.vectors)))
    (here, scores, positions), (there, scores_there, positions_there) = found
    assert np.array_equal(here.neighbours, there.neighbours) and np.array_equal(
        positions, positions_there
    )
    assert np.array_equal(here.positive_ranks, there.positive_ranks)
    np.testing.assert_allclose(scores_there, scores, atol=1e-5)
