"""The inspector on the losses of the lab: it agrees with them, asks them seldom, and finds what the papers say."""

import numpy as np
import pytest
import torch

from lab import losses
from lab.inspect import dead_gradients, inspect_loss, metric_bound, pair_gradients, wrong_direction

PAIRWISE = ("blackbox_ap", "contextual", "contrastive", "roadmap", "triplet_margin")


@pytest.mark.parametrize("name", PAIRWISE)
def test_inspected(name, make):
    vectors, labels = make(spread=1.5)
    loss = losses.create(name)
    report = inspect_loss(loss, vectors, labels)
    assert report.limits == "" and report.pairs.kind == "gradient"
    assert report.pairs.value == pytest.approx(loss(vectors, labels).item(), rel=1e-9)
    assert report.pairs.scale > 0
    assert report.differences.holds is loss.exact_gradient, report.differences.summary
    assert type(loss).__name__ in report.summary


@pytest.mark.parametrize("name", ["cross_entropy", "class_anchor_margin", "proxy_anchor"])
def test_losses_with_class_weights_are_seen_as_motion(name, make):
    vectors, labels = make()
    labels = labels // 7
    report = inspect_loss(losses.get(name).sized(6, 8), vectors, labels)
    assert report.pairs.kind == "motion" and "owns weights" in report.limits


def at_angles(*degrees):
    radians = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    return torch.stack([radians.cos(), radians.sin()], dim=1)


def test_the_bound_of_sup_ap_fails_at_a_tie():
    """A positive at +60 degrees and a negative at -60: H-(0) = .5 counts half of what the step counts."""
    vectors, labels = at_angles(0, 60, -60), torch.tensor([0, 0, 1])
    found = metric_bound(losses.create("sup_ap"), vectors, labels)
    assert found.failing.tolist() == [0] and found.badge == "fails at ties"
    assert found.surrogate[0] == pytest.approx(0.1) and found.error[0] == pytest.approx(1 / 6)
    assert "only where a positive and a negative are tied" in found.summary
    assert np.isnan(found.error[2]), "a query without a positive has no error to bound"


def test_contextual_pulls_against_labels_and_its_correction_does_not(make):
    vectors, labels = make(spread=1.5)
    free = wrong_direction(
        pair_gradients(losses.create("contextual", lam=1.0, gamma=0.0), vectors, labels)
    )
    clamped = losses.create("contextual", lam=1.0, gamma=0.0, correct_gradient=True)
    assert free.share > 0.05
    assert len(wrong_direction(pair_gradients(clamped, vectors, labels)).i) == 0


def test_smooth_ap_lets_a_far_positive_die_and_sup_ap_does_not():
    """The positive stands 75 degrees away, a negative 20: a gap of .68, seventy times tau."""
    vectors, labels = at_angles(0, 75, 20), torch.tensor([0, 0, 1])
    pulls = {
        n: -pair_gradients(losses.create(n), vectors, labels).gradients[0, 1]
        for n in ("smooth_ap", "sup_ap")
    }
    assert abs(pulls["smooth_ap"]) < 1e-12 and pulls["sup_ap"] > 1e-3
    dead = {
        n: dead_gradients(pair_gradients(losses.create(n), vectors, labels))
        for n in ("smooth_ap", "sup_ap")
    }
    assert dead["smooth_ap"].share == 1 and dead["sup_ap"].share == 0


@pytest.mark.parametrize("name", ["sup_ap", "triplet_margin"])
def test_any_number_of_pairs_takes_the_same_few_calls(name, make, monkeypatch):
    """What makes it quick: the loss is not asked pair by pair."""
    kind, calls = losses.get(name), []
    loss, forward = losses.create(name), kind.forward
    monkeypatch.setattr(
        kind, "forward", lambda self, *given: calls.append(len(given[0])) or forward(self, *given)
    )
    counts = []
    for n in (24, 96):
        pairs = pair_gradients(loss, *make(n=n, per_class=4, width=64))
        wrong_direction(pairs)
        dead_gradients(pairs)
        counts.append(len(calls))
        assert set(calls) == {n}
        calls.clear()
    assert counts[0] == counts[1] <= 4
