"""002: what a query is compared with, and what r@k and recall@k then say."""

import numpy as np

from lab.core import style
from lab.figures import twelve
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob

ASKING = np.arange(0, 12, 3)
"""The first drawing of each kind: they search where queries and gallery are two sets."""


class RetrievalProtocols(Figure):
    """Ranked lists of the twelve emoji: within one set or against a gallery, the query itself left out or not."""

    title = "Queries and galleries: evaluation protocols"
    source = "DML deck, slides on evaluation protocols; RS@k, eq. 1"
    tier = "instant"
    question = "Keep the query in its own gallery: why is r@1 now worthless?"

    k: int = knob("Cut-off k.", default=3, ge=1, le=12)
    query: int = knob("Query whose list is described, counted from 0.", default=0, ge=0, le=11)
    exclude_self: bool = knob("Leave the query out of its own gallery, by index.", default=True)
    same_source: bool = knob(
        "Search among the queries themselves; otherwise the first of each kind search the other eight.",
        default=True,
    )

    def idle(self, runs: object = None) -> set[str]:
        return set() if self.knobs.same_source else {"exclude_self"}

    def given(self) -> Numbers:
        return {
            "vectors": twelve.VECTORS.tolist(),
            "names": twelve.NAMES,
            "pictures": twelve.pictures(),
        }

    def numbers(self) -> Numbers:
        k = self.knobs
        everyone = np.arange(12)
        queries = everyone if k.same_source else ASKING
        if k.same_source:
            gallery = everyone
        else:
            gallery = np.setdiff1d(everyone, ASKING)
        scores = twelve.VECTORS[queries] @ twelve.VECTORS[gallery].T
        own = queries[:, None] == gallery[None, :]
        if k.exclude_self:
            scores = np.where(own, -np.inf, scores)
        order = gallery[np.argsort(-scores, axis=1, kind="stable")]
        if k.exclude_self and k.same_source:
            order = order[:, :-1]
        hits = twelve.LABELS[order] == twelve.LABELS[queries][:, None]
        top = hits[:, : k.k]
        query = min(k.query, len(queries) - 1)
        return {
            "query": query,
            "found": int(top[query].sum()),
            "positives": int(hits[query].sum()),
            "queries": queries,
            "order": order,
            "hits": hits,
            "hit_rate": float(top.any(axis=1).mean()),
            "recall": float((top.sum(axis=1) / hits.sum(axis=1)).mean()),
            "own": order == queries[:, None],
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs.k
        order = numbers["order"]
        hits = numbers["hits"]
        queries = numbers["queries"]
        query = numbers["query"]
        right = numbers["found"]
        positives = numbers["positives"]
        figure = self.canvas(
            f"r@{k}, at least one hit: <b>{numbers['hit_rate']:.3f}</b> · recall@{k}, share of the positives: "
            f"<b>{numbers['recall']:.3f}</b> · framed: {twelve.NAMES[queries[query]]} finds {right} of {positives} by "
            f"rank {k}, so r@{k} = {int(right > 0)} and recall@{k} = {right / max(1, positives):.2f}",
            x="rank",
            y="query",
            height=220 + 42 * len(queries),
        )
        rows, columns = np.indices(order.shape)
        state = np.where(numbers["own"], 1, np.where(hits, 2, 0))
        mark = np.where(numbers["own"], "self", np.where(hits, style.RIGHT, style.WRONG))
        figure.add_heatmap(
            x=np.arange(1, order.shape[1] + 1),
            z=state,
            zmin=0,
            zmax=2,
            showscale=False,
            xgap=3,
            ygap=3,
            colorscale=((0, "#F6C9AD"), (0.5, "#D9D9D9"), (1, "#A9CFE8")),
            text=mark,
            customdata=np.array(twelve.NAMES)[order],
            hovertemplate="rank %{x}: %{customdata} %{text}<extra></extra>",
        )
        twelve.lay(figure, order.ravel(), columns.ravel() + 0.85, rows.ravel(), (0.6, 0.86))
        figure.add_scatter(
            x=columns.ravel() + 1.32,
            y=rows.ravel(),
            text=mark.ravel(),
            mode="text",
            showlegend=False,
            hoverinfo="skip",
        )
        twelve.lay(figure, queries, np.zeros(len(queries)), np.arange(len(queries)), (0.6, 0.86))
        figure.add_vline(x=k + 0.5, line={"width": 3, "color": style.BLACK})
        style.note(figure, f"k = {k}", k + 0.5, 1, yref="paper", yanchor="bottom")
        frame = {"x0": -0.5, "x1": order.shape[1] + 0.5, "y0": query - 0.5, "y1": query + 0.5}
        figure.add_shape(type="rect", line={"width": 3, "color": style.BLACK}, **frame)
        names = [twelve.NAMES[item] for item in queries]
        figure.update_yaxes(
            range=[len(names) - 0.5, -0.5], tickvals=np.arange(len(names)), ticktext=names
        )
        return figure.update_xaxes(
            range=[-0.6, 12.6], tickvals=np.arange(1, order.shape[1] + 1), showgrid=False
        )

    def alt(self, numbers: Numbers) -> str:
        return (
            f"Ranked lists of {len(numbers['queries'])} queries. r@{self.knobs.k} is {numbers['hit_rate']:.3f}, "
            f"recall@{self.knobs.k} {numbers['recall']:.3f}; a query is "
            f"{'' if numbers['own'].any() else 'never '}ranked in its own list. "
            f"{twelve.NAMES[numbers['queries'][numbers['query']]]} finds {numbers['found']} of its "
            f"{numbers['positives']} positives."
        )
