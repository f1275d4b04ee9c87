"""001 figure 7 and 003 figure 7, on own runs: which queries one run fixed and which it broke."""

from collections.abc import Sequence

import numpy as np

from lab.core import style
from lab.evaluation import identity
from lab.figures import _runs, _thumbnails
from lab.figures._base import BESIDE, LEFT, Numbers, PlotlyFigure, curve, knob, marks


class QueryChanges(_runs.RunFigure):
    """One metric of every query under two runs; above the diagonal the second run is better."""

    title = "Query by query: what changed between two runs"
    source = "ROADMAP, figure 7; CAM, figure 7"
    question = "Is the gain spread thin over all queries, or made of a few that were fixed?"
    least = 2

    metric: str = knob("Metric with one value per query.", default="mAP")
    split: str = _runs.SPLIT
    named: int = knob(
        "Number of most improved and of most regressed queries to name.", default=8, ge=1, le=50
    )

    def offers(self, runs: Sequence) -> dict[str, Sequence[str]]:
        metrics: dict[str, None] = {}  # each once, in the order of the runs
        for run in runs:
            metrics |= dict.fromkeys(run.per_query(self.knobs.split))
        return super().offers(runs) | {"metric": list(metrics)}

    def numbers(self, runs: Sequence = ()) -> Numbers:
        first, second = runs[:2]
        columns = []
        items = []
        for run in (first, second):
            values = run.per_query(self.knobs.split)
            if self.knobs.metric not in values:
                raise ValueError(
                    f"QueryChanges: run {run.name!r} has no {self.knobs.metric} a query; it has {', '.join(values)}."
                )
            columns.append(np.asarray(values[self.knobs.metric], dtype=float))
            items.append(_runs.test_embeddings(run, self.knobs.split).items)

        # Find the second run's number of each query of the first run; both must have the same queries.
        tables = [_runs.pictures(run, self.knobs.split) for run in (first, second)]
        joined = identity.join(tables)
        second_item_of = dict(zip(*joined.items.tolist(), strict=True))
        second_items = [second_item_of.get(item) for item in items[0].tolist()]
        if not joined.whole or set(second_items) != set(items[1].tolist()):
            raise ValueError(
                f"QueryChanges: {first.name!r} and {second.name!r} were tested on different queries "
                f"({len(items[0])} and {len(items[1])}), so they cannot be compared one by one: {joined.sentence}"
            )
        columns[1] = columns[1][identity.rows_of(items[1], np.array(second_items))]

        change = np.nan_to_num(columns[1] - columns[0])
        order = np.argsort(change, kind="stable")
        chosen = np.concatenate([order[::-1][: self.knobs.named], order[: self.knobs.named][::-1]])
        chosen = chosen[np.abs(change[chosen]) > 1e-9]
        images = _thumbnails.images(first)
        return {
            "chosen": chosen,
            "classes": _thumbnails.names(images, items[0]),
            "pictures": {}
            if _thumbnails.in_words(images)
            else _thumbnails.pictures(images, items[0][chosen]),
            "names": (first.name, second.name),
            "values": columns,
            "items": items[0],
            "change": change,
            "improved": order[::-1][: self.knobs.named],
            "regressed": order[: self.knobs.named],
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        a, b = numbers["values"]
        change = numbers["change"]
        items = numbers["items"]
        better = change > 1e-9
        worse = change < -1e-9
        figure = self.canvas(
            f"{int(better.sum())} queries better, {int(worse.sum())} worse, {int((~better & ~worse).sum())} alike · "
            f"mean change <b>{change.mean():+.4f}</b>",
            panels=("every query", "most improved and most regressed"),
            horizontal_spacing=0.24,
            height=560,
        )
        for index, (name, mask) in enumerate(
            ((f"{style.RIGHT} better", better), (f"{style.WRONG} worse", worse))
        ):
            marks(
                figure,
                index,
                name,
                a[mask],
                b[mask],
                size=7,
                opacity=0.7,
                customdata=[numbers["classes"][int(item)] for item in items[mask]],
                hovertemplate="%{customdata}<br>%{x:.3f} → %{y:.3f}<extra></extra>",
                **LEFT,
            )
        curve(figure, 6, "no change", [0, 1], [0, 1], width=1, **LEFT)

        chosen = numbers["chosen"]
        texts = []
        colours = []
        patterns = []
        for query in chosen:
            improved = change[query] > 0
            texts.append(f"{change[query]:+.3f}")
            colours.append(style.BLUE if improved else style.VERMILLION)
            patterns.append("" if improved else "/")
        figure.add_bar(
            y=np.arange(len(chosen)),
            x=change[chosen],
            orientation="h",
            showlegend=False,
            marker={"color": colours, "pattern": {"shape": patterns}},
            text=texts,
            textposition="outside",
            **BESIDE,
        )
        metric = self.knobs.metric
        figure.update_xaxes(title_text=f"{metric}, {numbers['names'][0]}", **LEFT)
        figure.update_yaxes(title_text=f"{metric}, {numbers['names'][1]}", **LEFT)
        ends = np.array([change[chosen].min(initial=0), change[chosen].max(initial=0)])
        room = 0.25 * max(np.ptp(ends), 1e-9)
        figure.update_xaxes(title_text=f"change in {metric}", range=ends + [-room, room], **BESIDE)
        names = []
        for row, query in enumerate(chosen):
            item = int(items[query])
            name = numbers["classes"][item]
            names.append(name if len(name) <= 20 else f"{name[:19]}…")
            picture = numbers["pictures"].get(item)
            if picture:
                x = -np.sign(change[query]) * 0.3 * room  # on the other side of zero than the bar
                _thumbnails.lay(figure, picture, x, row, (0.5 * room, 0.9), "", **BESIDE)
        figure.update_yaxes(
            range=[len(chosen) - 0.4, -0.6],
            tickvals=np.arange(len(chosen)),
            ticktext=names,
            **BESIDE,
        )
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        change = numbers["change"]
        best = numbers["improved"][0]
        worst = numbers["regressed"][0]
        return (
            f"{self.knobs.metric} of {len(change)} queries under {numbers['names'][0]} and {numbers['names'][1]}: "
            f"{int((change > 1e-9).sum())} better, {int((change < -1e-9).sum())} worse. Most improved is "
            f"{numbers['classes'][int(numbers['items'][best])]} ({change[best]:+.3f}), most regressed "
            f"{numbers['classes'][int(numbers['items'][worst])]} ({change[worst]:+.3f})."
        )
