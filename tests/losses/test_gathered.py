"""`lab.losses.gathered` in two processes of torch: loss, gradients and memory are those of one process."""

import pytest
import torch
from torch import nn

from lab import losses, wrappers
from tests import several

SHARES = (7, 5)


def a_batch():
    torch.manual_seed(0)
    return torch.randn(12, 6), torch.arange(12) % 4


def an_encoder():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


LOSSES = {
    "smooth_ap": lambda: losses.create("smooth_ap"),
    "proxy_anchor": lambda: losses.create("proxy_anchor", num_classes=4, dim=3),
    "memory": lambda: wrappers.create(
        "cross_batch_memory", loss=losses.create("contrastive"), size=16, dim=3
    ),
}


def made(name):
    torch.manual_seed(2)
    return LOSSES[name]()


def start(rank, world, place, work, *given):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{place}/store", rank=rank, world_size=world
    )
    try:
        torch.save(work(rank, *given), f"{place}/{rank}.pt")
    finally:
        torch.distributed.destroy_process_group()


def in_two_processes(place, work, *given):
    several.run(start, (2, str(place), work, *given), 2)
    return [torch.load(place / f"{rank}.pt", weights_only=True) for rank in range(2)]


def gradients_of(encoder, loss):
    return {name: p.grad for name, p in [*encoder.named_parameters(), *loss.named_parameters()]}


def all_of_it(rank):
    """In one pair of processes, because starting them takes seconds."""
    return {"steps": {name: two_steps(rank, name) for name in LOSSES}, "by hand": by_hand(rank)}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return in_two_processes(tmp_path_factory.mktemp("gathered"), all_of_it)


def two_steps(rank, name):
    """Two steps of DDP, whose gradients are means over processes."""
    rows, labels = (part.split(SHARES)[rank] for part in a_batch())
    encoder = nn.parallel.DistributedDataParallel(an_encoder())
    loss = losses.gathered(made(name))
    for _ in range(2):
        encoder.zero_grad()
        loss.zero_grad()
        value = loss(encoder(rows), labels)
        value.backward()
    return {
        "value": value.detach(),
        "gradients": gradients_of(encoder.module, loss.loss),
        "state": loss.state_dict(),
    }


@pytest.mark.parametrize("name", LOSSES)
def test_two_processes_have_the_gradients_of_one(name, found):
    rows, labels = a_batch()
    encoder, loss = an_encoder(), made(name)
    for _ in range(2):
        encoder.zero_grad()
        loss.zero_grad()
        value = loss(encoder(rows), labels)
        value.backward()
    for one in (share["steps"][name] for share in found):
        torch.testing.assert_close(one["value"], value.detach(), atol=1e-6, rtol=1e-6)
        # Some losses raise e to 32 times a cosine, which magnifies its rounding as much.
        torch.testing.assert_close(
            one["gradients"], gradients_of(encoder, loss), atol=1e-6, rtol=1e-5
        )
        state = {f"loss.{key}": kept for key, kept in loss.state_dict().items()}
        torch.testing.assert_close(one["state"], state, atol=1e-6, rtol=1e-6)


def by_hand(rank):
    """Sums of gradients, references, random draws and a process that brings nothing."""
    rows, labels = (part.split(SHARES)[rank].clone() for part in a_batch())
    loss = losses.gathered(losses.create("smooth_ap"), reduction="sum")
    rows.requires_grad_()
    loss(rows, labels, ref_emb=rows.detach() + 1, ref_labels=labels).backward()
    torch.manual_seed(rank)
    drawn = losses.gathered(lambda rows, labels: rows.sum() * 0 + torch.rand(()))(
        rows, labels
    ).detach()
    said = []
    for wrong in (rows, rows[0]), (rows, rows[:, :2]):
        with pytest.raises(
            ValueError, match=r"Process 1 passes no valid batch|widths \[2, 6\]"
        ) as error:
            losses.gathered(lambda rows, labels: rows.sum())(wrong[rank], labels)
        said.append(str(error.value))
    return {"grad": rows.grad, "drawn": drawn, "said": said}


def test_sums_references_draws_and_bad_input_in_two_processes(found):
    found = [share["by hand"] for share in found]
    rows, labels = a_batch()
    rows.requires_grad_()
    losses.create("smooth_ap")(
        rows, labels, ref_emb=rows.detach() + 1, ref_labels=labels
    ).backward()
    torch.testing.assert_close(
        torch.cat([one["grad"] for one in found]), rows.grad, atol=1e-6, rtol=1e-6
    )
    assert found[0]["drawn"] == found[1]["drawn"]
    assert found[0]["said"] == found[1]["said"]
