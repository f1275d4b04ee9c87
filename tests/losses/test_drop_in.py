"""Our losses in the trainers of pytorch-metric-learning, unchanged."""

import pytest
import torch
from pytorch_metric_learning.samplers import MPerClassSampler
from pytorch_metric_learning.trainers import MetricLossOnly
from torch import nn
from torch.utils.data import TensorDataset

from lab import losses

CLASSES, DIM = 4, 8


def train(loss, **more):
    torch.manual_seed(0)
    labels = torch.arange(CLASSES).repeat_interleave(8)
    images = torch.randn(CLASSES, 12)[labels] + 0.8 * torch.randn(len(labels), 12)
    trunk, embedder = nn.Linear(12, 16), nn.Linear(16, DIM)
    models = {"trunk": trunk, "embedder": embedder}
    optimisers = {f"{name}_optimizer": torch.optim.Adam(model.parameters(), lr=0.01) for name, model in models.items()}
    if list(loss.parameters()):
        optimisers["metric_loss_optimizer"] = torch.optim.Adam(loss.parameters(), lr=0.01)
    seen = []
    trainer = MetricLossOnly(
        models=models,
        optimizers=optimisers,
        batch_size=16,
        loss_funcs={"metric_loss": loss},
        dataset=TensorDataset(images, labels),
        sampler=MPerClassSampler(labels, m=4, length_before_new_iter=32),
        dataloader_num_workers=0,
        data_device="cpu",
        end_of_iteration_hook=lambda trainer: seen.append(float(trainer.losses["metric_loss"].detach())),
        **more,
    )
    trainer.train(num_epochs=15)
    return seen


@pytest.mark.parametrize("name", ["smooth_ap", "contrastive", "cross_entropy", "proxy_anchor"])
def test_a_loss_trains_in_a_trainer_of_pytorch_metric_learning(name):
    shape = {"num_classes": CLASSES, "dim": DIM} if "num_classes" in losses.get(name).Knobs.model_fields else {}
    torch.manual_seed(1)
    seen = train(losses.create(name, **shape))
    assert len(seen) == 30
    assert sum(seen[-4:]) < sum(seen[:4])


def test_with_a_miner_of_pytorch_metric_learning():
    from pytorch_metric_learning.miners import MultiSimilarityMiner

    miner = {"mining_funcs": {"tuple_miner": MultiSimilarityMiner()}}
    assert train(losses.create("contrastive"), **miner)
    with pytest.raises(ValueError, match="RecallAtK reads every pair of the batch and takes no mined pairs"):
        train(losses.create("recall_at_k"), **miner)
