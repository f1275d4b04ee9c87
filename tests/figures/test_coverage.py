"""Every figure stands in a lesson and on the dashboard."""

import json
import re
from pathlib import Path

import lab.figures
from lab.dashboard.views.figures import figure_topics

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9]*.ipynb"))


def test_every_figure_is_shown_in_a_lesson():
    code = [
        "".join(cell["source"])
        for path in NOTEBOOKS
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    shown = set(re.findall(r'show\(\s*"(\w+)"', "\n".join(code)))
    assert set(lab.figures.names()) == shown, "show a new figure in the lesson that it belongs to"


def test_every_figure_is_on_the_dashboard():
    assert sorted(name for names in figure_topics.topics().values() for name in names) == lab.figures.names()
