"""004, section 4.3 and appendix: why about half of the pairs of the contextual loss go the wrong way."""

from typing import Literal

import numpy as np

from lab import losses
from lab.core import style
from lab.figures import _bundled
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob, slack
from lab.inspect import pair_gradients

VARIANTS = {
    "contextual": {},
    "without query expansion": {"expansion": False},
    "without M₋": {"complement": False},
    "without either": {"complement": False, "expansion": False},
}
KINDS = (
    "one class, pulled together",
    "one class, pushed apart",
    "strangers, pushed apart",
    "strangers, pulled together",
)


class WrongWayPairs(Figure):
    """Pairs of a batch of real images by what the contextual gradient does with them, with parts of it switched off.

    Two parts go against labels: the neighbours of a wrong neighbour are pushed away, whatever their class (part 2 of
    eq. 9), and M-, the count of shared non-neighbours, draws strangers together (eq. 39, left out of eq. 9).
    """

    title = "Why do so many pairs go the wrong way?"
    source = "Contextual, eq. 9 and 39"
    tier = "instant"
    question = "Which part of the loss makes most of the wrong pairs, and how much of the gradient do they hold?"
    moves = ("classes", "per_class")

    classes: int = knob("Classes of the batch.", default=12, ge=3, le=20)
    per_class: int = knob("Images of each class, and neighbours (k).", default=4, ge=2, le=6)
    eps: float = slack(0.05, 0.5)
    network: Literal["contrastive", "recall_at_k", "cross_entropy"] = knob(
        "Loss that the network was trained with; the images are of classes it never saw.",
        default="contrastive",
    )
    seed: int = knob("Random seed of the batch.", default=0, ge=0, le=99)

    def numbers(self) -> Numbers:
        embeddings, labels = self._batch()
        share = {}
        mass = {}
        for name, parts in VARIANTS.items():
            loss = losses.create(
                "contextual",
                lam=1.0,
                gamma=0.0,
                eps=self.knobs.eps,
                k=self.knobs.per_class,
                **parts,
            )
            pairs = pair_gradients(loss, embeddings, labels)
            upper = np.triu(pairs.active, 1)
            force = np.abs(pairs.gradients)
            same = pairs.same
            sign = np.sign(pairs.gradients)
            kinds = [  # in the order of KINDS
                upper & same & (sign == -1),
                upper & same & (sign == 1),
                upper & ~same & (sign == 1),
                upper & ~same & (sign == -1),
            ]
            share[name] = np.array([kind.sum() for kind in kinds]) / max(1, upper.sum())
            mass[name] = np.array([force[kind].sum() for kind in kinds]) / max(
                1e-12, force[upper].sum()
            )
        return {"share": share, "mass": mass}

    def _batch(self) -> tuple[np.ndarray, np.ndarray]:
        """Draw a batch from the classes of the example run that have enough images; return embeddings and labels."""
        k = self.knobs
        (run,) = _bundled.examples((k.network,))
        images = run.embeddings()
        assert images is not None, "example runs hold embeddings"
        random = np.random.default_rng(k.seed)
        labels, counts = np.unique(images.labels, return_counts=True)
        classes = random.permutation(labels[counts >= k.per_class])[: k.classes]
        rows = []
        for label in classes:
            class_rows = np.flatnonzero(images.labels == label)
            rows.append(random.permutation(class_rows)[: k.per_class])
        batch = np.concatenate(rows)
        return images.vectors[batch].astype(np.float64), images.labels[batch]

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        whole = _wrong(numbers["share"]["contextual"])
        without_m = _wrong(numbers["share"]["without M₋"])
        force = _wrong(numbers["mass"]["contextual"])
        figure = self.canvas(
            f"<b>{whole:.0%}</b> of the pairs that move go against their label ({force:.0%} of the force), "
            f"<b>{without_m:.0%}</b> without M₋; {self.knobs.classes} classes of emoji that the network never saw",
            panels=("share of the pairs that move", "share of the force on them"),
            shared_yaxes=True,
            horizontal_spacing=0.06,
            x="share",
            y=("loss",),
        )
        for index, kind in enumerate(KINDS):
            wrong = index in (1, 3)
            sign = style.WRONG if wrong else style.RIGHT
            for column, measure in ((1, "share"), (2, "mass")):
                parts = [numbers[measure][name][index] for name in VARIANTS]
                figure.add_bar(
                    y=list(VARIANTS),
                    x=parts,
                    orientation="h",
                    name=f"{sign} {kind}",
                    legendgroup=kind,
                    showlegend=column == 1,
                    text=[f"{part:.0%}" if part > 0.06 else "" for part in parts],
                    textposition="inside",
                    insidetextanchor="middle",
                    textangle=0,
                    hovertemplate="%{y}<br>%{x:.1%}",
                    marker={
                        "color": style.COLOURS[index],
                        "pattern": {"shape": "/" if wrong else "", "fgopacity": 0.3},
                    },
                    row=1,
                    col=column,
                )
        figure.update_layout(barmode="stack", legend_traceorder="normal")
        figure.update_xaxes(range=[0, 1], tickformat=".0%")
        figure.update_yaxes(autorange="reversed")
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        variants = []
        for name, share in numbers["share"].items():
            mass = numbers["mass"][name]
            variants.append(
                f"{name}: {_wrong(share):.1%} of the pairs and {_wrong(mass):.1%} of the force, of which "
                f"strangers pulled together {share[3]:.1%} and {mass[3]:.1%}"
            )
        return f"Pairs that go against their label. {'; '.join(variants)}."


def _wrong(parts: np.ndarray) -> float:
    """Return the part that is pushed apart within a class or pulled together across two."""
    return float(parts[1] + parts[3])
