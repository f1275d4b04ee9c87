"""Class weights shared out over two and three processes: value, gradients, optimiser and files are those of one."""

import pytest
import torch

import lab
from lab.losses import class_anchor_margin
from lab.training.processes import class_shards
from tests import several

from .test_gathered import start

SHARES = ((9, 7), (5, 4, 7))
CLASSES = 11
KINDS = {
    "cross_entropy": {},
    "cross_entropy, smoothed": {"label_smoothing": 0.2, "temperature": 0.5},
    "normalized_softmax": {},
    "arc_face": {},
    "cos_face": {"scale": 8},
    "proxy_nca": {},
    "proxy_anchor": {},
    "soft_triple": {"centers_per_class": 3, "margin": 0.2},
    "class_anchor_margin": {"init": "random", "init_scale": 0.5},
    "class_anchor_margin, once": {"init": "random", "ordered": False, "min_norm": False},
}


def made(case):
    knobs = {"num_classes": CLASSES, "dim": 6, **KINDS[case]}
    loss = lab.losses.sharded(lab.losses.get(case.split(",")[0]), seed=5, **knobs).double()
    optimiser = torch.optim.Adam(loss.parameters(), lr=0.01)
    return loss, optimiser, class_shards.held_by(loss, optimiser)


def a_batch(step):
    torch.manual_seed(step)
    return torch.randn(16, 6, dtype=torch.float64), torch.randint(0, CLASSES, (16,))


def a_step(case, number, loss, optimiser, held, rank=None, shares=()):
    """Value, the gradients of the own rows and the norm of those of all weights; the weights then move."""
    rows, labels = a_batch(number)
    called = loss
    if rank is not None:
        rows, labels = rows.split(shares)[rank].clone(), labels.split(shares)[rank]
        called = lab.losses.gathered(loss, reduction="sum")
    optimiser.zero_grad()
    value = called(rows.requires_grad_(), labels)
    value.backward()
    norm = class_shards.norm(list(loss.parameters()), held.weights.values())
    optimiser.step()
    return {"value": value.detach(), "grad": rows.grad, "norm": norm}


def work(rank, place, shares):
    found = {}
    for case in KINDS:
        loss, optimiser, held = made(case)
        held.load(place / case, {"step": 1, "world": 1, "classes": CLASSES})
        found[case] = a_step(case, 2, loss, optimiser, held, rank, shares)
        held.save(place / case, 2)
    with pytest.raises(ValueError) as error:
        loss(*a_batch(1))
    return {**found, "alone": str(error.value)}


@pytest.fixture(scope="module", params=SHARES, ids=len)
def found(request, tmp_path_factory):
    """One process makes the first step and several make the second, from its files."""
    shares = request.param
    place = tmp_path_factory.mktemp("classes")
    one = {}
    for case in KINDS:
        loss, optimiser, held = made(case)
        a_step(case, 1, loss, optimiser, held)
        held.save(place / case, 1)
        one[case] = a_step(case, 2, loss, optimiser, held), loss, optimiser
    several.run(start, (len(shares), str(place), work, place, shares), len(shares))
    return place, one, [torch.load(place / f"{rank}.pt", weights_only=True) for rank in range(len(shares))]


@pytest.mark.parametrize("case", KINDS)
def test_several_processes_are_one(case, found):
    place, one, shares = found
    expected, trained, optimised = one[case]
    near = {"atol": 1e-12, "rtol": 1e-10}
    for share in shares:
        torch.testing.assert_close(share[case]["value"], expected["value"], **near)
        torch.testing.assert_close(share[case]["norm"], expected["norm"], **near)
    torch.testing.assert_close(torch.cat([share[case]["grad"] for share in shares]), expected["grad"], **near)

    loss, optimiser, held = made(case)
    held.load(place / case, {"step": 2, "world": len(shares), "classes": CLASSES})
    torch.testing.assert_close(loss.state_dict(), trained.state_dict(), **near)
    torch.testing.assert_close(optimiser.state_dict()["state"], optimised.state_dict()["state"], **near)
    held.tidy(place / case, 2)
    assert sorted(p.name[:21] for p in (place / case).iterdir()) == ["last.classes.00000002"] * len(shares)


def slopes(loss, rows, labels):
    """Value, and the gradients of rows and weights."""
    rows = rows.clone().requires_grad_()
    value = loss(rows, labels)
    return [value, *torch.autograd.grad(value, [rows, *loss.parameters()])]


@pytest.mark.parametrize("case", KINDS)
def test_the_whole_is_the_loss_of_the_catalogue(case, monkeypatch):
    monkeypatch.setattr(class_anchor_margin, "TILE", 4)
    loss, _, _ = made(case)
    kind = lab.losses.get(case.split(",")[0])
    plain = kind(num_classes=CLASSES, dim=6, **KINDS[case]).double()
    plain.load_state_dict(loss.loss.state_dict())
    batch = a_batch(3)
    torch.testing.assert_close(slopes(loss, *batch), slopes(plain, *batch), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(loss.per_query(*batch), plain.per_query(*batch), atol=1e-6, rtol=1e-6)
    assert (loss.mean_of_queries, loss.shares_add_up) == (plain.mean_of_queries, plain.shares_add_up)


def test_a_process_alone_and_other_losses_are_refused(found):
    assert "call it in all processes" in found[2][0]["alone"]
    with pytest.raises(ValueError, match="SmoothAP has no weights that can be shared out by class"):
        lab.losses.sharded(lab.losses.get("smooth_ap"), num_classes=3, dim=2)
