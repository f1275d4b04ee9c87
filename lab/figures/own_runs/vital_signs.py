"""Three signs that `lab.verdict` reads off a training, over its steps."""

from collections.abc import Sequence

import numpy as np

from lab.core import style
from lab.figures import _bundled
from lab.figures._base import DOTTED, Numbers, PlotlyFigure, curve, knob, panel
from lab.figures._runs import RunFigure
from lab.verdict import History, findings
from lab.verdict.findings import DEAD, FAST, ONE_POINT

SIGNS = {
    "moved": ("change of the weights in a step", "share of the weights", FAST, "too high a rate"),
    "out_of_reach": ("wrong pairs without a pull", "share", DEAD, "out of reach"),
    "mean_cosine": ("likeness of all images of a batch", "mean cosine", ONE_POINT, "collapsed"),
}
"""Sign to panel, axis, the threshold above which it is wrong, and what that is called."""


class VitalSigns(RunFigure):
    """A line per run and a panel per vital sign with its threshold: a sign beyond its threshold is a cause."""

    title = "What the verdict looks at"
    source = "More"
    question = "Which sign tells why a training failed?"
    examples = _bundled.EXAMINED

    log_steps: bool = knob(
        "Logarithmic axis of steps: a training is looked at in steps 1, 4, 16, 64, ...",
        default=True,
    )

    def numbers(self, runs: Sequence = ()) -> Numbers:
        found: Numbers = {}
        for run in runs:
            evidence = History.of_run(run)
            causes = ", ".join(one.name for one in findings(evidence) if not one.note)
            signs = found[run.name] = {"causes": causes or "nothing wrong"}
            for sign in SIGNS:
                taken = [
                    (one["step"], one[sign])
                    for one in evidence.checkups.get("batch", ())
                    if sign in one
                ]
                signs[sign] = np.array(taken, float).reshape(-1, 2).T
        return {"runs": found}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        said = "; ".join(f"{name}: <b>{one['causes']}</b>" for name, one in numbers["runs"].items())
        panels, axes, *_ = zip(*SIGNS.values(), strict=True)
        figure = self.canvas(said, panels=panels, x="training step", y=axes)
        for column, (sign, (*_, limit, beyond)) in enumerate(SIGNS.items(), 1):
            for index, (name, one) in enumerate(numbers["runs"].items()):
                curve(figure, index, name, *one[sign], size=7, **panel(column, name))
            figure.add_hline(
                y=limit, line=DOTTED, annotation_text=f"above: {beyond}", row=1, col=column
            )
        figure.update_xaxes(type="log" if self.knobs.log_steps else "linear")
        figure.update_yaxes(type="log", tickformat="~%", row=1, col=1)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        said = []
        for name, one in numbers["runs"].items():
            most = [
                f"{SIGNS[sign][0]} at most {one[sign][1].max():.3g}"
                for sign in SIGNS
                if one[sign].size
            ]
            said.append(f"{name}: {', '.join([one['causes'], *most])}")
        return f"Signs of {len(said)} trainings over their steps. {'. '.join(said)}."
