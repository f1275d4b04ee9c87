"""000 table 2 and 004 table 2 in small: a pretrained network that learns from end to end."""

from lab.claims._axes import ahead, arms
from lab.claims._study import Claim, Study

NAMES = ("recall_at_k", "smooth_ap", "contrastive", "multi_similarity")

STUDY = Study(
    turn=25,
    title="Four losses, a pretrained EfficientNet-Lite0 trained as a whole",
    source="RS@k, table 2; Contextual, table 2",
    points=tuple(arms({name: {"name": name} for name in NAMES})),
    lrs=(3e-4, 1e-3),
    tier="end_to_end",
    column="r@1",
    claims=(
        Claim("RS@k beats SmoothAP in r@1.", ahead("recall_at_k", "smooth_ap", column="r@1"), source="RS@k, table 2"),
        Claim(
            "RS@k beats the contrastive loss in r@1.",
            ahead("recall_at_k", "contrastive", column="r@1"),
            source="RS@k, table 2",
        ),
        Claim(
            "Multi-similarity with its miner beats the contrastive loss in r@1.",
            ahead("multi_similarity", "contrastive", column="r@1"),
            source="Contextual, table 2",
        ),
    ),
    remark="Where a machine has the time: `lab claims run --tier end_to_end --device cuda --seeds 20`; more steps and "
    "rates are a change of numbers in this file and in the tier's base.",
)
