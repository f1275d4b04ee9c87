"""000 table 2, 001 tables 1 and 3, 004 tables 2 and 3: the losses that the papers compare, and their peers."""

from lab.claims._axes import ahead, arms
from lab.claims._study import Claim, Study

NAMES = (
    "arc_face", "blackbox_ap", "calibration", "class_anchor_margin", "contextual", "contrastive", "cos_face",
    "cross_entropy", "fast_ap", "margin", "multi_similarity", "normalized_softmax", "nt_xent", "proxy_anchor",
    "proxy_nca", "recall_at_k", "roadmap", "signal_to_noise_ratio_contrastive", "smooth_ap", "soft_triple",
    "softbin_ap", "sup_ap", "triplet_margin",
)  # fmt: skip
"""Those whose results are published; a loss that is new in the catalogue does not change them."""

KNOBS = {"class_anchor_margin": {"init": "random"}}
"""There are more classes than dimensions, so anchors cannot start on base vectors."""

STUDY = Study(
    turn=1,
    title="Losses of every family",
    source="RS@k, table 2; ROADMAP, tables 1 and 3; Contextual, tables 2 and 3",
    points=tuple(arms({name: {"name": name, **KNOBS.get(name, {})} for name in NAMES})),
    lrs=(2.5e-4, 1e-3, 4e-3),
    claims=(
        Claim("RS@k beats SmoothAP in r@1.", ahead("recall_at_k", "smooth_ap", column="r@1"), source="RS@k, table 2"),
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
        Claim("SupAP beats SmoothAP.", ahead("sup_ap", "smooth_ap"), source="ROADMAP, table 3"),
        Claim("Calibration adds to SupAP: ROADMAP beats SupAP.", ahead("roadmap", "sup_ap"), source="ROADMAP, table 3"),
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
