"""000, section 4.2: which ranks k the recall surrogate sums over."""

from typing import Any

from lab.claims._axes import less, variants
from lab.claims._study import Claim, Contrast, Study

PAPER = (1, 2, 4, 8, 16)
SETS = ((1,), (4,), (16,), (1, 2), (1, 2, 4), (1, 2, 4, 8), PAPER, (1, 2, 4, 8, 16, 32))


def named(ks: tuple[int, ...]) -> str:
    return " ".join(map(str, ks))


def gain(one: tuple[int, ...], other: tuple[int, ...], **expected: Any) -> Contrast:
    return less(f"{named(one)} less {named(other)}", {"k": named(one)}, {"k": named(other)}, **expected)


STUDY = Study(
    turn=27,
    title="The set of k of the recall surrogate",
    source="RS@k, section 4.2",
    points=tuple(point for ks in SETS for point in variants({"k": named(ks)}, {"name": "recall_at_k", "k": list(ks)})),
    column="r@1",
    claims=(
        Claim(
            "The method is not very sensitive to the set of k: sets of three or more lie within half a point.",
            tuple(gain(ks, PAPER, expects="none") for ks in SETS if len(ks) > 2 and ks != PAPER),
        ),
        Claim("Several k are better than one.", tuple(gain(PAPER, ks) for ks in SETS if len(ks) == 1)),
    ),
    remark="A class has four images in a batch, so that three positives are all there is to find; k of 16 and 32 ask "
    "for them among so many. The paper's own study is in its supplement, which was not at hand.",
)
