"""000 table 2 and 001 table 3 once more, with the small CNN trained as a whole."""

from lab.claims._axes import ahead, arms
from lab.claims._study import Claim, Study

NAMES = ("recall_at_k", "smooth_ap", "sup_ap", "roadmap", "contrastive")

STUDY = Study(
    turn=14,
    title="Five losses, the whole small CNN trained",
    source="RS@k, table 2; ROADMAP, table 3",
    points=tuple(arms({name: {"name": name} for name in NAMES})),
    lrs=(1e-3, 2e-3),
    tier="cnn",
    claims=(
        Claim("RS@k beats SmoothAP in r@1.", ahead("recall_at_k", "smooth_ap", column="r@1"), source="RS@k, table 2"),
        Claim("SupAP beats SmoothAP.", ahead("sup_ap", "smooth_ap"), source="ROADMAP, table 3"),
        Claim("Calibration adds to SupAP: ROADMAP beats SupAP.", ahead("roadmap", "sup_ap"), source="ROADMAP, table 3"),
        Claim(
            "RS@k beats the contrastive loss in r@1.",
            ahead("recall_at_k", "contrastive", column="r@1"),
            source="RS@k, table 2",
        ),
    ),
)
