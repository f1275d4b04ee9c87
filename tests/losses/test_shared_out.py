"""Losses shared out over three processes: value, gradient and memory are those of one process with the whole batch."""

from pathlib import Path

import pytest
import torch

import lab
from lab.kernels import sharing
from lab.losses import _gathered
from tests import several

from .test_gathered import start

SHARES = (17, 9, 15)
CLASSES = 9

WRAPPED = {
    "simix": lambda: lab.wrappers.create("simix", loss=lab.losses.create("smooth_ap")),
    "memory": lambda: lab.wrappers.create(
        "cross_batch_memory", loss=lab.losses.create("sup_ap"), size=60, dim=6
    ),
    "memory of its own": lambda: lab.wrappers.create(
        "cross_batch_memory",
        loss=lab.losses.create("memory_contrastive"),
        size=50,
        dim=6,
        batch_weight=1.0,
    ),
    "memory, contrastive": lambda: lab.wrappers.create(
        "with_contrastive",
        loss=lab.wrappers.create(
            "cross_batch_memory", loss=lab.losses.create("recall_at_k"), size=60, dim=6
        ),
    ),
    "margins": lambda: lab.wrappers.create(
        "threshold_consistent_margin", loss=lab.losses.create("smooth_ap")
    ),
    "mixed recall": lambda: lab.losses.create("recall_at_k", simix=True),
    "released blackbox": lambda: lab.losses.create("blackbox_ap", variant="released"),
    "lifted ties": lambda: lab.losses.create("sup_ap", lift_ties=True),
}

STEEP = {"contrastive", "margin", "triplet_margin"}
"""Losses over distances, whose slope between equal rows is made of rounding: there the order of sums shows."""

WHOLE = {"contextual"}
"""Losses without weights that each process computes whole, unless their loops are compiled."""


def made(name):
    torch.manual_seed(3)
    if name in WRAPPED:
        return WRAPPED[name]()
    return lab.losses.get(name).sized(CLASSES, 6)


def weightless(name):
    return not any(p.requires_grad for p in made(name).parameters())


CASES = [*sorted(lab.losses.names()), *WRAPPED]
FLOAT32 = [
    "smooth_ap",
    "roadmap",
    "fast_ap",
    "blackbox_ap",
    "mixed recall",
    "memory, contrastive",
    "contextual",
    "nt_xent",
]
"""On the compiled path where it knows the case: tiles of the triangle instead of rows."""


def a_batch(kind):
    """Two batches with equal rows, a class of one and classes of other sizes."""
    torch.manual_seed(0)
    rows = torch.randn(2, 41, 6, dtype=kind)
    rows[:, 5], rows[:, 30] = rows[:, 4], rows[:, 4]
    labels = torch.randint(0, CLASSES - 1, (2, 41))
    labels[:, 20] = CLASSES - 1
    return rows, labels


def small_tiles():
    from lab.kernels.cpu import neighbours as compiled
    from lab.kernels.cpu import tiles

    tiles.TILE, tiles.MIXED_TILE = 8, 8
    compiled.BLOCK_BYTES = 8 * 4 * 41


def steps(name, kind, rank=None):
    """Two steps: values, the gradients of the rows that are this process's, and what the loss remembers."""
    loss, found, split = made(name).to(kind), [], []
    called = loss if rank is None else lab.losses.gathered(loss, reduction="sum")
    for rows, labels in zip(*a_batch(kind), strict=True):
        own = rows.clone() if rank is None else rows.split(SHARES)[rank].clone()
        value = called(own.requires_grad_(), labels if rank is None else labels.split(SHARES)[rank])
        value.backward()
        found.append((value.detach(), own.grad))
    return {"steps": found, "state": loss.state_dict(), "split": split}


def work(rank):
    small_tiles()
    seen = []
    among = sharing.among
    _gathered.sharing.among = lambda share: (seen.append(share), among(share))[1]
    found = {}
    for name in CASES:
        seen.clear()
        found[name] = steps(name, torch.float64, rank)
        found[name]["split"] = any(share.split for share in seen)
    found["float32"] = {}
    for name in FLOAT32:
        seen.clear()
        with lab.kernels.force("compiled"):
            found["float32"][name] = steps(name, torch.float32, rank)
        found["float32"][name]["split"] = any(share.split for share in seen)
    found["two passes"] = two_passes(rank)
    found["references"] = references(rank)
    return found


def two_passes(rank=None):
    """The trainer's step in chunks, with the loss shared."""
    torch.manual_seed(4)
    encoder = torch.nn.Linear(6, 5).double()
    rows, labels = (whole[0] for whole in a_batch(torch.float64))
    gather = None
    if rank is not None:
        from lab.training.distributed import Processes

        gather = Processes()
        rows, labels = rows.split(SHARES)[rank], labels.split(SHARES)[rank]
    result = lab.training.gradients(encoder, made("roadmap"), rows, labels, chunk=4, gather=gather)
    if gather is not None:
        gather.complete(encoder, made("roadmap"))
    return {"loss": result.loss, "grad": encoder.weight.grad}


def references(rank):
    rows, labels = (whole[0] for whole in a_batch(torch.float64))
    loss = lab.losses.gathered(lab.losses.create("smooth_ap"))
    given = {} if rank == 1 else {"ref_emb": rows, "ref_labels": labels}
    with pytest.raises(ValueError) as error:
        loss(rows, labels, **given)
    return str(error.value)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    place: Path = tmp_path_factory.mktemp("shared")
    several.run(start, (len(SHARES), str(place), work), len(SHARES))
    return [torch.load(place / f"{rank}.pt") for rank in range(len(SHARES))]


def compare(name, kind, shares, near):
    alone = steps(name, kind)
    for step, (value, gradient) in enumerate(alone["steps"]):
        for share in shares:
            torch.testing.assert_close(share["steps"][step][0], value, **near)
        together = torch.cat([share["steps"][step][1] for share in shares])
        torch.testing.assert_close(together, gradient, **near)
    for share in shares:
        torch.testing.assert_close(share["state"], alone["state"], **near)


@pytest.mark.parametrize("name", CASES)
def test_three_processes_compute_the_loss_of_one(name, found):
    near = {"atol": 1e-9, "rtol": 1e-6} if name in STEEP else {"atol": 1e-12, "rtol": 1e-11}
    compare(name, torch.float64, [share[name] for share in found], near)
    shared = weightless(name) and name not in WHOLE
    assert all(share[name]["split"] == shared for share in found), (
        "what is shared stands in docs/several-processes.md"
    )


@pytest.mark.parametrize("name", FLOAT32)
def test_compiled_tiles_are_shared_alike(name, found):
    with lab.kernels.force("compiled"):
        compare(
            name,
            torch.float32,
            [share["float32"][name] for share in found],
            {"atol": 2e-6, "rtol": 1e-4},
        )
    assert all(share["float32"][name]["split"] for share in found)


def test_two_passes_share_the_loss(found):
    alone = two_passes()
    for share in found:
        torch.testing.assert_close(share["two passes"], alone, atol=1e-12, rtol=1e-11)


def test_references_of_some_processes_are_told_to_all(found):
    assert len({share["references"] for share in found}) == 1
    assert "Process 1 passes no references (ref_emb) but process 0 does" in found[0]["references"]
