"""000, algorithm 1 and eq. 8-10: the similarity matrix growing from the batch to the batch and its virtual examples."""

import itertools

import numpy as np

from lab.core import style
from lab.figures._base import BESIDE, DASHED, LEFT, Figure, Numbers, PlotlyFigure, knob, marks


class SimixSimilarities(Figure):
    """A small batch, every mixed pair of positives, and all similarities by mixing scalars alone."""

    title = "SiMix mixes similarities, never vectors"
    source = "RS@k, algorithm 1 and eq. 8-10"
    tier = "instant"
    question = "Why is a virtual example less similar to itself than 1?"
    moves = ("pair", "spread")

    classes: int = knob("Classes in the batch.", default=3, ge=2, le=6)
    per_class: int = knob("Images per class (m).", default=3, ge=2, le=5, source="RS@k, alg. 1")
    alpha: float | None = knob(
        "Mixing weight of every pair; empty: drawn from U(0, 1) for each pair.", default=None, ge=0, le=1
    )
    spread: float = knob("Spread of a class around its centre.", default=0.6, ge=0.05, le=3, scale="log")
    pair: int = knob("Virtual example whose calculation is shown, in the order of the rows.", default=0, ge=0, le=59)
    virtual_queries: bool = knob("Use virtual examples as queries.", default=True)
    virtual_items: bool = knob("Use virtual examples as database items.", default=True)
    seed: int = knob("Random seed.", default=0, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        labels = np.repeat(np.arange(k.classes), k.per_class)
        points = random.normal(size=(k.classes, 16))[labels] + k.spread * random.normal(size=(len(labels), 16))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        pairs = [p for p in itertools.combinations(range(len(labels)), 2) if labels[p[0]] == labels[p[1]]]
        first, second = np.array(pairs).T
        alpha = random.uniform(size=len(pairs)) if k.alpha is None else np.full(len(pairs), k.alpha)
        mixing = np.zeros((len(pairs), len(labels)))
        mixing[np.arange(len(pairs)), first] = alpha
        mixing[np.arange(len(pairs)), second] += 1 - alpha
        s = points @ points.T
        crossed = mixing @ s  # eq. 9
        virtual = mixing @ s @ mixing.T  # eq. 10
        grown = np.block([[s, crossed.T], [crossed, virtual]])
        vectors = np.concatenate([points, mixing @ points])
        chosen, last = min(k.pair, len(pairs) - 1), len(labels) - 1
        a, b = pairs[chosen]
        return {
            "chosen": chosen,
            "worked": (alpha[chosen], s[a, last], s[b, last], crossed[chosen, last]),
            "labels": np.concatenate([labels, labels[first]]),
            "originals": len(labels),
            "similarities": grown,
            "error": float(np.abs(grown - vectors @ vectors.T).max()),
            "norms": np.linalg.norm(mixing @ points, axis=1),
            "alpha": alpha,
            "names": [f"x{i}" for i in range(len(labels))] + [f"x{a}·x{b}" for a, b in pairs],
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        n, names = numbers["originals"], numbers["names"]
        originals = numbers["similarities"].copy()
        if not self.knobs.virtual_queries:
            originals[n:] = np.nan
        if not self.knobs.virtual_items:
            originals[:, n:] = np.nan
        used = int(np.isfinite(originals).sum())
        figure = self.canvas(
            f"{n} images grow to {len(names)}; {used} similarities, largest difference from real dot products "
            f"{numbers['error']:.1e} {style.RIGHT}<br>{self._worked(numbers)}",
            panels=("similarities of B ∪ B̂ (rows query, columns are ranked)", "length of each virtual example"),
            column_widths=[0.58, 0.42],
            height=650,
            x=("item", "mixing weight α"),
            y=("query", "‖α x + (1 - α) z‖"),
        )
        figure.add_heatmap(
            x=names, y=names, z=originals, colorscale=style.DIVERGING, zmid=0, zmin=-1, zmax=1,
            colorbar={"title": {"text": "cosine", "side": "right"}, "orientation": "h", "x": 0.25, "len": 0.45,
                      "y": -0.32, "yanchor": "top", "thickness": 12},
            hovertemplate="query %{y}<br>item %{x}<br>similarity %{z:.3f}<extra></extra>", **LEFT,
        )  # fmt: skip
        for line in ({"x0": n - 0.5, "x1": n - 0.5, "y0": -0.5, "y1": len(names) - 0.5},
                     {"y0": n - 0.5, "y1": n - 0.5, "x0": -0.5, "x1": len(names) - 0.5}):  # fmt: skip
            figure.add_shape(type="line", line={"color": style.BLACK, "width": 3}, **LEFT, **line)
        row = n + numbers["chosen"]
        figure.add_shape(
            type="rect", line={"color": style.VERMILLION, "width": 3}, x0=-0.5, x1=len(names) - 0.5, y0=row - 0.5,
            y1=row + 0.5, **LEFT,
        )  # fmt: skip
        figure.update_layout(margin={"b": 180})
        figure.update_yaxes(autorange="reversed", **LEFT)
        marks(
            figure, 0, None, numbers["alpha"], numbers["norms"], size=10, showlegend=False, text=names[n:],
            hovertemplate="%{text}<br>α %{x:.2f}<br>length %{y:.3f}<extra></extra>", **BESIDE,
        )  # fmt: skip
        figure.add_hline(y=1, line=DASHED, annotation_text="length 1", **BESIDE)
        figure.update_xaxes(range=[-0.03, 1.03], **BESIDE)
        return figure.update_yaxes(range=[0, 1.1], **BESIDE)

    def _worked(self, numbers: Numbers) -> str:
        """One mixed similarity, in words: the chosen pair with the last image (eq. 9)."""
        alpha, first, second, mixed = numbers["worked"]
        n, names = numbers["originals"], numbers["names"]
        return (
            f"{names[n + numbers['chosen']]} with {names[n - 1]}: {alpha:.2f} · {first:.3f} + {1 - alpha:.2f} · "
            f"{second:.3f} = {mixed:.3f}"
        )

    def alt(self, numbers: Numbers) -> str:
        norms = numbers["norms"]
        return (
            f"A batch of {numbers['originals']} images and its {len(norms)} mixed pairs. Mixed similarities equal real "
            f"dot products to {numbers['error']:.1e}; virtual examples are {norms.min():.2f} to {norms.max():.2f} long "
            f"because nothing is renormalised. {self._worked(numbers)}."
        )
