"""000 table 2, 001 tables 1 and 3, 004 tables 2 and 3: every loss of the catalogue."""

import lab.losses
from lab.claims._study import Claim, Contrast, Point, Study

UNTRIED = ("memory_contrastive",)
"""Losses that are not made to be used alone: this one belongs into a cross-batch memory."""

KNOBS = {"class_anchor_margin": {"init": "random"}}
"""There are more classes than dimensions, so anchors cannot start on base vectors."""


def ahead(one: str, *others: str, column: str = "MAP@R") -> tuple[Contrast, ...]:
    """Contrasts: one loss above each of the others."""
    return tuple(
        Contrast(f"{one} - {other}, {column}", lambda s, o=other: s(column, loss=one) - s(column, loss=o))
        for other in others
    )


STUDY = Study(
    title="Every loss of the catalogue",
    source="000 table 2; 001 tables 1 and 3; 004 tables 2 and 3",
    points=tuple(
        Point({"loss": name}, {"loss": {"name": name, **KNOBS.get(name, {})}})
        for name in lab.losses.names()
        if name not in UNTRIED
    ),
    lrs=(1e-3, 4e-3),
    claims=(
        Claim("000, table 2", "RS@k beats SmoothAP in r@1.", ahead("recall_at_k", "smooth_ap", column="r@1")),
        Claim(
            "000, table 2",
            "RS@k beats pairwise losses, classification losses and the older AP losses in r@1.",
            ahead(
                "recall_at_k", "contrastive", "margin", "multi_similarity", "normalized_softmax", "proxy_nca",
                "fast_ap", "blackbox_ap", column="r@1",
            ),
        ),
        Claim(
            "001, table 1",
            "ROADMAP beats the other AP losses.",
            ahead("roadmap", "fast_ap", "softbin_ap", "blackbox_ap", "smooth_ap"),
        ),
        Claim("001, table 3", "SupAP beats SmoothAP.", ahead("sup_ap", "smooth_ap")),
        Claim("001, table 3", "Calibration adds to SupAP: ROADMAP beats SupAP.", ahead("roadmap", "sup_ap")),
        Claim(
            "004, tables 2 and 3",
            "The contextual loss beats contrastive, triplet, multi-similarity, proxy and AP losses in r@1.",
            ahead(
                "contextual", "contrastive", "triplet_margin", "multi_similarity", "proxy_anchor", "proxy_nca",
                "roadmap", column="r@1",
            ),
        ),
        Claim(
            "003, table 1",
            "Class anchors beat cross-entropy and the contrastive loss (mAP), here on classes not trained on.",
            ahead("class_anchor_margin", "cross_entropy", "contrastive", column="mAP"),
        ),
    ),
    remark="The papers train whole networks for many epochs and tune each loss; here every loss has its default knobs "
    "and the same two learning rates.",
)  # fmt: skip
