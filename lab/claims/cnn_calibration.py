"""001, figure 5 once more, with the small CNN trained as a whole."""

from lab.claims._axes import arms
from lab.claims._study import Claim, Contrast, Study
from lab.claims.calibration_gain import LOSSES, gain, gap

SIZES = (32, 128)

STUDY = Study(
    turn=23,
    title="Gain of calibration by batch size, the whole small CNN trained",
    source="ROADMAP, figure 5",
    points=tuple(point for size in SIZES for point in arms(LOSSES, {"batch size": size}, sampler={"batch_size": size})),
    lrs=(1e-3, 2e-3),
    tier="cnn",
    extra=gap,
    claims=(
        Claim(
            "ROADMAP, figure 5",
            "Adding calibration to SupAP helps, and by more with smaller batches.",
            (
                *(Contrast(f"gain at {size}", lambda s, b=size: gain(s, b)) for size in SIZES),
                Contrast("gain at 32 less gain at 128", lambda s: gain(s, 32) - gain(s, 128)),
            ),
        ),
    ),
)
