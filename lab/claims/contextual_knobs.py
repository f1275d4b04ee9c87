"""004, figure 13: the slack of neighbourhoods, the weight of the regulariser and its target."""

from lab.claims._axes import less
from lab.claims._study import Claim, Point, Study

DEFAULT = {"eps": 0.05, "gamma": 0.1, "s_tilde": 0.3}
OTHERS = {"eps": (0.0, 0.02, 0.1, 0.2), "gamma": (0.05, 0.2, 0.4), "s_tilde": (0.0, 0.15, 0.45)}
WORDS = {"eps": "epsilon", "gamma": "gamma", "s_tilde": "target of the mean similarity"}


def setting(knob: str, value: float) -> dict[str, float]:
    """The defaults but for one knob."""
    return {WORDS[name]: value if name == knob else default for name, default in DEFAULT.items()}


def point(knob: str, value: float) -> Point:
    return Point(setting(knob, value), {"loss": {"name": "contextual", "lam": 0.4, **DEFAULT, knob: value}})


STUDY = Study(
    turn=28,
    title="Slack, weight of the regulariser and its target",
    source="Contextual, figure 13",
    points=(point("eps", DEFAULT["eps"]), *(point(knob, value) for knob, values in OTHERS.items() for value in values)),
    column="r@1",
    claims=tuple(
        Claim(
            f"The loss is not very sensitive to {WORDS[knob]}: its neighbours are within half a point of the default.",
            tuple(
                less(
                    f"{WORDS[knob]}: {value:g} less {default:g}",
                    setting(knob, value),
                    setting(knob, default),
                    expects="none",
                )
                for value in OTHERS[knob]
                if value
            ),
        )
        for knob, default in DEFAULT.items()
    ),
    remark="One knob at a time away from its default; lambda is 0.4.",
)
