"""Every figure of a paper stands in a lesson, and every figure of the papers is drawn."""

import json
import re
from pathlib import Path

import lab.figures

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


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


def test_every_figure_of_the_papers_is_drawn():
    """By the numbers of their figures; the deck numbers none of its slides."""
    papers = {"RS@k": 4, "ROADMAP": 7, "CAM": 7, "Contextual": 29}
    drawn = {paper: set() for paper in papers}
    for name in lab.figures.names():
        for part in lab.figures.get(name).source.split("; "):
            paper = next((paper for paper in papers if part.startswith(paper)), None)
            named = re.search(r"figures? ((?:\d+[a-c]?(?:, | and | to )?)+)", part)
            if paper and named:
                drawn[paper] |= _numbers(named[1])
    missing = {
        paper: sorted(set(range(1, count + 1)) - drawn[paper]) for paper, count in papers.items()
    }
    assert not any(missing.values()), missing


def _numbers(words: str) -> set[int]:
    """Of "7, 13, 16, 18 to 29": the numbers that are named."""
    ranges = re.findall(r"(\d+)[a-c]?(?: to (\d+))?", words)
    return {
        number for first, last in ranges for number in range(int(first), int(last or first) + 1)
    }
