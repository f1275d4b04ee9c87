"""JSON and YAML are written in one go and read strictly."""

import pytest

from lab.core import yaml_reader
from lab.core.files import read_json, write_json


def test_json_comes_back_and_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "folder" / "status.json"
    write_json(path, {"step": 8})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"loss": float("nan")})
    assert read_json(path) == {"step": 8} and [p.name for p in path.parent.iterdir()] == [
        "status.json"
    ]


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"loss": NaN}', '{"loss": -Infinity}', "[" * 100_000, "\udcff"]
)
def test_what_is_no_object_is_a_sentence_that_names_the_file(tmp_path, text):
    path = tmp_path / "status.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"status\.json is no JSON object: .*\.$"):
        read_json(path)


def test_numbers_of_yaml_are_those_that_people_mean():
    text = "a: 1e-3\nb: 1:30\nc: 90\nd: -.5\ne: true\nf: [.inf, 0x1f, null, 'x: y', 1_000, 007]\n"
    read = yaml_reader.load(text + "# crc32: e40626be (of version 0.2)\n")
    assert read == {
        "a": 1e-3, "b": "1:30", "c": 90, "d": -0.5, "e": True, "f": [float("inf"), 31, None, "x: y", 1000, 7.0],
    }  # fmt: skip


@pytest.mark.parametrize(("text", "told"), [("a: [\n", "line 2"), ("a: !!python/x 1", "tag")])
def test_what_yaml_may_not_hold(text, told):
    with pytest.raises(ValueError, match=told):
        yaml_reader.load(text)
