"""001, figure 5 once more, with the small CNN trained as a whole."""

from lab.claims._study import Claim, Contrast, Study
from lab.claims.calibration_gain import gain, gains, gap, points

SIZES = (32, 128)

STUDY = Study(
    turn=23,
    title="Gain of calibration by batch size, the whole small CNN trained",
    source="ROADMAP, figure 5",
    points=points(SIZES),
    lrs=(1e-3, 2e-3),
    tier="cnn",
    extra=gap,
    claims=(
        Claim(
            "Adding calibration to SupAP helps, and by more with smaller batches.",
            (*gains(SIZES), Contrast("gain at 32 less gain at 128", lambda s: gain(s, 32) - gain(s, 128))),
        ),
    ),
)
