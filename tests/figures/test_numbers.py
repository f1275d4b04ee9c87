"""The numbers behind the figures: against plain loops, closed formulas, other libraries and our own losses."""

import itertools
import math

import numpy as np
import pytest
import torch
from PIL import Image

import lab
from lab import figures, losses
from lab.core.knobs import describe
from lab.figures import _lists, _toy, twelve
from lab.inspect import average_precision
from lab.surrogates import HMinus, HPlus, Sigmoid


def numbers(name, **knobs):
    return figures.create(name, **knobs).numbers()


def on_circle(scores):
    """A query and items in the plane whose cosines to the query are the scores; labels come from the pattern."""
    angles = np.arccos(np.concatenate([[1.0], scores]))
    return torch.from_numpy(np.column_stack([np.cos(angles), np.sin(angles)]))


SCORES, PATTERN = (0.9, 0.86, 0.84, 0.78, 0.76, 0.7, 0.62, 0.55), "-+-++---"
RELEVANT = np.array([c == "+" for c in PATTERN])


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_recall_strip_is_the_recall_loss_of_one_query(k):
    found = numbers("recall_strip", scores=SCORES, pattern=PATTERN, k=k, tau2=0.05)
    loss = losses.create("recall_at_k", k=(k,), tau1=1.0, tau2=0.05)
    labels = torch.tensor([0, *(0 if r else 1 + i for i, r in enumerate(RELEVANT))])
    whole = on_circle(SCORES)
    value = loss.per_query(whole[:1], labels[:1], whole[1:], labels[1:])[0].item()
    assert 1 - found["surrogate"] == pytest.approx(value, rel=1e-9)
    ranks = [
        1 + sum(SCORES[z] >= SCORES[x] for z in range(8) if z != x)
        for x in np.flatnonzero(RELEVANT)
    ]
    assert found["recall"] == pytest.approx(sum(r <= k for r in ranks) / 3)
    assert found["hit"] == float(any(r <= k for r in ranks))


def test_recall_strip_push_is_the_slope():
    base = dict(pattern=PATTERN, k=2, tau2=0.05)
    push = numbers("recall_strip", scores=SCORES, **base)["push"]
    for i in range(8):
        moved = [list(SCORES), list(SCORES)]
        moved[0][i] += 1e-6
        moved[1][i] -= 1e-6
        up, down = (numbers("recall_strip", scores=tuple(s), **base)["surrogate"] for s in moved)
        assert push[i] == pytest.approx((up - down) / 2e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "steps"), [("sup_ap", (HPlus(), HMinus())), ("smooth_ap", (Sigmoid(0.01),) * 2)]
)
def test_ap_strip_is_the_loss_of_one_query(name, steps):
    scores, relevant = _lists.read(SCORES, PATTERN)
    labels = torch.tensor([0, *(0 if r else 1 + i for i, r in enumerate(RELEVANT))])
    whole = on_circle(SCORES)
    value = losses.create(name).per_query(whole[:1], labels[:1], whole[1:], labels[1:])[0].item()
    assert 1 - _lists.smooth_precision(scores, relevant, *steps).item() == pytest.approx(
        value, rel=1e-9
    )
    found = numbers("ap_strip", scores=SCORES, pattern=PATTERN)
    assert found["losses"][name] == pytest.approx(value, rel=1e-9)
    assert found["losses"]["ap"] == pytest.approx(1 - average_precision(SCORES, RELEVANT))


