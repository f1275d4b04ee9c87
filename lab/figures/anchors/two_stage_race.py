"""003, table 2: search everything, or the items of the nearest anchors only."""

import numpy as np

from lab.core import style
from lab.figures._base import BESIDE, DOTTED, LEFT, Figure, Numbers, PlotlyFigure, curve, knob
from lab.figures.points import letters, squared_distances


class TwoStageRace(Figure):
    """A gallery in the plane, its anchors with their cells, and what each probed cell costs and brings.

    Where every item lies in the cell of its class, AP by one anchor is 1 where the nearest anchor is the right one and
    0 where not: two-stage mAP is then the accuracy of nearest anchors under another name. In CAM the two agree within
    .3 points on all eight pairs of tables 2 and 4 (figure `two_stage_accuracy`).
    """

    title = "Two-stage search against brute force"
    source = "CAM, table 2 and section 3, fast retrieval"
    tier = "instant"
    question = "Why can the two-stage mAP beat brute force, and for which denominator does it?"

    probes: int = knob(
        "Number of nearest anchors whose items are searched.",
        default=1,
        ge=1,
        le=12,
        source="CAM, sec. 3",
    )
    spread: float = knob(
        "Spread of a class around its anchor.", default=0.8, ge=0.1, le=3, scale="log"
    )
    classes: int = knob("Classes, each with one anchor.", default=6, ge=2, le=12)
    gallery: int = knob("Items in the gallery.", default=240, ge=24, le=2000, scale="log")
    queries: int = knob("Number of queries.", default=60, ge=6, le=300)
    query_spread: float | None = knob(
        "Spread of the queries; by default that of the gallery. CAM searches its own training images, which lie "
        "tighter than unseen queries.",
        default=None,
        ge=0.1,
        le=3,
    )
    seed: int = knob("Random seed.", default=0, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        angle = 2 * np.pi * np.arange(k.classes) / k.classes
        anchors = 3.0 * np.column_stack([np.cos(angle), np.sin(angle)])

        def draw(count: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
            labels = np.arange(count) % k.classes
            return anchors[labels] + spread * random.normal(size=(count, 2)), labels

        gallery, labels = draw(k.gallery, k.spread)
        queries, query_labels = draw(k.queries, k.query_spread or k.spread)
        home = squared_distances(gallery, anchors).argmin(1)
        near = np.argsort(squared_distances(queries, anchors), axis=1, kind="stable")
        place = np.argsort(near, axis=1)  # [q c]: how soon each anchor is probed
        order = np.argsort(squared_distances(queries, gallery), axis=1, kind="stable")
        hits = labels[order] == query_labels[:, None]
        total = hits.sum(axis=1)
        visits = np.arange(1, k.classes + 1)
        curves: dict[str, list[float]] = {
            name: []
            for name in ("AP over all positives", "AP over those returned", "comparisons", "lost")
        }
        for count in visits:
            seen = np.take_along_axis(place, home[order], axis=1) < count
            returned = hits & seen
            rank = np.maximum(1, np.cumsum(seen, axis=1))
            precision = np.where(returned, np.cumsum(returned, axis=1) / rank, 0).sum(axis=1)
            curves["AP over all positives"].append((precision / total).mean())
            curves["AP over those returned"].append(
                (precision / np.maximum(1, returned.sum(axis=1))).mean()
            )
            curves["comparisons"].append(k.classes + seen.sum(axis=1).mean())
            curves["lost"].append(1 - (returned.sum(axis=1) / total).mean())
        return {
            "visits": visits,
            "gallery": gallery,
            "labels": labels,
            "home": home,
            "anchors": anchors,
            "brute": k.gallery,
            "accuracy": float((near[:, 0] == query_labels).mean()),
            **{name: np.array(values) for name, values in curves.items()},
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        at = min(k.probes, k.classes) - 1
        whole = numbers["AP over all positives"][-1]
        figure = self.canvas(
            f"{at + 1} of {k.classes} anchors: {numbers['comparisons'][at]:.0f} comparisons against "
            f"{numbers['brute']} · mAP {numbers['AP over all positives'][at]:.3f} over all positives, "
            f"{numbers['AP over those returned'][at]:.3f} over those returned, brute force {whole:.3f} · "
            f"nearest anchor right {numbers['accuracy']:.3f}",
            panels=("gallery, anchors and their cells", "mAP against comparisons"),
            height=520,
            x=("first coordinate", "comparisons a query, anchors included"),
            y=("second coordinate", "mAP"),
        )
        self._draw_cells(figure, numbers)
        for index, name in enumerate(("AP over all positives", "AP over those returned")):
            curve(
                figure,
                index,
                f"m{name}",
                numbers["comparisons"],
                numbers[name],
                size=9,
                customdata=numbers["visits"],
                hovertemplate="%{customdata} anchors<br>%{x:.0f} comparisons<br>%{y:.3f}",
                **BESIDE,
            )
        figure.add_hline(y=whole, line=DOTTED, annotation_text="brute force", **BESIDE)
        figure.add_vline(x=numbers["comparisons"][at], line={"color": style.GREY}, **BESIDE)
        figure.update_yaxes(scaleanchor="x", **LEFT)
        return style.legend_below(figure)

    def _draw_cells(self, figure: PlotlyFigure, numbers: Numbers) -> None:
        """The gallery, each item in the cell of its nearest anchor."""
        classes = self.knobs.classes
        grid = np.linspace(-6, 6, 80)
        mesh = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
        cell = squared_distances(mesh, numbers["anchors"]).argmin(1).reshape(80, 80)
        colours = [style.COLOURS[c % 8] for c in range(classes)]
        figure.add_heatmap(
            x=grid,
            y=grid,
            z=cell,
            zmin=-0.5,
            zmax=classes - 0.5,
            opacity=0.18,
            showscale=False,
            hoverinfo="skip",
            colorscale=[
                (edge / classes, colours[c]) for c in range(classes) for edge in (c, c + 1)
            ],
            **LEFT,
        )
        strayed = numbers["home"] != numbers["labels"]
        for name, mask, symbol in (
            ("in the cell of its class", ~strayed, "circle"),
            ("strayed: lost to stage two", strayed, "x"),
        ):
            figure.add_scatter(
                x=numbers["gallery"][mask, 0],
                y=numbers["gallery"][mask, 1],
                mode="markers",
                name=name,
                marker={
                    "size": 7,
                    "symbol": symbol,
                    "color": [colours[c] for c in numbers["labels"][mask]],
                },
                **LEFT,
            )
        figure.add_scatter(
            x=numbers["anchors"][:, 0],
            y=numbers["anchors"][:, 1],
            mode="markers+text",
            showlegend=False,
            text=letters(range(classes)),
            textposition="top center",
            marker={
                "symbol": "star",
                "size": 17,
                "color": colours,
                "line": {"width": 1.5, "color": style.BLACK},
            },
            **LEFT,
        )

    def alt(self, numbers: Numbers) -> str:
        at = min(self.knobs.probes, self.knobs.classes) - 1
        return (
            f"A gallery of {numbers['brute']} items in {self.knobs.classes} cells. Opening {at + 1} of them takes "
            f"{numbers['comparisons'][at]:.0f} comparisons, loses {numbers['lost'][at]:.1%} of the positives, and has "
            f"mAP {numbers['AP over all positives'][at]:.3f} over all positives (nearest anchor right: "
            f"{numbers['accuracy']:.3f}) or "
            f"{numbers['AP over those returned'][at]:.3f} over those returned; brute force has "
            f"{numbers['AP over all positives'][-1]:.3f}."
        )
