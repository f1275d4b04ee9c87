"""Every loss against the golden vectors, in value, value per query and gradient, in both precisions."""

import math

import numpy as np
import pytest
import torch

from lab import losses
from lab.losses._base import normalised
from lab.losses._batch import admit

from .golden import Golden, assert_gradient, assert_value, cases

RELEASED = {"variant": "released"}
EXPECTED = [
    # folder, loss, knobs, value, gradient, value per query
    ("rsk", "recall_at_k", {}, "paper_loss", "paper_grad", "paper_per_query"),
    ("rsk", "recall_at_k", RELEASED, "expected_loss", "expected_grad", "code_conv_per_query"),
    (
        "rsk",
        "recall_at_k",
        {"include_self": True},
        "code_conv_loss",
        "code_conv_grad",
        "code_conv_per_query",
    ),
    ("smoothap", "smooth_ap", {}, "self_excluded_loss", "self_excluded_grad", None),
    ("smoothap", "smooth_ap", RELEASED, "expected_loss", "expected_grad", "per_query"),
    ("supap", "sup_ap", {}, "paper_loss", "paper_grad", "per_query"),
    ("supap", "sup_ap", {"include_self": False}, "self_excluded_loss", "self_excluded_grad", None),
    (
        "supap",
        "sup_ap",
        {"lift_ties": True},
        "paper_loss_Hminus0_is_upper",
        "paper_grad_Hminus0_is_upper",
        "paper_per_query_Hminus0_is_upper",
    ),
    ("supap_cfg144", "sup_ap", RELEASED, "expected_loss", "expected_grad", "per_query"),
    ("supap_cfg144", "sup_ap", {}, "paper_loss", "paper_grad", None),
    (
        "supap_inat",
        "sup_ap",
        {"offset": 1.0, "start": 0.0},
        "expected_loss",
        "expected_grad",
        "per_query",
    ),
    (
        "calibration",
        "calibration",
        {},
        "paper_loss_self_excluded",
        "paper_grad_self_excluded",
        None,
    ),
    (
        "calibration",
        "calibration",
        {"include_self": True},
        "paper_loss_self_included",
        "paper_grad_self_included",
        None,
    ),
    ("calibration", "calibration", RELEASED, "expected_loss", "expected_grad", None),
    ("roadmap_total", "roadmap", {}, "paper_loss", "paper_grad", None),
    ("roadmap_total", "roadmap", RELEASED, "expected_loss", "expected_grad", None),
    (
        "roadmap_total",
        "roadmap",
        {"variant": "released", "offset": 1.0, "start": 0.0},
        "author_inat_cfg_loss",
        "author_inat_cfg_grad",
        None,
    ),
    ("fastap", "fast_ap", {}, "expected_loss", "expected_grad", None),
    ("fastap", "fast_ap", RELEASED, "expected_loss", "author_grad", None),
    (
        "softbin_ap",
        "softbin_ap",
        {},
        "roadmap_nq20_m1_1_loss",
        "roadmap_nq20_m1_1_grad_tangent",
        None,
    ),
    (
        "softbin_ap",
        "softbin_ap",
        RELEASED,
        "naver_nq25_0_1_loss",
        "naver_nq25_0_1_grad_tangent",
        None,
    ),
    (
        "softbin_ap",
        "softbin_ap",
        {"include_self": False},
        "roadmap_nq20_m1_1_noself_loss",
        "roadmap_nq20_m1_1_noself_grad_tangent",
        None,
    ),
    (
        "softbin_ap",
        "softbin_ap",
        {"variant": "released", "include_self": False},
        "naver_nq25_0_1_noself_loss",
        "naver_nq25_0_1_noself_grad_tangent",
        None,
    ),
    ("ms_miner", "multi_similarity", {}, "expected_loss", "expected_grad", None),
    ("ms_miner", "multi_similarity", {"miner": False}, "nominer_loss", "nominer_grad", None),
]


def in_both(folder):
    """Cases of a folder in float64, and the first two in float32."""
    return [(case, torch.float64) for case in cases(folder)] + [
        (case, torch.float32) for case in cases(folder)[:2]
    ]


ON_BIN_EDGES = {("fastap", "ties_n16_m4_d8"), ("softbin_ap", "ties_n16_m4_d8")}
"""Distances exactly on bin centres, where either side's slope is a gradient."""


