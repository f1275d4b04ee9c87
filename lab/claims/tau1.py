"""000, figure 4 left: the temperature on ranks, with and without SiMix."""

from lab.claims._axes import options
from lab.claims._study import Claim, Contrast, Point, Study, Task
from lab.claims.batch_size import SIMIX

TAU1 = (0.1, 0.3, 1.0, 3.0, 10.0)


def gain(simix: bool, other: float) -> Contrast:
    """How much better 1 is than another temperature."""
    name = "RS@k with SiMix" if simix else "RS@k"
    return Contrast(
        f"{name}: tau1 = 1 less tau1 = {other:g}",
        lambda s: s(loss=name, tau1=1.0) - s(loss=name, tau1=other),
    )


STUDY = Study(
    turn=7,
    title="Temperature on ranks, tau1",
    source="RS@k, figure 4 left",
    points=tuple(
        Point(
            {"loss": "RS@k with SiMix" if simix else "RS@k", "tau1": tau1},
            {"loss": {"name": "recall_at_k", "tau1": tau1, **(SIMIX if simix else {"simix": False}), **variant}},
            Task(),
            option,
        )
        for simix in (False, True)
        for tau1 in TAU1
        for option, variant in options("recall_at_k").items()
    ),
    lrs=(2.5e-4, 1e-3),
    column="r@1",
    claims=(
        Claim(
            "RS@k, section 4.4",
            "With and without SiMix, tau1 = 1 is best; higher and lower values lead to a decline.",
            tuple(gain(simix, other) for simix in (False, True) for other in (0.1, 10.0)),
        ),
        Claim(
            "RS@k, section 4.2",
            "The loss is not very sensitive to tau1: the neighbours 0.3 and 3 are within half a point of 1.",
            tuple(
                Contrast(c.words, c.of, expects="none")
                for c in (gain(simix, other) for simix in (False, True) for other in (0.3, 3.0))
            ),
        ),
    ),
)
