"""002: the same clusters by NMI and by MAP@R, on points in the plane that can be dragged."""

from typing import Literal

import numpy as np

from lab.core import style
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, knob, marks
from lab.figures.points import letters, set_metrics
from lab.metrics.clusters_f1 import pair_f1

DECK = {
    "touching": {"NMI": 0.956, "F1": 1.0, "r@1": 0.99, "R-precision": 0.774, "MAP@R": 0.714},
    "apart": {"NMI": 1.0, "F1": 1.0, "r@1": 0.998, "R-precision": 0.833, "MAP@R": 0.779},
    "tight": {"NMI": 1.0, "F1": 1.0, "r@1": 1.0, "R-precision": 0.998, "MAP@R": 0.998},
}
"""What the slides print for their own three layouts, whose points they do not give."""


class MetricPlayground(Figure):
    """Two classes in the plane; k-means and its NMI beside the ranking metrics of the same points."""

    title = "NMI is perfect; is retrieval, too?"
    source = "DML deck, slides on questioning the protocol"
    tier = "instant"
    drag = ("x", "y", "classes")
    question = "Move points so that NMI stays at 1 while MAP@R falls. Then change the k-means seed."
    moves = ("layout", "kmeans_seed")

    layout: Literal["touching", "apart", "tight"] = knob("Where the points lie.", default="apart")
    per_class: int = knob("Points per class.", default=100, ge=4, le=100)
    spread: float = knob(
        "Size of the clusters, as a multiple of the layout's.",
        default=1.0,
        ge=0.1,
        le=3,
        scale="log",
    )
    k: int = knob("Number of clusters of k-means.", default=2, ge=2, le=8)
    kmeans_seed: int = knob("Seed of k-means.", default=0, ge=0, le=99)
    seed: int = knob("Seed of the points.", default=0, ge=0, le=999)
    x: tuple[float, ...] = knob(
        "Horizontal coordinates of your own points; empty: the layout.", default=()
    )
    y: tuple[float, ...] = knob("Vertical coordinates of your own points.", default=())
    classes: str = knob(
        "Classes of your own points, one letter each, for instance AABB.", default=""
    )

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points [n 2] and labels [n].

        Raises:
            ValueError: x, y and classes have different lengths, or fewer than two points of a class.
        """
        k = self.knobs
        if k.x or k.y or k.classes:
            if not len(k.x) == len(k.y) == len(k.classes):
                raise ValueError(
                    f"MetricPlayground: x, y and classes must be equally long, got {len(k.x)}, {len(k.y)} and "
                    f"{len(k.classes)}."
                )
            labels = np.unique(list(k.classes), return_inverse=True)[1]
            if len(labels) < 4 or np.bincount(labels).max() < 2:
                raise ValueError(
                    "MetricPlayground: give at least four points, two of them of one class."
                )
            return np.column_stack([k.x, k.y]), labels
        random = np.random.default_rng(k.seed)
        labels = np.repeat([0, 1], k.per_class)
        centre, radius = {"touching": (1.9, 2.0), "apart": (2.05, 2.0), "tight": (2.4, 0.4)}[
            k.layout
        ]
        angle = random.uniform(0, 2 * np.pi, len(labels))
        away = k.spread * radius * np.sqrt(random.uniform(size=len(labels)))
        middle = np.where(labels == 0, -centre, centre)
        return np.column_stack([middle + away * np.cos(angle), away * np.sin(angle)]), labels

    def numbers(self) -> Numbers:
        from sklearn.cluster import KMeans
        from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

        points, labels = self.points()
        k = min(self.knobs.k, len(points))
        clusters = KMeans(k, n_init=1, random_state=self.knobs.kmeans_seed).fit_predict(points)
        return {
            "points": points,
            "labels": labels,
            "clusters": clusters,
            "metrics": {
                "NMI": float(normalized_mutual_info_score(labels, clusters)),
                "AMI": float(adjusted_mutual_info_score(labels, clusters)),
                "F1": pair_f1(labels, clusters),
                **set_metrics(points, labels),
            },
            "deck": {} if self.knobs.classes else DECK[self.knobs.layout],
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        points = numbers["points"]
        labels = numbers["labels"]
        metrics = numbers["metrics"]
        figure = self.canvas(
            f"NMI {metrics['NMI']:.3f} against MAP@R {metrics['MAP@R']:.3f}; grey outlines show the k-means cluster",
            panels=("embeddings", "what each metric says"),
            column_widths=[0.62, 0.38],
            height=520,
            x=("first coordinate", "value (hatched: k-means)"),
            y=("second coordinate",),
        )
        for label in np.unique(labels):
            mine = labels == label
            marks(
                figure,
                int(label),
                f"class {letters([label])[0]}",
                points[mine, 0],
                points[mine, 1],
                size=8,
                customdata=numbers["clusters"][mine],
                hovertemplate="(%{x:.2f}, %{y:.2f})<br>cluster %{customdata}",
                **LEFT,
            )
        for cluster in np.unique(numbers["clusters"]):
            mine = numbers["clusters"] == cluster
            figure.add_scatter(
                x=points[mine, 0],
                y=points[mine, 1],
                mode="markers",
                name=f"k-means {cluster + 1}",
                hoverinfo="skip",
                marker={
                    "symbol": f"{style.MARKERS[cluster % 8].replace('x', 'hexagon')}-open",
                    "size": 17,
                    "color": style.GREY,
                    "line": {"width": 1.5},
                },
                **LEFT,
            )
        figure.add_bar(
            y=list(metrics),
            x=list(metrics.values()),
            showlegend=False,
            orientation="h",
            marker={
                "color": [style.GREY] * 3 + [style.BLUE] * 4,
                "pattern": {"shape": ["/"] * 3 + [""] * 4},
            },
            text=[f"{v:.2f}" for v in metrics.values()],
            textposition="inside",
            insidetextanchor="start",
            **BESIDE,
        )
        if numbers["deck"]:
            figure.add_scatter(
                y=list(numbers["deck"]),
                x=list(numbers["deck"].values()),
                mode="markers",
                name="the deck's layout",
                marker={
                    "symbol": "diamond",
                    "size": 11,
                    "color": "white",
                    "line": {"width": 2, "color": style.BLACK},
                },
                **BESIDE,
            )
        figure.update_yaxes(scaleanchor="x", **LEFT)
        figure.update_xaxes(range=[0, 1.18], **BESIDE)
        figure.update_yaxes(autorange="reversed", type="category", **BESIDE)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        values = ", ".join(f"{name} {value:.3f}" for name, value in numbers["metrics"].items())
        return f"{len(numbers['labels'])} points of {len(np.unique(numbers['labels']))} classes in the plane. {values}."