def test_ap_strip_shows_what_any_loss_does_to_a_list():
    """Also one that a notebook adds; the pushes of SupAP and SmoothAP are drawn from the figure's own knobs."""
    (choice,) = (
        knob for knob in describe(lab.figures.get("ap_strip").Knobs) if knob.name == "loss"
    )
    assert set(choice.choices) == set(lab.inspect.list_losses()) and len(choice.choices) == len(
        set(choice.choices)
    )
    scores = (0.9, 0.8, 0.7, 0.3)
    for name in ("recall_at_k", "roadmap", "margin_contrastive"):
        figure = lab.figures.create("ap_strip", scores=scores, pattern="-+-+", loss=name)
        pull = lab.inspect.list_gradients(
            losses.create(name), scores, [False, True, False, True]
        ).gradients
        np.testing.assert_allclose(figure.numbers()["push"][name], -pull, rtol=1e-6, atol=1e-9)
        assert name in figure.alt(figure.numbers()) and figure.figure().data

    class Lazy(losses.get("margin_contrastive")):
        """A known loss, by a name of its own."""

    lab.losses.add(Lazy)
    try:
        assert lab.figures.create("ap_strip", loss="lazy").numbers()["push"]["lazy"].any()
    finally:
        lab.losses._catalog.catalog._added.pop("lazy", None)


def test_h_minus_numbers_are_those_of_the_issue():
    paper = numbers("h_minus")
    assert paper["slope_before"] == pytest.approx(0.665, abs=1e-3) and paper["slope_after"] == 100
    assert paper["jump"] == pytest.approx(0, abs=1e-9) and paper["bound"] == "fails at ties"
    assert numbers("h_minus", lift_ties=True)["bound"] == "holds"
    assert numbers("h_minus", offset="released")["jump"] == pytest.approx(-0.0533, abs=1e-4)
    assert numbers("h_minus", offset="released, iNaturalist")["bound"] == "fails"


def test_two_sigmoids_area_is_the_closed_form():
    """The area between a logistic and the step is 2 tau ln 2 on an unbounded window."""
    found = numbers("two_sigmoids", tau1=0.5, tau2=0.002)
    assert found["ranks"]["area"] == pytest.approx(2 * 0.5 * math.log(2), rel=1e-2)
    assert found["gaps"]["area"] == pytest.approx(2 * 0.002 * math.log(2), rel=1e-2)


def test_gradient_by_rank_peaks_at_k():
    found = numbers("gradient_by_rank", k=(4, 16))
    assert found["ranks"][found["each"][16].argmax()] == pytest.approx(16, abs=0.1)
    assert found["each"][4].max() == pytest.approx(0.25, abs=1e-3)
    assert np.allclose(found["sum"], found["each"][4] + found["each"][16])


def test_rank_plus_derivatives_are_those_of_the_paper():
    found = numbers("rank_plus", rank_plus=3, rank_minus=5)
    assert found["here"] == pytest.approx(3 / 8)
    assert found["by_plus"] == pytest.approx(5 / 64) and found["by_minus"] == pytest.approx(-3 / 64)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_simix_similarities_are_dot_products_of_mixed_vectors(alpha):
    figure = figures.create("simix_similarities", alpha=alpha, pair="fox 1 + 3")
    found, (a, b) = figure.numbers(), (6, 8)
    vector = alpha * twelve.VECTORS[a] + (1 - alpha) * twelve.VECTORS[b]
    np.testing.assert_allclose(
        found["mixed"], [vector @ other for other in twelve.VECTORS], atol=1e-12
    )
    assert found["itself"] == pytest.approx(vector @ vector) == pytest.approx(found["length"] ** 2)
    assert found["length"] <= 1 + 1e-12 and (alpha in (0.0, 1.0)) == (found["length"] > 1 - 1e-12)
    first = found["order"][0]
    assert f"similarity to {twelve.NAMES[first]}: {alpha:.2f}" in figure.alt(found)
    assert f"= {vector @ twelve.VECTORS[first]:.2f}" in figure.alt(found)


@pytest.mark.parametrize(
    ("knobs", "equal"),
    [
        ({}, True), ({"dtype": "float64"}, True), ({"replay": False}, False),
        ({"replay": False, "dropout": False}, True),
        ({"batch_norm": "running"}, False), ({"batch_norm": "none"}, True),
    ],
)  # fmt: skip
def test_cached_gradients_meter_tells_what_breaks_equality(knobs, equal):
    assert numbers("cached_gradients", **knobs)["equality"].holds is equal


