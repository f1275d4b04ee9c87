"""An encoder shared out over two processes by fully_shard: gradients, checkpoints and embeddings are those of one."""

import pytest
import torch
from torch import nn

import lab
from lab.training.distributed import Processes
from lab.training.processes import encoder_shards, gradient_norm
from tests import several

SHARES = (9, 7)


def an_encoder():
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(6, 7), nn.Tanh()), nn.Sequential(nn.Linear(7, 5), nn.Tanh())]
    return nn.Sequential(*blocks, nn.Linear(5, 3)).double()


def a_batch(step):
    torch.manual_seed(step)
    return torch.randn(16, 6).double(), torch.arange(16) % 4


def adam(encoder):
    return torch.optim.Adam(encoder.parameters(), lr=0.01)


def a_step(encoder, optimiser, number, chunk=None, gather=None):
    rows, labels = a_batch(number)
    if gather is not None:
        rows, labels = rows.split(SHARES)[gather.rank], labels.split(SHARES)[gather.rank]
    loss = lab.losses.create("smooth_ap", tau=0.2)
    optimiser.zero_grad()
    lab.training.gradients(encoder, loss, rows, labels, chunk=chunk, gather=gather)
    if gather is not None:
        gather.complete(encoder, loss)
    norm = gradient_norm.norm(list(encoder.parameters()))
    gradient_norm.clip(encoder.parameters(), 0.1, norm)
    optimiser.step()
    return norm


def start(rank, place):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{place}/store", rank=rank, world_size=2)
    try:
        torch.save(work(place), f"{place}/{rank}.pt")
    finally:
        torch.distributed.destroy_process_group()


def work(place):
    gather, found = Processes(), {}
    for chunk in (None, 4):
        saved = torch.load(place / "first.pt", weights_only=True)
        encoder = an_encoder()
        encoder_shards.shard(encoder, torch.device("cpu"))
        optimiser = adam(encoder)
        encoder.load_state_dict(encoder_shards.encoder_state(saved["encoder"], encoder))
        optimiser.load_state_dict(encoder_shards.optimiser_state(saved["optimiser"], optimiser))
        held = sum(p.to_local().numel() for p in encoder.parameters())
        norm = a_step(encoder, optimiser, 2, chunk, gather)
        with encoder_shards.gathered(encoder), torch.inference_mode():
            for _ in range(1 + gather.rank):  # each as many batches as it likes
                embedded = encoder(a_batch(3)[0][: 4 + gather.rank]).clone()
        states = encoder_shards.whole({"encoder": encoder.state_dict(), "optimiser": optimiser.state_dict()})
        a_step(encoder, optimiser, 3, chunk, gather)  # after embedding, training goes on
        last = encoder_shards.whole(encoder.state_dict())
        found[str(chunk)] = {**states, "norm": norm, "embedded": embedded, "held": held, "last": last}
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    place = tmp_path_factory.mktemp("encoder")
    encoder = an_encoder()
    optimiser = adam(encoder)
    a_step(encoder, optimiser, 1)
    torch.save({"encoder": encoder.state_dict(), "optimiser": optimiser.state_dict()}, place / "first.pt")
    several.run(start, (place,), 2)
    norm = a_step(encoder, optimiser, 2)
    state = {"encoder": {k: v.clone() for k, v in encoder.state_dict().items()}, "norm": norm}
    state["embedded"] = encoder(a_batch(3)[0]).detach()
    a_step(encoder, optimiser, 3)
    return {**state, "last": encoder.state_dict()}, [torch.load(place / f"{r}.pt", weights_only=True) for r in (0, 1)]


@pytest.mark.parametrize("chunk", ["None", "4"])
def test_two_processes_are_one(chunk, found):
    expected, shares = found
    near = {"atol": 1e-10, "rtol": 1e-9}
    for rank, share in enumerate(part[chunk] for part in shares):
        torch.testing.assert_close(share["norm"], expected["norm"], **near)
        torch.testing.assert_close(dict(share["encoder"]), expected["encoder"], **near)
        torch.testing.assert_close(share["embedded"], expected["embedded"][: 4 + rank], **near)
        torch.testing.assert_close(dict(share["last"]), expected["last"], **near)
    weights = sum(value.numel() for value in expected["last"].values())
    assert sum(share[chunk]["held"] for share in shares) == weights, "each holds its part alone"
