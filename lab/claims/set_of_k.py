"""000, section 4.2: which ranks k the recall surrogate sums over."""

from collections.abc import Callable

from lab.claims._axes import options
from lab.claims._study import Claim, Contrast, Point, Study, Task

PAPER = (1, 2, 4, 8, 16)
SETS = ((1,), (4,), (16,), (1, 2), (1, 2, 4), (1, 2, 4, 8), PAPER, (1, 2, 4, 8, 16, 32))
OTHERS = tuple(ks for ks in SETS if len(ks) > 2 and ks != PAPER)


def named(ks: tuple[int, ...]) -> str:
    return " ".join(map(str, ks))


def at(s: Callable[..., float], ks: tuple[int, ...]) -> float:
    return s(k=named(ks))


STUDY = Study(
    turn=27,
    title="The set of k of the recall surrogate",
    source="RS@k, section 4.2",
    points=tuple(
        Point({"k": named(ks)}, {"loss": {"name": "recall_at_k", "k": list(ks), **variant}}, Task(), option)
        for ks in SETS
        for option, variant in options("recall_at_k").items()
    ),
    lrs=(2.5e-4, 1e-3),
    column="r@1",
    claims=(
        Claim(
            "RS@k, section 4.2",
            "The method is not very sensitive to the set of k: sets of three or more lie within half a point.",
            tuple(
                Contrast(f"{named(ks)} less {named(PAPER)}", lambda s, ks=ks: at(s, ks) - at(s, PAPER), "none")
                for ks in OTHERS
            ),
        ),
        Claim(
            "RS@k, section 4.2",
            "Several k are better than one.",
            tuple(
                Contrast(f"{named(PAPER)} less {named(ks)}", lambda s, ks=ks: at(s, PAPER) - at(s, ks))
                for ks in SETS
                if len(ks) == 1
            ),
        ),
    ),
    remark="A class has four images in a batch, so that three positives are all there is to find; k of 16 and 32 ask "
    "for them among so many. The paper's own study is in its supplement, which was not at hand.",
)
