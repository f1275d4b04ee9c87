"""000 table 2, 001 tables 1 and 3, 004 tables 2 and 3: the losses that the papers compare, and their peers; on frozen
features, and with networks that learn as a whole."""

from __future__ import annotations

from typing import Any

from lab.claims._study import Claim, Contrast, Point, Study, ahead, arms, less, variants
from lab.claims.contextual import contextual

NAMES = (
    "arc_face", "blackbox_ap", "calibration", "class_anchor_margin", "contextual", "contrastive", "cos_face",
    "cross_entropy", "fast_ap", "margin", "multi_similarity", "normalized_softmax", "nt_xent", "proxy_anchor",
    "proxy_nca", "recall_at_k", "roadmap", "signal_to_noise_ratio_contrastive", "smooth_ap", "soft_triple",
    "softbin_ap", "sup_ap", "triplet_margin",
)  # fmt: skip
"""Those whose results are published; a loss that is new in the catalogue does not change them."""

KNOBS = {"class_anchor_margin": {"init": "random"}}
"""There are more classes than dimensions, so anchors cannot start on base vectors."""

SMOOTH_AP = Claim(
    "RS@k beats SmoothAP in r@1.", ahead("recall_at_k", "smooth_ap", column="r@1"), source="RS@k, table 2"
)
SUP_AP = Claim("SupAP beats SmoothAP.", ahead("sup_ap", "smooth_ap"), source="ROADMAP, table 3")
CALIBRATION = Claim(
    "Calibration adds to SupAP: ROADMAP beats SupAP.", ahead("roadmap", "sup_ap"), source="ROADMAP, table 3"
)
CONTRASTIVE = Claim(
    "RS@k beats the contrastive loss in r@1.",
    ahead("recall_at_k", "contrastive", column="r@1"),
    source="RS@k, table 2",
)


def by_name(*names: str) -> tuple[Point, ...]:
    return tuple(arms({name: {"name": name, **KNOBS.get(name, {})} for name in names}))


losses = Study(
    turn=1,
    title="Losses of every family",
    source="RS@k, table 2; ROADMAP, tables 1 and 3; Contextual, tables 2 and 3",
    points=by_name(*NAMES),
    lrs=(2.5e-4, 1e-3, 4e-3),
    claims=(
        SMOOTH_AP,
        Claim(
            "RS@k beats pairwise losses, classification losses and the older AP losses in r@1.",
            ahead(
                "recall_at_k", "contrastive", "margin", "multi_similarity", "normalized_softmax", "proxy_nca",
                "fast_ap", "blackbox_ap", column="r@1",
            ),
            source="RS@k, table 2",
        ),
        Claim(
            "ROADMAP beats the other AP losses.",
            ahead("roadmap", "fast_ap", "softbin_ap", "blackbox_ap", "smooth_ap"),
            source="ROADMAP, table 1",
        ),
        SUP_AP,
        CALIBRATION,
        Claim(
            "The contextual loss beats contrastive, triplet, multi-similarity, proxy and AP losses in r@1.",
            ahead(
                "contextual", "contrastive", "triplet_margin", "multi_similarity", "proxy_anchor", "proxy_nca",
                "roadmap", column="r@1",
            ),
            source="Contextual, tables 2 and 3",
        ),
    ),
    remark="The papers train whole networks for many epochs and tune each loss; here every loss has its default knobs "
    "and the same three learning rates.",
)  # fmt: skip

cnn_losses = Study(
    turn=14,
    title="Five losses, the whole small CNN trained",
    source="RS@k, table 2; ROADMAP, table 3",
    points=by_name("recall_at_k", "smooth_ap", "sup_ap", "roadmap", "contrastive"),
    lrs=(1e-3, 2e-3),
    tier="cnn",
    claims=(SMOOTH_AP, SUP_AP, CALIBRATION, CONTRASTIVE),
)