def test_two_batches_gap_is_a_brute_force_one():
    found = numbers("two_batches", batches=3, shift=0.213)
    merged = [
        (s, r) for scores in found["scores"] for s, r in zip(scores, found["relevant"], strict=True)
    ]
    total, hits = [], 0
    for _, group in itertools.groupby(sorted(merged, key=lambda x: -x[0]), key=lambda x: x[0]):
        assert len(list(group)) == 1, "no ties here"
    for rank, (_, right) in enumerate(sorted(merged, key=lambda x: -x[0]), 1):
        hits += right
        if right:
            total.append(hits / rank)
    assert found["inside"] == [1, 1, 1]
    assert found["whole"] == pytest.approx(np.mean(total))
    assert 0 < found["gap"] <= found["bound"]


def test_gap_bounds_hold_and_the_refined_one_can_be_tighter():
    found = numbers("gap_bounds")
    assert (found["gap"] <= found["bound"][:, None] + 1e-9).all()
    for knobs in (
        {},
        {"alpha": 0.95, "beta": 0.3, "noise": 0.3},
        {"positives": 1, "negatives": 5, "noise": 0.2},
    ):
        seen = numbers("gap_bounds", splits=40, **knobs)
        assert (seen["gap"] <= seen["refined"] + 1e-9).all()
    assert found["refined"].mean(axis=1)[-1] < found["bound"][-1]
    assert (found["gap"][0] == 0).all()


def test_protocol_counts_equal_a_loop():
    found = numbers("retrieval_protocols", k=2)
    y, order = twelve.LABELS, found["order"]
    top = [[y[j] == y[q] for j in row[:2]] for q, row in enumerate(order)]
    assert found["hit_rate"] == pytest.approx(np.mean([any(t) for t in top]))
    assert found["recall"] == pytest.approx(np.mean([sum(t) / 2 for t in top]))
    assert not found["own"].any() and all(q not in row for q, row in enumerate(order))
    cheating = numbers("retrieval_protocols", k=1, exclude_self=False)
    assert cheating["hit_rate"] == 1 and cheating["own"][:, 0].all()


def test_two_stage_map_is_the_accuracy_of_nearest_anchors():
    """Where the gallery lies in its own cells, as training images do, AP is 1 for a right anchor and 0 for a wrong."""
    for seed in range(5):
        found = numbers("two_stage_race", spread=0.1, query_spread=1.5, seed=seed)
        assert (found["home"] == found["labels"]).all() and 0.3 < found["accuracy"] < 0.99
        assert found["AP over all positives"][0] == pytest.approx(found["accuracy"])


def test_reranking_takes_the_simplified_similarity():
    """004, I.5: the share of common neighbours of eq. 16, for the items within the neighbourhood alone."""
    found, k = numbers("reranking_blend", beta=1.0), 6
    cosine = found["cosine"]
    near = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    near = [set(row) for row in near.tolist()]
    share = np.array(
        [[len(near[i] & near[j]) / k if j in near[i] else 0 for j in range(30)] for i in range(30)]
    )
    np.fill_diagonal(share, -np.inf)
    assert (np.argsort(-share, axis=1, kind="stable")[:, :-1] == found["after"]).all()


def test_metric_playground_agrees_with_lab_metrics_and_makes_its_point():
    found = numbers("metric_playground")
    assert found["metrics"]["NMI"] == 1 and found["metrics"]["MAP@R"] < 0.85
    own = numbers("metric_playground", x=(0, 1, 5, 6), y=(0, 0, 0, 0), classes="ABAB")
    assert own["metrics"]["r@1"] == 0 and own["metrics"]["NMI"] == pytest.approx(0, abs=1e-9)
    assert (
        found["deck"]["MAP@R"] == 0.779
        and set(found["deck"]) <= set(found["metrics"])
        and not own["deck"]
    )
    with pytest.raises(ValueError, match="equally long"):
        numbers("metric_playground", x=(0.0,), y=(0.0, 1.0), classes="A")


