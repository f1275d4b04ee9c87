"""Class weights shared out over three processes: value, gradients, optimiser and files are those of one process."""

import pytest
import torch
import torch.multiprocessing as processes

import lab
from lab.training.processes import class_shards, gradient_norm

from .test_gathered import start

SHARES = (5, 4, 7)
CLASSES = 11
KINDS = {
    "cross_entropy": {},
    "cross_entropy, smoothed": {"label_smoothing": 0.2, "temperature": 0.5},
    "normalized_softmax": {},
    "arc_face": {},
    "cos_face": {"scale": 8},
    "proxy_nca": {},
}


def made(case):
    knobs = {"num_classes": CLASSES, "dim": 6, **KINDS[case]}
    loss = lab.losses.sharded(lab.losses.get(case.split(",")[0]), seed=5, **knobs).double()
    optimiser = torch.optim.Adam(loss.parameters(), lr=0.01)
    return loss, optimiser, class_shards.held_by(loss, optimiser)


def a_batch(step):
    torch.manual_seed(step)
    return torch.randn(16, 6, dtype=torch.float64), torch.randint(0, CLASSES, (16,))


def a_step(case, number, loss, optimiser, held, rank=None):
    """Value, the gradients of the own rows and the norm of those of all weights; the weights then move."""
    rows, labels = a_batch(number)
    called = loss
    if rank is not None:
        rows, labels = rows.split(SHARES)[rank].clone(), labels.split(SHARES)[rank]
        called = lab.losses.gathered(loss, reduction="sum")
    optimiser.zero_grad()
    value = called(rows.requires_grad_(), labels)
    value.backward()
    norm = gradient_norm.norm(list(loss.parameters()), held.weights.values())
    optimiser.step()
    return {"value": value.detach(), "grad": rows.grad, "norm": norm}


def work(rank, place):
    found = {}
    for case in KINDS:
        loss, optimiser, held = made(case)
        held.load(place / case, {"step": 1, "world": 1, "classes": CLASSES})
        found[case] = a_step(case, 2, loss, optimiser, held, rank)
        held.save(place / case, 2)
    with pytest.raises(ValueError) as error:
        loss(*a_batch(1))
    return {**found, "alone": str(error.value)}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """One process makes the first step and three make the second, from its files."""
    place = tmp_path_factory.mktemp("classes")
    one = {}
    for case in KINDS:
        loss, optimiser, held = made(case)
        a_step(case, 1, loss, optimiser, held)
        held.save(place / case, 1)
        one[case] = a_step(case, 2, loss, optimiser, held), loss, optimiser
    processes.spawn(start, (len(SHARES), str(place), work, place), nprocs=len(SHARES))
    return place, one, [torch.load(place / f"{rank}.pt", weights_only=True) for rank in range(len(SHARES))]


@pytest.mark.parametrize("case", KINDS)
def test_three_processes_are_one(case, found):
    place, one, shares = found
    expected, trained, optimised = one[case]
    near = {"atol": 1e-12, "rtol": 1e-10}
    for share in shares:
        torch.testing.assert_close(share[case]["value"], expected["value"], **near)
        torch.testing.assert_close(share[case]["norm"], expected["norm"], **near)
    torch.testing.assert_close(torch.cat([share[case]["grad"] for share in shares]), expected["grad"], **near)

    loss, optimiser, held = made(case)
    held.load(place / case, {"step": 2, "world": len(SHARES), "classes": CLASSES})
    torch.testing.assert_close(loss.state_dict(), trained.state_dict(), **near)
    torch.testing.assert_close(optimiser.state_dict()["state"], optimised.state_dict()["state"], **near)
    held.tidy(place / case, 2)
    assert sorted(p.name[:21] for p in (place / case).iterdir()) == ["last.classes.00000002"] * 3


@pytest.mark.parametrize("case", KINDS)
def test_the_whole_is_the_loss_of_the_catalogue(case):
    loss, _, _ = made(case)
    kind = lab.losses.get(case.split(",")[0])
    plain = kind(num_classes=CLASSES, dim=6, **KINDS[case]).double()
    plain.load_state_dict(loss.loss.state_dict())
    batch = a_batch(3)
    torch.testing.assert_close(loss(*batch), plain(*batch), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(loss.per_query(*batch), plain.per_query(*batch), atol=1e-6, rtol=1e-6)


def test_a_process_alone_and_other_losses_are_refused(found):
    assert "call it in all processes" in found[2][0]["alone"]
    with pytest.raises(ValueError, match="ProxyAnchor is no softmax over classes"):
        lab.losses.sharded(lab.losses.get("proxy_anchor"), num_classes=3, dim=2)