pretrained_losses = Study(
    turn=25,
    title="Four losses, a pretrained EfficientNet-Lite0 trained as a whole",
    source="RS@k, table 2; Contextual, table 2",
    points=by_name("recall_at_k", "smooth_ap", "contrastive", "multi_similarity"),
    lrs=(3e-4, 1e-3),
    tier="end_to_end",
    column="r@1",
    claims=(
        SMOOTH_AP,
        CONTRASTIVE,
        Claim(
            "Multi-similarity with its miner beats the contrastive loss in r@1.",
            ahead("multi_similarity", "contrastive", column="r@1"),
            source="Contextual, table 2",
        ),
    ),
    remark="Where a machine has the time: `lab papers claims run --only pretrained_losses --device cuda --seeds 20`; "
    "more steps and rates are a change of numbers in this file and in the tier's base.",
)

letters_losses = Study(
    turn=24,
    title="The same losses on letters, with SiMix and the contextual mixture",
    source="RS@k, table 2; Contextual, table 2 and figure 7",
    data="letters",
    points=(
        *pretrained_losses.points,
        *arms({"RS@k with SiMix": {"name": "recall_at_k", "simix": True}}),
        Point({"loss": "contextual mixture"}, {"loss": contextual(0.8, 0.1)}),
    ),
    lrs=(1e-4, 3e-4),
    tier="end_to_end",
    column="r@1",
    claims=(
        *pretrained_losses.claims,
        Claim(
            "SiMix adds to RS@k.",
            ahead("RS@k with SiMix", "recall_at_k"),
            source="RS@k, table 2",
        ),
        Claim(
            "The contextual loss, mixed with the contrastive one, beats contrastive and multi-similarity in r@1.",
            ahead("contextual mixture", "contrastive", "multi_similarity", column="r@1"),
            source="Contextual, table 2",
        ),
    ),
    remark="497 letters of three scripts in ten typefaces, halves of them to train and to test on as with Emoji-7.",
)

RECALL = {"name": "recall_at_k"}
CASES: dict[str, dict[str, Any]] = {
    "RS@k, batch 32": {"loss": RECALL, "sampler": {"batch_size": 32}},
    "RS@k, batch 64": {"loss": RECALL},
    "RS@k, batch 128": {"loss": RECALL, "sampler": {"batch_size": 128}},
    "RS@k with SiMix, batch 64": {"loss": {**RECALL, "simix": True}},
    "SupAP": {"loss": {"name": "sup_ap"}},
    "SupAP, released": {"loss": {"name": "sup_ap", "variant": "released"}},
    "ROADMAP": {"loss": {"name": "roadmap"}},
    "ROADMAP, released": {"loss": {"name": "roadmap", "variant": "released"}},
    "contrastive on cosines": {"loss": {"name": "margin_contrastive"}},
    "contextual mixture": {"loss": contextual(0.8, 0.1)},
    "contextual alone": {"loss": contextual(1.0, 0.0)},
}
"""SupAP and ROADMAP stand in the table once for each variant, RS@k chooses between its two."""


def more(one: str, other: str) -> Contrast:
    return less({"training": one}, {"training": other})


pretrained_parts = Study(
    turn=30,
    title="Batch size, SiMix, calibration and the contextual mixture, a pretrained network trained as a whole",
    source="RS@k, section 4.3 and figure 4; ROADMAP, table 3; Contextual, figure 7",
    points=tuple(
        point
        for name, config in CASES.items()
        for point in (
            variants({"training": name}, **config) if name.startswith("RS@k") else [Point({"training": name}, config)]
        )
    ),
    lrs=(3e-4, 1e-3),
    tier="end_to_end",
    column="r@1",
    claims=(
        Claim(
            "Larger batches are better, at an equal number of steps.",
            (more("RS@k, batch 64", "RS@k, batch 32"), more("RS@k, batch 128", "RS@k, batch 64")),
            source="RS@k, figure 4",
        ),
        Claim("SiMix adds to RS@k.", (more("RS@k with SiMix, batch 64", "RS@k, batch 64"),), source="RS@k, table 2"),
        Claim(
            "Calibration adds to SupAP, as printed and as released.",
            (more("ROADMAP", "SupAP"), more("ROADMAP, released", "SupAP, released")),
            source="ROADMAP, table 3",
        ),
        Claim(
            "A mixture of contextual and contrastive loss is better than either.",
            (more("contextual mixture", "contextual alone"), more("contextual mixture", "contrastive on cosines")),
            source="Contextual, figure 7",
        ),
    ),
    remark="Two learning rates for all.",
)
