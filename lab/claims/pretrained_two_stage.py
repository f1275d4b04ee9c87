"""003, table 2 in small: two-stage search by class anchors, with a pretrained network that learns from end to end."""

from dataclasses import replace

from lab.claims.two_stage import STUDY as WITH_FROZEN_FEATURES

STUDY = replace(
    WITH_FROZEN_FEATURES,
    turn=26,
    title="Two-stage search against brute force, a pretrained network trained as a whole",
    lrs=(3e-4, 1e-3),
    tier="end_to_end",
)
