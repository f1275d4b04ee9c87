"""What batch size, SiMix, calibration and a mixture bring a pretrained network that learns from end to end."""

from __future__ import annotations

from typing import Any

from lab.claims import _context
from lab.claims._axes import less, variants
from lab.claims._study import Claim, Contrast, Point, Study

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
    "contextual mixture": {"loss": _context.contextual(0.8, 0.1)},
    "contextual alone": {"loss": _context.contextual(1.0, 0.0)},
}


def points(name: str, config: dict[str, Any]) -> list[Point]:
    """SupAP and ROADMAP stand in the table once for each variant, RS@k chooses between its two."""
    setting = {"training": name}
    return variants(setting, **config) if name.startswith("RS@k") else [Point(setting, config)]


def more(one: str, other: str) -> Contrast:
    return less(f"{one} less {other}", {"training": one}, {"training": other})


STUDY = Study(
    turn=30,
    title="Batch size, SiMix, calibration and the contextual mixture, a pretrained network trained as a whole",
    source="RS@k, section 4.3 and figure 4; ROADMAP, table 3; Contextual, figure 7",
    points=tuple(point for name, config in CASES.items() for point in points(name, config)),
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
