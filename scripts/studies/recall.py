"""000 (RS@k): against other ranking losses, with large batches, and SiMix where classes are few and where many."""

from typing import Any

from scripts.studies.study import Arm, Study, gains

RECALL = {"name": "recall_at_k", "variant": "released"}
SIMIX: dict[str, Any] = {**RECALL, "simix": True, "k": [1, 2, 4, 8, *range(12, 33, 4)]}
"""With its own lengths of the short list (section 4.2)."""

rs = Arm("RS@k", {"loss": RECALL})
mixed = Arm("RS@k with SiMix", {"loss": SIMIX})
ALL = {"batch_size": 80}
"""Four images of each of the twenty classes: all of them, as on Cars196."""
few = Arm("RS@k, few classes", {"loss": RECALL, "sampler": ALL}, protocol="few", tier="cnn")
few_mixed = Arm(
    "RS@k with SiMix, few classes", {"loss": SIMIX, "sampler": ALL}, protocol="few", tier="cnn"
)
small, large = (
    Arm(f"RS@k, batch {b:,}", {"loss": RECALL, "sampler": {"batch_size": b}}) for b in (96, 1024)
)
smooth = Arm("SmoothAP", {"loss": {"name": "smooth_ap"}}, ("r@1", "MAP@R"))
fast = Arm("FastAP", {"loss": {"name": "fast_ap"}}, ("r@1", "MAP@R"))

R1 = "r@1", "r@1"
RS, MIXED = ("table 2", "RS@k"), ("table 2", "RS@k + SiMix")

simix_few_classes = Study(
    "SiMix helps much where classes are few and hold many images.",
    gains("000", MIXED, RS, "r@1", "cars196"),
    few_mixed,
    few,
    R1,
    "Cars196 trains on 98 classes of 82 images, four of each in a batch. Here the subgroups of Unicode are classes: 20 "
    "of 16 to 174 images train a small CNN, four of each in a batch, and 33 others test.",
)
simix_many_classes = Study(
    "SiMix changes little where classes are many and hold few images.",
    gains("000", MIXED, RS, "r@1", "sop", "inaturalist2018", "vehicle_id"),
    mixed,
    rs,
    R1,
)
rsk_smooth_ap = Study(
    "RS@k beats SmoothAP.", gains("000", RS, ("table 2", "SAP + GeM + LN"), "r@1"), rs, smooth, R1
)
rsk_fast_ap = Study(
    "RS@k beats FastAP.", gains("000", RS, ("table 2", "FastAP"), "r@1"), rs, fast, R1
)
rsk_batch_size = Study(
    "RS@k gains from batches that are ten times larger.",
    gains("000", RS, ("section 4.3", "RS@k, batch 384"), "r@1", "sop"),
    large,
    small,
    R1,
    "The paper's 4,000 images against 384; here 1,024 against 96. Both take the same number of steps.",
)
