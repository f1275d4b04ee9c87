"""Every figure of a paper stands in a lesson, and every figure on the dashboard."""

import json
import re
from pathlib import Path

import lab.figures
from lab.dashboard.views.figures import figure_topics

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))


def test_every_figure_of_a_paper_is_shown_in_a_lesson():
    code = [
        "".join(cell["source"])
        for path in NOTEBOOKS
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    shown = set(re.findall(r'show\(\s*"(\w+)"', "\n".join(code)))
    of_papers = {name for name in lab.figures.names() if lab.figures.get(name).source != "More"}
    assert of_papers <= shown, "show a new figure of a paper in the lesson that it belongs to"


def test_every_figure_is_on_the_dashboard():
    assert sorted(name for names in figure_topics.topics().values() for name in names) == sorted(lab.figures.names())
