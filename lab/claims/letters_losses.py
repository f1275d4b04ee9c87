"""RS@k, table 2, and Contextual, table 2, in small on letters: a pretrained network that learns from end to end."""

from lab.claims import _context, pretrained_losses
from lab.claims._axes import ahead, arms, less
from lab.claims._study import Claim, Point, Study

SIMIX, MIXTURE = "RS@k with SiMix", "contextual mixture"

STUDY = Study(
    turn=24,
    title="The same losses on letters, with SiMix and the contextual mixture",
    source="RS@k, table 2; Contextual, table 2 and figure 7",
    data="letters",
    points=(
        *pretrained_losses.STUDY.points,
        *arms({SIMIX: {"name": "recall_at_k", "simix": True}}),
        Point({"loss": MIXTURE}, {"loss": _context.contextual(0.8, 0.1)}),
    ),
    lrs=(1e-4, 3e-4),
    tier="end_to_end",
    column="r@1",
    claims=(
        *pretrained_losses.STUDY.claims,
        Claim(
            "SiMix adds to RS@k.",
            (less(f"{SIMIX} less RS@k", {"loss": SIMIX}, {"loss": "recall_at_k"}),),
            source="RS@k, table 2",
        ),
        Claim(
            "The contextual loss, mixed with the contrastive one, beats contrastive and multi-similarity in r@1.",
            ahead(MIXTURE, "contrastive", "multi_similarity", column="r@1"),
            source="Contextual, table 2",
        ),
    ),
    remark="497 letters of three scripts in ten typefaces, halves of them to train and to test on as with Emoji-7.",
)
