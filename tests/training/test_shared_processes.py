"""What several processes share besides the loss: batch normalisation, embedding, and waiting for the first."""

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn

from lab.core.explain import explain
from lab.core.results import EmbeddingSet
from lab.training import distributed
from lab.training.distributed import Processes
from lab.training.processes import batchnorm as shared_batchnorm
from tests import several

SHARES = (5, 3)


def a_model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 6),
        nn.BatchNorm1d(6),
    ).double()


def an_input():
    torch.manual_seed(1)
    return 5 + torch.randn(8, 3, 6, 6).double(), torch.randn(8, 6).double()


def share_in(rank, place):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{place}/store", rank=rank, world_size=2)
    try:
        model, (images, weights) = a_model(), (part.split(SHARES)[rank] for part in an_input())
        assert shared_batchnorm.share(model) == 2
        for _ in range(2):
            model.zero_grad()
            out = model(images)
            (out * weights).square().sum().backward()
        for weight in model.parameters():
            dist.all_reduce(weight.grad)
        grads = {name: p.grad for name, p in model.named_parameters()}
        everyone, items = Processes(), np.arange(10, 23)
        own = everyone.part_of(items, 4)
        rows = EmbeddingSet(own[:, None].astype(np.float32), own * 2, own) if rank < 1 else None
        whole = everyone.whole(rows, torch.device("cpu"))
        told = {
            "out": out,
            "grads": grads,
            "state": model.state_dict(),
            "evaluated": model.eval()(images),
        }
        torch.save(
            told | {"own": torch.from_numpy(own), "whole": torch.from_numpy(whole.items)},
            f"{place}/{rank}.pt",
        )
    finally:
        dist.destroy_process_group()


def test_two_processes_normalise_as_one(tmp_path):
    several.run(share_in, (str(tmp_path),), 2)
    model, (images, weights) = a_model(), an_input()
    for _ in range(2):
        model.zero_grad()
        out = model(images)
        (out * weights).square().sum().backward()
    one, two = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    near = {"atol": 1e-5, "rtol": 1e-5}
    torch.testing.assert_close(torch.cat([one["out"], two["out"]]), out, **near)
    torch.testing.assert_close(
        one["grads"], {name: p.grad for name, p in model.named_parameters()}, **near
    )
    torch.testing.assert_close(one["state"], dict(model.state_dict()), **near)
    torch.testing.assert_close(two["evaluated"], model.eval()(images)[5:], **near)
    assert one["own"].tolist() == list(range(10, 18)) and two["own"].tolist() == list(range(18, 23))
    assert one["whole"].tolist() == two["whole"].tolist() == list(range(10, 18)), (
        "a process may have nothing"
    )


def test_layers_of_timm_go_on_with_their_activation():
    from timm.layers import BatchNormAct2d

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        torch.manual_seed(0)
        one, other = BatchNormAct2d(3), BatchNormAct2d(3)
        shared_batchnorm.share(nn.Sequential(other))
        images = torch.randn(4, 3, 5, 5)
        torch.testing.assert_close(other(images), one(images))
        torch.testing.assert_close(other.running_var, one.running_var)
    finally:
        dist.destroy_process_group()


def test_a_first_process_that_is_gone_or_silent_ends_the_others_with_a_sentence(monkeypatch):
    def gone(keys):
        raise dist.DistNetworkError("connection reset")

    other = object.__new__(Processes)
    other.rank, other._heard = 1, 0
    for store, patience in ((SimpleNamespace(check=gone), 60), (dist.HashStore(), 0.1)):
        monkeypatch.setattr(dist.distributed_c10d, "_get_default_store", lambda store=store: store)
        monkeypatch.setattr(distributed, "PATIENCE", timedelta(seconds=patience))
        with pytest.raises(RuntimeError) as error:
            other.from_first("")
        silent = "The first process has said nothing for 0:00:00.1"
        assert (silent if patience < 1 else "Another process of this training ended") in explain(
            error.value
        )
