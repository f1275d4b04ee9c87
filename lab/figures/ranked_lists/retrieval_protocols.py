"""002: what a query is compared with, and what r@k and recall@k then say."""

from typing import Any

import numpy as np

from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob
from lab.figures.points import letters, squared_distances


class RetrievalProtocols(Figure):
    """Ranked lists of a dozen queries: within one set or against a gallery, itself left out or not."""

    title = "Queries and galleries: evaluation protocols"
    source = "DML deck, slides on evaluation protocols; RS@k, eq. 1"
    tier = "instant"
    question = "Keep the query in its own gallery: why is r@1 now worthless?"

    k: int = knob("Cut-off k.", default=3, ge=1, le=12)
    query: int = knob("Query whose list is described, counted from 0.", default=0, ge=0, le=29)
    exclude_self: bool = knob("Leave the query out of its own gallery, by index.", default=True)
    same_source: bool = knob("Search among the queries themselves; otherwise in a separate gallery.", default=True)
    classes: int = knob("Number of classes.", default=4, ge=2, le=6)
    per_class: int = knob("Images per class.", default=3, ge=2, le=5)
    spread: float = knob("Spread of a class.", default=0.7, ge=0.05, le=3, scale="log")
    seed: int = knob("Random seed.", default=1, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        labels = np.repeat(np.arange(k.classes), k.per_class)
        centres = random.normal(size=(k.classes, 3))
        queries = centres[labels] + k.spread * random.normal(size=(len(labels), 3))
        gallery = queries if k.same_source else centres[labels] + k.spread * random.normal(size=(len(labels), 3))
        distance = squared_distances(queries, gallery)
        if k.same_source and k.exclude_self:
            np.fill_diagonal(distance, np.inf)
        order = np.argsort(distance, axis=1, kind="stable")
        if k.same_source and k.exclude_self:
            order = order[:, :-1]
        hits = labels[order] == labels[:, None]
        top = hits[:, : k.k]
        query = min(k.query, len(labels) - 1)
        return {
            "query": query,
            "found": int(top[query].sum()),
            "positives": int(hits[query].sum()),
            "labels": labels,
            "order": order,
            "hits": hits,
            "hit_rate": float(top.any(axis=1).mean()),
            "recall": float((top.sum(axis=1) / hits.sum(axis=1)).mean()),
            "own": order == np.arange(len(labels))[:, None] if k.same_source else np.zeros_like(hits),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k, order, hits, self_pairs = self.knobs, numbers["order"], numbers["hits"], numbers["own"]
        names = [f"{letter}{i}" for i, letter in enumerate(letters(numbers["labels"]))]
        query, right, positives = numbers["query"], numbers["found"], numbers["positives"]
        figure = self.canvas(
            f"r@{k.k}, at least one hit: <b>{numbers['hit_rate']:.3f}</b> · recall@{k.k}, share of the positives: "
            f"<b>{numbers['recall']:.3f}</b> · framed: {names[query]} finds {right} of {positives} by rank {k.k}, so "
            f"r@{k.k} = {int(right > 0)} and recall@{k.k} = {right / max(1, positives):.2f}",
            x="rank",
            y="query (letter = class)",
            height=200 + 30 * len(names),
        )
        state = np.where(self_pairs, 1, np.where(hits, 2, 0))
        mark = np.where(self_pairs, "self", np.where(hits, style.RIGHT, style.WRONG))
        figure.add_heatmap(
            x=np.arange(1, order.shape[1] + 1), y=names, z=state, zmin=0, zmax=2, showscale=False, xgap=3, ygap=3,
            colorscale=((0, "#F6C9AD"), (0.5, "#D9D9D9"), (1, "#A9CFE8")),
            text=[[f"{m} {names[j] if k.same_source else 'g' + names[j]}" for m, j in zip(row, ids, strict=True)]
                      for row, ids in zip(mark, order, strict=True)],
            texttemplate="%{text}", hovertemplate="query %{y}, rank %{x}: %{text}<extra></extra>",
        )  # fmt: skip
        figure.add_vline(x=k.k + 0.5, line={"width": 3, "color": style.BLACK})
        style.note(figure, f"k = {k.k}", k.k + 0.5, 1, yref="paper", yanchor="bottom")
        frame = {"x0": 0.5, "x1": order.shape[1] + 0.5, "y0": query - 0.5, "y1": query + 0.5}
        figure.add_shape(type="rect", line={"width": 3, "color": style.BLACK}, **frame)
        figure.update_yaxes(autorange="reversed")
        return figure.update_xaxes(dtick=1, side="bottom")

    def clicked(self, x: Any, y: Any) -> dict[str, int]:
        """A cell: read out its row, down to its rank."""
        names = [f"{letter}{i}" for i, letter in enumerate(letters(self.numbers()["labels"]))]
        return {"query": names.index(y), "k": min(int(x), 12)}

    def alt(self, numbers: Numbers) -> str:
        return (
            f"Ranked lists of {len(numbers['labels'])} queries. r@{self.knobs.k} is {numbers['hit_rate']:.3f}, "
            f"recall@{self.knobs.k} {numbers['recall']:.3f}; a query is "
            f"{'' if numbers['own'].any() else 'never '}ranked in its own list. "
            f"Query {numbers['query'] + 1} finds {numbers['found']} of its {numbers['positives']} positives."
        )