def test_precision_counter_by_hand():
    found = numbers("precision_counter", pattern="+-++-")["metrics"]
    assert found["R-precision"] == pytest.approx(2 / 3)
    assert found["MAP@R"] == pytest.approx((1 + 2 / 3) / 3)
    assert found["AP"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    short = numbers("precision_counter", pattern="+-", missing=1)["metrics"]
    assert short == {"r@1": 1.0, "R-precision": 0.5, "MAP@R": 0.5, "AP": 0.5}


def test_anchor_sandbox_descends_and_its_forces_are_the_gradient_of_the_loss():
    start, end = (numbers("anchor_sandbox", step=s) for s in (0, 100))
    assert end["loss"] < 0.2 * start["loss"]
    loss = losses.create("class_anchor_margin", num_classes=3, dim=2, init="random").double()
    with torch.no_grad():
        loss.anchors.copy_(torch.from_numpy(start["anchors"]))
    value = loss(torch.from_numpy(start["points"]), torch.from_numpy(start["labels"]))
    value.backward()
    assert start["loss"] == pytest.approx(value.item())
    assert np.allclose(sum(start["forces"].values()), -loss.anchors.grad.numpy())
    collapsed = numbers("anchor_sandbox", step=150, repeller=False, min_norm=False)
    assert (
        np.linalg.norm(collapsed["anchors"], axis=1).max()
        < np.linalg.norm(end["anchors"], axis=1).min()
    )


def test_simix_gains_are_differences_of_printed_rows():
    assert numbers("simix_gain")["gains"] == {
        128: [6.6, 0.3, 0.3, -0.2],
        512: [7.5, 0.6, -0.7, -0.4],
    }
    assert numbers("simix_gain", column="longest list", vehicles="large")["gains"][512] == [
        1.7,
        0.7,
        0.1,
        -0.2,
    ]


def test_two_stage_race_ends_at_brute_force():
    found = numbers("two_stage_race")
    assert found["lost"][-1] == 0
    assert found["comparisons"][-1] == 6 + 240 and (np.diff(found["comparisons"]) > 0).all()
    assert found["AP over those returned"][0] > found["AP over all positives"][-1], (
        "the denominator flatters"
    )
    assert found["AP over those returned"][-1] == pytest.approx(found["AP over all positives"][-1])


def test_unit_circle_losses_are_those_of_the_contextual_loss():
    figure = figures.create("unit_circle", place=0.4, k=8, points=16)
    found = figure.numbers()
    angles = found["angles"].copy()
    angles[found["mover"]] = 0.6 * np.pi / 2
    units = torch.from_numpy(np.column_stack([np.cos(angles), np.sin(angles)]))
    row = found["places"].tolist().index(0.4)
    for name, lam in (("contextual", 1.0), ("contrastive", 0.0)):
        loss = losses.create("contextual", lam=lam, gamma=0.0, k=8)
        value = loss(units, torch.from_numpy(found["labels"])).item()
        assert found["values"][name][row, 0] == pytest.approx(value, rel=1e-9)


def test_contextual_steps_end_in_the_contextual_loss():
    figure = figures.create("contextual_steps", eps=0.05)
    found = figure.numbers()
    layers, same = found["layers"], twelve.LABELS[:, None] == twelve.LABELS
    assert layers["w"].shape == (12, 12)
    assert found["loss"] == pytest.approx(np.mean((same - layers["w"]) ** 2 * (1 - np.eye(12))))
    for near, distance in zip(layers["N"], layers["D"], strict=True):
        assert (near == (distance <= sorted(distance)[3] + 0.05)).all()
    assert found["shared"].tolist() == np.flatnonzero(layers["N"][0] * layers["N"][11]).tolist()
    assert figure.clicked(2.1, 0) == {"row": "tiger 1", "column": "tiger 3"}


def test_the_gradient_of_algorithm_1_is_that_of_eq_39_and_not_of_eq_9():
    """Of 004: eq. 9 leaves out that strangers of j are pulled, by alpha / 2 (n - k) on every entry."""
    for k in (3, 4, 5):
        first, second, third = (numbers("gradient_parts", part=part, k=k) for part in (1, 2, 3))
        entries = third["entries"]
        assert third["wrong"] and np.flatnonzero(first["shown"]).tolist() == [third["j"]]
        np.testing.assert_allclose(second["shown"], entries["eq. 9"], atol=1e-12)
        np.testing.assert_allclose(third["shown"], entries["eq. 39"], atol=1e-12)
        np.testing.assert_allclose(entries["eq. 39"], entries["autograd"], atol=1e-12)
        np.testing.assert_allclose(
            entries["autograd"] - entries["eq. 9"], 10 / (2 * (8 - k)), atol=1e-12
        )
    words = figures.create("gradient_parts").figure().layout.meta["alt"]
    assert "eq. 9 on 8 of 8 emoji, by up to 1.25; eq. 39 on none" in words


def test_neighbourhood_pull_touches_exactly_the_misplaced():
    found = numbers("neighbourhood_pull")
    misplaced = found["same"] != found["inside"]
    assert (np.abs(found["force"]) > 0).tolist() == misplaced.tolist()
    assert found["loss"] == pytest.approx(misplaced.mean())


def test_reranking_at_beta_zero_changes_nothing():
    found = numbers("reranking_blend", beta=0.0)
    assert (found["before"] == found["after"]).all()
    assert found["scores"]["before"] == found["scores"]["after"]
    helped = numbers("reranking_blend")["scores"]
    assert helped["after"]["MAP@R"] > helped["before"]["MAP@R"]


def test_gradient_correction_removes_every_wrong_direction():
    wrong = numbers("gradient_correction", steps=2, seeds=1)["wrong"]
    assert wrong["corrected"] == (0, 0) and wrong["free"][1] > 0.05


def test_run_figures_read_the_runs(runs):
    sweep = figures.create("run_sweep", axis="loss.lam", metric="MAP@R").numbers(runs)["lines"]
    assert sweep["roadmap"]["x"] == [0.1, 0.5] and sweep["roadmap"]["runs"] == [1, 2]
    assert sweep["roadmap"]["mean"][1] == pytest.approx((0.4 + 0.35) / 2)
    table = figures.create("run_map", x="loss.lam", y="loss.name").numbers(runs)
    assert table["mean"][table["y"].index("sup_ap"), 0] == 0.5 and np.isnan(table["mean"][1, 1])
    costs = figures.create("run_costs").numbers(runs)["rows"][0]
    assert costs["seconds a step"] == pytest.approx(0.5) and costs["peak memory (GB)"] == 2
    curves = figures.create("run_curves", smooth=1).numbers(runs)["curves"]["one"]
    assert curves["loss"][-1] == pytest.approx(1 / 30) and curves["validated"][1][
        -1
    ] == pytest.approx(0.6)
    changes = figures.create("query_changes").numbers(runs)
    assert changes["change"][changes["improved"][0]] == changes["change"].max()
    lists = figures.create("retrieved_lists", query=3).numbers(runs)["rows"][1]
    own = runs[1].embeddings()
    scores = own.vectors @ own.vectors[3]
    scores[3] = -9
    assert lists["items"].tolist() == own.items[np.argsort(-scores, kind="stable")[:9]].tolist()
    suspects = figures.create("disagreeing_neighbours", k=4, threshold=0.2).numbers(runs)
    assert set(suspects["items"]) == set(range(100, 124)) and (np.diff(suspects["w"]) <= 0).all()
    assert all(suspects["labels"][a] != suspects["labels"][b] for a, b in suspects["pairs"])


def test_run_figures_name_what_is_missing(runs):
    with pytest.raises(ValueError, match="no run has both loss.tau9"):
        figures.create("run_sweep", axis="loss.tau9").numbers(runs)
    with pytest.raises(
        ValueError, match="RunMap: no run has loss.tau9. Settings: loss.lam, loss.name"
    ):
        figures.create("run_map", y="loss.tau9").numbers(runs)
    with pytest.raises(ValueError, match="query must be below 24"):
        figures.create("retrieved_lists", query=24).numbers(runs)
    with pytest.raises(ValueError, match="has no ndcg a query; it has mAP"):
        figures.create("query_changes", metric="ndcg").numbers(runs)


def test_lists_show_the_images_and_what_one_run_alone_finds(runs):
    shown = figures.create("retrieved_lists")
    found = shown.numbers(shown.example())
    right = [set(row["items"][row["right"] == 1].tolist()) for row in found["rows"]]
    for i, row in enumerate(found["rows"]):
        assert set(row["items"][row["alone"]].tolist()) == right[i].difference(
            *right[:i], *right[i + 1 :]
        )
    assert [row["name"] for row in found["rows"]] == [
        "example: Cross-entropy", "example: Class anchor margin", "example: Contrastive", "example: Recall@k",
    ]  # fmt: skip
    assert len(shown.draw(found).layout.images) == 4 * (1 + 9), (
        "the query and nine images of each run"
    )
    assert found["names"][found["rows"][0]["item"]] == "grinning face"
    bare = shown.figure(runs[:2])
    assert not bare.layout.images and "item 1" in bare.layout.meta["alt"], (
        "images that are gone have numbers"
    )


def test_anchors_without_repeller_and_minimum_norm_end_in_one_place():
    rows = numbers("anchor_ablation", steps=40, seeds=1)["rows"]
    apart = {(row["init"], row["repeller"], row["min_norm"]): row["apart"] for row in rows}
    assert apart["random", False, False] < 0.5 < 1.0 < apart["random", True, False]
    assert apart["base", True, True] == pytest.approx(4, abs=0.5), "base vectors start 2m apart"


def test_a_long_stranger_comes_first_by_inner_product_alone():
    threshold = 1.2 * math.cos(math.radians(30)) / math.cos(math.radians(40))
    for length, place in ((threshold - 0.01, 2), (threshold + 0.01, 1)):
        found = numbers("vector_lengths", length=length)["place"]
        assert found == {"cosine": 4, "inner product": place, "distance": 4}
    assert numbers("vector_lengths", length=2.5)["place"]["distance"] == 6


def test_the_twelve_lie_where_their_pixels_put_them():
    """Of 8 x 8 pixels, less their mean and of unit length, the two directions in which they differ most."""
    emoji = lab.data.create("emoji7")
    assert [str(emoji.class_names[emoji.labels[i]]).split()[0] for i in twelve.ITEMS[::3]] == list(
        twelve.KINDS
    )
    seen = np.stack(
        [
            np.asarray(emoji.load(i).resize((8, 8), Image.Resampling.BOX), float).ravel()
            for i in twelve.ITEMS
        ]
    )
    seen -= seen.mean(axis=0)
    left, size, _ = np.linalg.svd(
        seen / np.linalg.norm(seen, axis=1, keepdims=True), full_matrices=False
    )
    plane = left[:, :2] * size[:2]
    cosines = plane @ plane.T / np.outer(*[np.linalg.norm(plane, axis=1)] * 2)
    np.testing.assert_allclose(twelve.VECTORS @ twelve.VECTORS.T, cosines, atol=0.02)


def test_a_sweep_says_which_loss_stays_below_no_training():
    figure = figures.create("tau1_sweep", tau1=(1.0,), steps=1, seeds=1)
    found = figure.numbers()
    raw = _toy.untrained(_toy.hidden_classes(seed=0).test)
    assert {name.split(", ")[1]: line.tolist() for name, line in found["without"].items()} == {
        score: [raw[score]] for score in ("r@1", "MAP@R")
    }
    for score in ("r@1", "MAP@R"):
        below = found["curves"][score][0][0] < raw[score]
        assert (f"below no training: {score} at 1 of 1" in found["subtitle"]) == below
    measured = numbers("batch_size_sweep", data="Emoji-7")
    (line,) = measured["without"].values()
    losing = [name for name, (mean, _) in measured["curves"].items() if (mean < line).any()]
    assert all(
        (name in measured["subtitle"].split("no training: ")[-1]) == (name in losing)
        for name in losing
    )
