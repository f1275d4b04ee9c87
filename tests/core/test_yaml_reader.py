"""YAML: what is written as a text is read back as a text, here and by other readers."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import lab
from lab.core import yaml_reader

ODD = [
    "1e3",
    "-.5",
    "010",
    "01",
    "0x10",
    "1_0",
    "1:30",
    "no",
    "yes",
    "NA",
    "null",
    "~",
    "",
    "=",
    "2020-01-02",
    ".inf",
]


@pytest.mark.parametrize("text", ODD)
def test_a_text_stays_a_text(text):
    for value in ({"name": text}, {text: 1}, [text]):
        assert (
            yaml_reader.load(yaml_reader.dump(value))
            == value
            == yaml.safe_load(yaml_reader.dump(value))
        )


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.text(st.characters(codec="utf-8"), max_size=6) | st.integers() | st.booleans(), st.lists
    )
)
def test_plain_data_are_read_back(value):
    assert yaml_reader.load(yaml_reader.dump(value)) == value


@pytest.mark.parametrize("text", ["1e3", "010", "no"])
def test_a_configuration_keeps_its_names(text, tmp_path):
    config = lab.runs.RunConfig.of({"data": {"name": "class_folders", "root": text}})
    (tmp_path / "config.yaml").write_text(config.as_yaml())
    assert lab.runs.RunConfig.load(tmp_path / "config.yaml").data.values["root"] == text
    assert config.typed("data.root", text) == text and config.typed("training.steps", "10") == 10
