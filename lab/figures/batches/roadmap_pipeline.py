"""001, figure 2: the path from images to the ROADMAP loss, each box naming the code that does it."""

from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob

BOXES = (
    ("images", "batch of images", "lab.samplers", 0.0, 0.5),
    ("encoder", "network fθ", "lab.encoders", 1.0, 0.5),
    ("scores", "cosine scores", "lab.kernels", 2.0, 0.5),
    ("plus", "rank⁺ with H⁺<br>no gradient", "lab.surrogates.HPlus", 3.1, 1.0),
    ("minus", "rank⁻ with H⁻", "lab.surrogates.HMinus", 3.1, 0.5),
    ("calibration", "α, β margins", "lab.losses.calibration", 3.1, 0.0),
    ("sup_ap", "L SupAP", "lab.losses.sup_ap", 4.3, 0.75),
    ("roadmap", "L ROADMAP", "lab.losses.roadmap", 5.4, 0.4),
)
ARROWS = (
    ("images", "encoder"),
    ("encoder", "scores"),
    ("scores", "plus"),
    ("scores", "minus"),
    ("scores", "calibration"),
    ("plus", "sup_ap"),
    ("minus", "sup_ap"),
    ("sup_ap", "roadmap"),
    ("calibration", "roadmap"),
)


class RoadmapPipeline(Figure):
    """Boxes and arrows; hovering a box names the code behind it, and on the dashboard a click shows it."""

    title = "ROADMAP, from images to loss"
    source = "ROADMAP, figure 2"
    tier = "static"
    shows_code = True
    question = "Through which boxes does no gradient flow?"

    backward: bool = knob(
        "Show the way of the gradient instead of that of the numbers.", default=False
    )

    def numbers(self) -> Numbers:
        return {
            "boxes": BOXES,
            "arrows": ARROWS,
            "weights": {"sup_ap": "1 - λ", "calibration": "λ"},
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        if self.knobs.backward:
            way = "the gradient runs back, and not through rank⁺"
        else:
            way = "dashed: no gradient runs back"
        figure = self.canvas(way, height=420)
        annotations = []  # added all at once, since plotly checks all annotations with each addition
        boxes = []
        place = {name: (x, y) for name, _, _, x, y in numbers["boxes"]}
        for start, end in numbers["arrows"]:
            x0, y0 = place[start]
            x1, y1 = place[end]
            stopped = "plus" in (start, end)  # no gradient flows through rank plus
            back = self.knobs.backward
            if stopped and back:
                continue
            tail, head = sorted(((x0 + 0.47, y0), (x1 - 0.47, y1)), reverse=back)
            annotations.append(
                {
                    "x": head[0],
                    "y": head[1],
                    "ax": tail[0],
                    "ay": tail[1],
                    "axref": "x",
                    "ayref": "y",
                    "showarrow": True,
                    "arrowhead": 2,
                    "text": "",
                    "arrowwidth": 2,
                    "arrowcolor": style.GREY if stopped else style.BLACK,
                    "opacity": 0.5 if stopped else 1,
                }
            )
        for name, label, module, x, y in numbers["boxes"]:
            line = {"color": style.BLUE, "width": 2, "dash": "solid"}
            if name == "plus":
                line = {"color": style.GREY, "width": 2, "dash": "dash"}
            boxes.append(
                {
                    "type": "rect",
                    "x0": x - 0.46,
                    "x1": x + 0.46,
                    "y0": y - 0.16,
                    "y1": y + 0.16,
                    "fillcolor": "#EAF3F9",
                    "line": line,
                }
            )
            text = f"<b>{label}</b>"
            weight = numbers["weights"].get(name)
            if weight:
                text += f"<br>× ({weight})"
            annotations.append(
                {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": 13}}
            )
            small = {"size": 11, "color": style.GREY}
            annotations.append(
                {"x": x, "y": y - 0.24, "text": module, "showarrow": False, "font": small}
            )
        figure.update_layout(annotations=[*figure.layout.annotations, *annotations], shapes=boxes)

        # Invisible marks over the boxes carry the names of the code.
        _, _, modules, x_places, y_places = zip(*numbers["boxes"], strict=True)
        figure.add_scatter(
            x=x_places,
            y=y_places,
            mode="markers",
            marker={"size": 60, "opacity": 0},
            customdata=modules,
            hovertemplate="%{customdata}<extra></extra>",
            showlegend=False,
        )
        figure.update_xaxes(visible=False, range=[-0.6, 6.0])
        return figure.update_yaxes(visible=False, range=[-0.4, 1.3])

    def alt(self, numbers: Numbers) -> str:
        return (
            "A diagram: a batch of images runs through the network into cosine scores; the scores give rank plus "
            "(without gradient), rank minus and the calibration margins; the two ranks make SupAP, weighted 1 - λ, and "
            "with calibration, weighted λ, ROADMAP."
        )
