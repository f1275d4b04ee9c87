"""The page to mail: everything in one file, nothing from elsewhere, and numbers that are those of the runs."""

import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from lab.__main__ import main
from lab.report import page
from lab.report.page import _curves
from lab.runs.folder import Run


@pytest.fixture(scope="module")
def runs(tmp_path_factory, train_tiny):
    root = tmp_path_factory.mktemp("mailed")
    first = train_tiny(root, "first", training={"steps": 4, "validate_every": 2})
    return first, train_tiny(root, "second", training={"steps": 4, "validate_every": 2, "seed": 1})


@pytest.fixture(scope="module")
def made(runs):
    return page.render(runs)


class Seen(HTMLParser):
    """Tags with their attributes, and which are still open."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "img", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_it_needs_nothing_from_elsewhere(made):
    seen = Seen(made)
    assert not seen.open and not seen.of("script") and not seen.of("link")
    assert all(one["src"].startswith("data:image/webp;base64,") for one in seen.of("img"))
    assert not re.search(r"https?://|@import|url\(", made) and len(made.encode()) < page.MOST
    assert "default-src 'none'" in made and "prefers-color-scheme: dark" in made


def test_every_picture_and_chart_says_what_it_shows(made):
    seen = Seen(made)
    assert len(seen.of("img")) > 20 and all(one["alt"] for one in seen.of("img"))
    drawn = [one for one in seen.of("svg") if "aria-hidden" not in one]
    assert len(drawn) >= 4 and all(one["role"] == "img" and one["aria-label"] for one in drawn)
    assert seen.of("html")[0]["lang"] == "en" and [tag for tag, _ in seen.tags].count("h1") == 1


def test_the_numbers_are_those_of_the_runs(runs, made):
    for run in runs:
        for value in run.scores("test")["values"].values():
            assert re.search(rf"<td>{100 * value:.1f} ± \d+\.\d</td>", made)
    assert "training.seed" in made and "Every setting of second" in made and "torch" in made
    last = runs[0].metrics("stepped")[-1]["loss"]
    assert f"to {last:.3g}" in made


def test_neighbours_are_right_and_leave_the_query_out(runs):
    stored = runs[0].embeddings("test")
    rows = np.array([0, 5, 9])
    for row, found in zip(rows, page.nearest(stored.take(rows), stored, 3, "cosine"), strict=True):
        cosines = stored.vectors @ stored.vectors[row]
        cosines[row] = -2
        assert found.tolist() == np.argsort(-cosines, kind="stable")[:3].tolist()
    first = stored.labels[page.nearest(stored, stored, 1, "cosine")[:, 0]] == stored.labels
    assert first.mean() == pytest.approx(runs[0].scores("test")["values"]["r@1"], abs=0.01)
    few = stored.take(rows)
    assert (page.nearest(few, few, 4, "cosine")[:, 2:] == -1).all()


def test_best_and_worst_are_the_best_and_worst(runs, made):
    values = runs[0].per_query("test")["MAP@R"]
    part = made[made.index("Queries of first") : made.index("Queries of second")]
    shown = [int(number) for number in re.findall(r"query (\d+) %", part)]
    assert max(shown[:4]) == round(100 * np.nanmax(values)) and min(shown[4:]) == round(
        100 * np.nanmin(values)
    )
    assert shown[:4] == sorted(shown[:4], reverse=True) and shown[4:] == sorted(shown[4:])


def test_names_are_data_and_what_is_missing_is_said(runs, tmp_path):
    run = Run(shutil.copytree(runs[0].path, tmp_path / "a<b>&c"))
    (run.path / "metrics.jsonl").write_text("")
    assert "recorded no curves" in page.render([run])
    assert "a&lt;b&gt;&amp;c" in (html := page.render([run])) and "<b>&c" not in html


def test_axes_have_round_ends_that_hold_everything():
    assert (
        _curves._axis(0, 97) == [0, 25, 50, 75, 100]
        and _curves._axis(0.2, 0.2)[0] < 0.2 < _curves._axis(0.2, 0.2)[-1]
    )
    for low, high in ((0.013, 0.41), (-3, 1e6), (1e-9, 2e-9)):
        ticks = _curves._axis(low, high)
        assert ticks[0] <= low and ticks[-1] >= high and 3 <= len(ticks) <= 7


def test_the_command_writes_one_file_and_never_over_another(runs, tmp_path, capsys):
    place = tmp_path / "report.html"
    words = ["runs", "report", *(str(run.path) for run in runs), "--html", str(place)]
    assert main(words) == 0 and capsys.readouterr().out.strip() == str(place)
    before = place.read_text()
    assert before.startswith("<!doctype html>") and "Made with Rankscope" in before
    assert (
        main(words) == 2
        and "is there already" in capsys.readouterr().err
        and place.read_text() == before
    )


def test_labels_that_match_no_class_are_shown_as_numbers(runs, monkeypatch):
    images = runs[0].dataset()
    monkeypatch.setattr(images, "class_names", [])
    drawn = list(
        page._queries.drawn(
            runs[0], "test", images, np.arange(1), np.ones(len(runs[0].embeddings("test")))
        )
    )
    label = runs[0].embeddings("test").labels[0]
    assert f"Query: {label}" in drawn[0]
