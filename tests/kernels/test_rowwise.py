"""Sums over rows against the whole matrix, and losses of pairs whose rows are read in small blocks."""

from __future__ import annotations

import pytest
import torch
from pytorch_metric_learning import losses as library
from pytorch_metric_learning import miners

from lab import losses
from lab.kernels import mean_of_rows, rowwise, sums_of_rows
from lab.losses import blackbox_ap


@pytest.fixture(params=["one block", "small blocks"])
def blocks(request, monkeypatch):
    if request.param == "small blocks":
        monkeypatch.setattr(rowwise, "SUMMED_BYTES", 1)
        monkeypatch.setattr(rowwise, "MIN_SUMMED_ROWS", 3)


def drawn(rows, width=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, width, generator=generator, dtype=torch.float64).requires_grad_()


def two_terms(similarities, rows):
    """Values that are not symmetric, a sparse one and a dense one."""
    places = torch.arange(rows.start, rows.stop)[:, None]
    near = (similarities - 0.1 * places).square() * (
        torch.arange(similarities.shape[1]) == places + 2
    )
    values = torch.stack([near.sum(1), (similarities * places).tanh().sum(1)], 1)
    return values, torch.ones_like(values)


@pytest.mark.parametrize("how", ["itself", "references"])
def test_sums_and_gradients_are_those_of_the_whole_matrix(blocks, how):
    queries = drawn(11)
    items = queries if how == "itself" else drawn(7, seed=1)
    given = [queries] if how == "itself" else [queries, items]
    sums, counts = sums_of_rows(queries, items, two_terms)
    wanted = two_terms(queries @ items.T, slice(0, 11))[0].sum(0)
    torch.testing.assert_close(sums, wanted)
    assert counts.tolist() == [11, 11] and not counts.requires_grad
    weights = torch.tensor([0.3, -2.0], dtype=torch.float64)
    found = torch.autograd.grad(sums @ weights, given)
    torch.testing.assert_close(found, torch.autograd.grad(wanted @ weights, given))


def test_a_symmetric_sum_saves_a_product(blocks):
    rows = drawn(11)

    def terms(similarities, _):
        return similarities.exp().sum(1, keepdim=True), torch.ones(
            len(similarities), 1, dtype=torch.float64
        )

    slopes = [
        torch.autograd.grad(sums_of_rows(rows, rows, terms, symmetric=symmetric)[0].sum(), rows)[0]
        for symmetric in (False, True)
    ]
    torch.testing.assert_close(*slopes)


def test_nothing_is_kept_where_no_gradient_is_wanted():
    rows = drawn(11)
    with torch.no_grad():
        sums, _ = sums_of_rows(rows, rows, two_terms)
    assert not sums.requires_grad
    assert not sums_of_rows(rows.detach(), rows.detach(), two_terms)[0].requires_grad


def test_a_mean_leaves_out_what_is_not_a_number(blocks):
    rows = drawn(11)

    def values(similarities, part):
        odd = torch.arange(part.start, part.stop) % 2 == 1
        return similarities.square().sum(1).masked_fill(odd, torch.nan)

    found = mean_of_rows(rows, rows, values)
    wanted = values(rows @ rows.T, slice(0, 11)).nanmean()
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(torch.autograd.grad(found, rows), torch.autograd.grad(wanted, rows))


LABELS = torch.tensor([4, 0, 2, 2, 0, 1, 2, 4, 3, 2, 0, 3, 3])
LIBRARY = {
    "contrastive": (library.ContrastiveLoss, {"pos_margin": 0.2, "neg_margin": 1.2}),
    "triplet_margin": (library.TripletMarginLoss, {"margin": 0.3}),
    "smooth triplets": (library.TripletMarginLoss, {"margin": 0.3}),
    "margin": (library.MarginLoss, {"margin": 0.3, "beta": 1.1}),
    "learnt margin": (
        library.MarginLoss,
        {"margin": 0.3, "beta": 1.1, "learn_beta": True, "nu": 0.1},
    ),
    "nt_xent": (library.NTXentLoss, {"temperature": 0.2}),
    "multi_similarity": (library.MultiSimilarityLoss, {"alpha": 3.0, "beta": 20.0, "base": 0.4}),
    "signal_to_noise_ratio_contrastive": (
        library.SignalToNoiseRatioContrastiveLoss,
        {"neg_margin": 1.5},
    ),
}
NAMES = {"smooth triplets": "triplet_margin", "learnt margin": "margin"}
OURS = {"smooth triplets": {"smooth": True}, "multi_similarity": {"miner": False}}
THEIRS = {"smooth triplets": {"smooth_loss": True}}


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("how", ["batch", "references", "triplets", "pairs, some twice"])
def test_pair_losses_equal_the_library_in_blocks(blocks, name, how):
    kind, knobs = LIBRARY[name]
    rows = drawn(len(LABELS))
    ours = losses.create(NAMES.get(name, name), **knobs, **OURS.get(name, {})).double()
    theirs = kind(**knobs, **THEIRS.get(name, {})).double()
    more = {}
    if how == "references":
        more = {"ref_emb": drawn(9, seed=1).detach(), "ref_labels": LABELS[:9].flip(0)}
    if how == "triplets":
        more = {"indices_tuple": miners.TripletMarginMiner(margin=0.4)(rows.detach(), LABELS)}
    if how == "pairs, some twice":
        pairs = miners.MultiSimilarityMiner(epsilon=0.2)(rows.detach(), LABELS)
        more = {"indices_tuple": tuple(torch.cat([indices, indices[:4]]) for indices in pairs)}
    found, expected = ours(rows, LABELS, **more), theirs(rows, LABELS, **more)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    slopes = [torch.autograd.grad(value, rows)[0] for value in (found, expected)]
    torch.testing.assert_close(*slopes, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", LIBRARY)
def test_the_mean_of_per_query_is_the_loss(blocks, name):
    rows = drawn(8)
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 2, 0])
    ours = losses.create(NAMES.get(name, name), **LIBRARY[name][1], **OURS.get(name, {})).double()
    torch.testing.assert_close(ours.per_query(rows, labels).mean(), ours(rows, labels))


def test_ranks_of_few_positives_are_those_of_a_sort(monkeypatch):
    scores = drawn(9, 30).detach().round(decimals=1)  # many are equal
    scores[:, 7] = -torch.inf  # not ranked
    positives = torch.rand(9, 30, generator=torch.Generator().manual_seed(2)) < 0.2
    positives[:, 7] = False
    positives[4] = False
    for lam in (0.5, 4.0, 400.0):
        found = []
        for few in (30, 0):
            monkeypatch.setattr(blackbox_ap, "FEW", few)
            given = scores.clone().requires_grad_()
            values = blackbox_ap.blackbox_ap_values(given, positives, lam, 0.0)
            weights = torch.linspace(0.1, 2.0, 9, dtype=torch.float64)
            found.append(
                (values.detach(), torch.autograd.grad((values * weights).nansum(), given)[0])
            )
        torch.testing.assert_close(found[0][0], found[1][0], equal_nan=True)
        torch.testing.assert_close(found[0][1], found[1][1])