def every_case():
    """All in float64, and the first two of each row in float32."""
    for row in EXPECTED:
        there = [case for case in cases(row[0]) if row[3] in Golden(row[0], case)]
        for dtype, some in ((torch.float64, there), (torch.float32, there[:2])):
            yield from (
                pytest.param(*row, case, dtype, id=f"{row[1]}-{row[3]}-{case}-{dtype}")
                for case in some
            )


@pytest.mark.parametrize(
    ("folder", "name", "knobs", "value", "gradient", "per_query", "case", "dtype"),
    list(every_case()),
)
def test_loss(folder, name, knobs, value, gradient, per_query, case, dtype):
    golden = Golden(folder, case)
    embeddings, labels = golden.input(dtype)
    if folder == "fastap":
        knobs = {**knobs, "bins": golden.hp["num_bins"]}
    loss = losses.create(name, **knobs)
    total = loss(embeddings, labels)
    assert total.dtype == dtype
    assert_value(total, golden.number(value), dtype)
    if gradient in golden and (folder, case) not in ON_BIN_EDGES:
        (found,) = torch.autograd.grad(total, embeddings)
        assert_gradient(found, golden.tensor(gradient), embeddings, dtype)
    if per_query in golden:
        for got, wanted in zip(
            loss.per_query(embeddings, labels), golden.tensor(per_query), strict=True
        ):
            assert got.isnan() or abs(float(got) - float(wanted)) < (
                1e-9 if dtype == torch.float64 else 5e-6
            )


@pytest.mark.parametrize("case", cases("smoothap_rect"))
@pytest.mark.parametrize(
    ("folder", "name"), [("smoothap_rect", "smooth_ap"), ("supap_rect", "sup_ap")]
)
@pytest.mark.parametrize("variant", ["paper", "released"])
def test_references(folder, name, case, variant):
    golden = Golden(folder, case)
    embeddings, labels = golden.input()
    references = golden.tensor("ref_embeddings").requires_grad_()
    given = {"variant": variant, **({"offset": HMINUS_JOINED} if name == "sup_ap" else {})}
    loss = losses.create(name, **given)
    total = loss(embeddings, labels, ref_emb=references, ref_labels=golden.tensor("ref_labels"))
    assert_value(total, golden.number("expected_loss"))
    of_queries, of_references = torch.autograd.grad(total, (embeddings, references))
    assert_gradient(of_queries, golden.tensor("expected_grad"), embeddings)
    assert_gradient(of_references, golden.tensor("expected_grad_ref"), references)


HMINUS_JOINED = 0.5 + 1 / (1 + math.exp(-0.05 / 0.01))


@pytest.mark.parametrize(("case", "dtype"), in_both("rsk_simix"))
@pytest.mark.parametrize(
    ("variant", "value", "gradient"),
    [("paper", "paper_loss", "paper_grad"), ("released", "expected_loss", "expected_grad")],
)
def test_simix(case, variant, value, gradient, dtype):
    golden = Golden("rsk_simix", case)
    embeddings, labels = golden.input(dtype)
    loss = losses.create("recall_at_k", k=tuple(golden.hp["k_vals"]), simix=True, variant=variant)
    total = loss(embeddings, labels, alpha=mixing_weights(golden))
    assert_value(total, golden.number(value), dtype)
    (found,) = torch.autograd.grad(total, embeddings)
    assert_gradient(found, golden.tensor(gradient), embeddings, dtype)


def mixing_weights(golden):
    """The file's weights, [class, pair], in our order: pairs of rows, first before second."""
    labels = golden.data["labels"]
    weights = {}
    for label, row in zip(np.unique(labels), golden.data["alpha"], strict=True):
        members = np.flatnonzero(labels == label)
        for (i, j), alpha in zip(golden.data["pair_order"], row, strict=True):
            weights[min(members[[i, j]]), max(members[[i, j]])] = alpha if i < j else 1 - alpha
    return torch.tensor([weights[pair] for pair in sorted(weights)])


