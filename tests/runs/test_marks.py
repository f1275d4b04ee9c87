"""Marks of images: kept with the run, taken back, exported."""

from __future__ import annotations

import csv
import io
from concurrent.futures import ThreadPoolExecutor

import pytest

import lab.runs
from lab.runs import RunConfig, marks


@pytest.fixture
def run(tmp_path):
    return lab.runs.create(RunConfig.of(), tmp_path, "marked")


def test_marks_are_kept_and_taken_back(run):
    assert marks.read(run) == {}
    marks.mark(run, "cats/1.jpg", "wrong label")
    marks.mark(run, "dogs/=2.jpg", "skip")
    marks.mark(run, "cats/1.jpg", "duplicate")
    assert marks.read(run) == {"cats/1.jpg": "duplicate", "dogs/=2.jpg": "skip"}
    table = marks.as_csv(marks.read(run), {"cats/1.jpg": "cats, big"})
    assert table == 'image,label,mark\ncats/1.jpg,"cats, big",duplicate\ndogs/=2.jpg,,skip\n'
    marks.mark(run, "cats/1.jpg", None)
    assert marks.read(run) == {"dogs/=2.jpg": "skip"}
    with pytest.raises(ValueError, match="one of wrong label, duplicate, skip"):
        marks.mark(run, "cats/1.jpg", "ugly")


def test_no_cell_of_the_table_is_a_formula():
    given = {f"{start}cmd|' /C calc'!A0": "skip" for start in ("=", "+", "-", "@", "\t=", "\r=", "cat\r=", " =")}
    table = marks.as_csv(given, dict.fromkeys(given, '=HYPERLINK("x")'))
    _, *rows = csv.reader(io.StringIO(table, newline=""))
    assert len(rows) == len(given) and all(len(row) == 3 for row in rows)
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for row in rows for cell in row)


def test_verdicts_are_of_a_query_and_an_image(run):
    assert marks.verdicts(run) == {}
    marks.judge(run, "cats/1.jpg", "dogs/1.jpg", "right")
    marks.judge(run, "cats/1.jpg", "cats/2.jpg", "wrong")
    marks.judge(run, "dogs/1.jpg", "cats/1.jpg", "right")
    marks.judge(run, "dogs/1.jpg", "cats/1.jpg", None)
    assert marks.verdicts(run) == {"cats/1.jpg": {"dogs/1.jpg": "right", "cats/2.jpg": "wrong"}}
    assert marks.read(run) == {}, "marks of images are another thing"
    table = marks.verdicts_as_csv(marks.verdicts(run), {"cats/1.jpg": "cats", "cats/2.jpg": "cats"})
    assert table.splitlines() == [
        "query,query_label,image,label,verdict",
        "cats/1.jpg,cats,cats/2.jpg,cats,wrong",
        "cats/1.jpg,cats,dogs/1.jpg,,right",
    ]
    with pytest.raises(ValueError, match="right or wrong for a query, got 'perhaps'"):
        marks.judge(run, "cats/1.jpg", "dogs/1.jpg", "perhaps")


@pytest.mark.parametrize("text", ["", "{", '{"a": "ugly", "b": {}}'])
def test_a_damaged_file_says_nothing(run, text):
    (run.path / marks.FILE).write_text(text)
    assert marks.read(run) == {}


def test_people_who_mark_at_once_lose_nothing(run):
    """Each mark is read, added and written again."""
    several = [f"{who} {number}" for who in "abcd" for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda key: marks.mark(run, key, "skip"), several))
        list(pool.map(lambda key: marks.judge(run, "query", key, "right"), several))
    assert marks.read(run).keys() == marks.verdicts(run)["query"].keys() == set(several)