@pytest.mark.parametrize(("case", "dtype"), in_both("blackbox_ap"))
def test_blackbox_ap(case, dtype):
    golden = Golden("blackbox_ap", case)
    for lam, margin in ((4.0, 0.02), (4.0, 0.0), (0.5, 0.02)):
        name = f"ap_lam{lam}_margin{margin}"
        if f"{name}_loss" not in golden:
            continue
        embeddings, labels = golden.input(dtype)
        loss = losses.create("blackbox_ap", variant="released", lam=lam, margin=margin)
        total = loss(embeddings, labels, noise=golden.tensor("noise_abs"))
        assert_value(total, golden.number(f"{name}_loss"), dtype)
        (found,) = torch.autograd.grad(total, embeddings)
        assert_gradient(found, golden.tensor(f"{name}_grad"), embeddings, dtype)


@pytest.mark.parametrize("case", cases("cam"))
def test_class_anchor_margin(case):
    golden = Golden("cam", case)
    anchors = golden.tensor("anchors")
    parts = {
        "attractor_mean": {"repeller": False, "min_norm": False},
        "repeller_ordered": {"attractor": False, "min_norm": False},
        "repeller_unordered": {"attractor": False, "min_norm": False, "ordered": False},
        "minnorm": {"attractor": False, "repeller": False},
        "total": {},
    }
    for part, knobs in parts.items():
        embeddings, labels = golden.input()
        shape = {"num_classes": len(anchors), "dim": anchors.shape[1], "init": "random"}
        loss = losses.create(
            "class_anchor_margin", **shape, m=golden.hp["m"], p=golden.hp["p"], **knobs
        ).double()
        with torch.no_grad():
            loss.anchors.copy_(anchors)
        total = loss(embeddings, labels)
        assert_value(total, golden.number(part))
        of_rows, of_anchors = torch.autograd.grad(
            total, (embeddings, loss.anchors), materialize_grads=True
        )
        assert_gradient(of_rows, golden.tensor(f"{part}_grad_emb"))
        assert_gradient(of_anchors, golden.tensor(f"{part}_grad_anchors"))
        assert loss.predict(embeddings).tolist() == golden.data["pred_class_argmin"].tolist()


def test_base_vectors_are_the_golden_ones():
    golden = Golden("cam", "bal_n16_m4_d8__m2_p1_base")
    anchors = golden.tensor("anchors", torch.float32)
    loss = losses.create(
        "class_anchor_margin", num_classes=len(anchors), dim=anchors.shape[1], init="base"
    )
    torch.testing.assert_close(loss.anchors.detach(), anchors)


@pytest.mark.parametrize(("case", "dtype"), in_both("contextual"))
def test_contextual(case, dtype):
    golden = Golden("contextual", case)
    loss = losses.create("contextual", **golden.hp)
    totals = {
        "total_paper": loss,
        "total_main256": losses.create("contextual", variant="released", **golden.hp),
        "total_hybrid224": losses.create("contextual", variant="released_224", **golden.hp),
    }

    def part(number):
        return lambda rows, labels: loss.parts(normalised(admit("test", rows, labels)))[
            number
        ].mean()

    compared = 0
    for name, value in {
        "L_context": part(0),
        "L_contrast": part(1),
        "L_reg": part(2),
        **totals,
    }.items():
        embeddings, labels = golden.input(dtype)
        total = value(embeddings, labels)
        assert torch.isfinite(total)
        if name in golden:
            assert_value(total, golden.number(name), dtype)
            (found,) = torch.autograd.grad(total, embeddings)
            assert_gradient(found, golden.tensor(f"{name}_grad_tangent"), embeddings, dtype)
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize(
    ("folder", "name"), [("proxynca_pp", "proxy_nca"), ("proxy_anchor", "proxy_anchor")]
)
@pytest.mark.parametrize(("case", "dtype"), in_both("proxy_anchor"))
def test_proxies(folder, name, case, dtype):
    golden = Golden(folder, case)
    embeddings, labels = golden.input(dtype)
    proxies = golden.tensor("proxies", dtype)
    loss = losses.create(name, num_classes=len(proxies), dim=proxies.shape[1]).to(dtype)
    with torch.no_grad():
        loss.inner.proxies.copy_(proxies)
    total = loss(embeddings, labels)
    assert_value(total, golden.number("expected_loss"), dtype)
    of_rows, of_proxies = torch.autograd.grad(total, (embeddings, loss.inner.proxies))
    assert_gradient(of_rows, golden.tensor("expected_grad"), embeddings, dtype)
    assert_gradient(of_proxies, golden.tensor("expected_grad_proxies"), proxies, dtype)
