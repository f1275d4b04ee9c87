"""Small files read by their schema: whatever stands in them, an answer or one sentence without words of Python."""

from __future__ import annotations

import json
import re
import resource
import time
from contextlib import contextmanager

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from lab.core import yaml_reader
from lab.core.files import making, parse_json, write_bytes
from lab.core.stored import MOST_BYTES, Count, Number, Stored, Text, find, parse, read
from lab.runs import schemas

PYTHON = re.compile(
    r"NoneType|has no attribute|Exceeds the limit|recursion|'(str|int|list|dict)'|Input should|<class"
)


class Step(Stored, total=False):
    step: Count
    loss: Number | None
    name: Text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"step": "8"}', "step must be a whole number, got '8'"),
        ('{"step": true}', "step must be a whole number, got True"),
        ('{"step": -1}', "step must be at least 0, got -1"),
        ('{"step": 1' + "0" * 400 + "}", "step must be at most 9007199254740992, got 1000"),
        ('{"step": ' + "9" * 5_000 + "}", "a number of thousands of digits"),
        ('{"loss": []}', "loss must be a number, got []"),
        ('{"loss": NaN}', "it holds NaN"),
        ('{"loss": 1e999}', "it holds 1e999, which is infinite here"),
        ('{"name": null}', "name must be text, got None"),
        ('{"name": "\\ud800"}', "it is no UTF-8 text"),
        ('{"step": 1, "step": 2}', "it names 'step' twice"),
        ('{"step": ' + "[" * 5_000 + "]" * 5_000 + "}", "it is nested too deeply"),
        ('{"later": ' + "[" * 65 + "]" * 65 + "}", "it is nested too deeply"),
        ('{"name": "' + "x" * 100_000 + '"}', "name must have at most 20000 characters"),
        ("[1]", "it holds a list"),
        ("null", "it holds null"),
        ("", "Expecting value in line 1"),
    ],
)
def test_what_does_not_fit_is_a_sentence_with_file_field_and_value(tmp_path, text, told):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ValueError) as refused:
        read(path, Step)
    said = str(refused.value)
    assert said.startswith(str(path)) and told in said and said.endswith(".") and len(said) < 400
    assert not PYTHON.search(said) and find(path, Step) == {}


def test_fields_that_no_schema_names_are_kept_and_large_files_refused(tmp_path):
    assert parse('{"step": 8, "later": {"a": [1]}}', Step, "x") == {"step": 8, "later": {"a": [1]}}
    path = tmp_path / "x.json"
    path.write_bytes(b'{"name": "' + b"x" * MOST_BYTES + b'"}')
    with pytest.raises(ValueError, match="is larger than 2 MB, so it is none that Rankscope wrote"):
        read(path, Step)


def test_a_million_mistakes_cost_no_more_than_one():
    began = time.process_time()
    for text in (
        json.dumps({"values": dict.fromkeys(map(str, range(100_000)), "x")}),
        json.dumps({"kind": "validated", "step": 1, "values": {}, "pinned": [{}] * 100_000}),
        json.dumps({"command": [1] * 500_000}),
    ):
        for kind in (schemas.ScoresFile, schemas.ValidatedRecord, schemas.Meta):
            try:
                parse(text, kind, "x")
            except ValueError as refused:
                assert len(str(refused)) < 400
    assert time.process_time() - began < 10


KINDS = [
    kind for kind in vars(schemas).values() if isinstance(kind, type) and hasattr(kind, "__total__")
]
FIELDS = sorted({name for kind in KINDS for name in getattr(kind, "__annotations__", {})})
LEAVES = (
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=5)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=8,
)


@settings(derandomize=True, max_examples=300)
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6))
def test_every_schema_answers_or_refuses_in_a_sentence(value):
    for kind in KINDS:
        try:
            parse(json.dumps(value), kind, "x.json")
        except ValueError as refused:
            assert str(refused).startswith("x.json ") and not PYTHON.search(str(refused)), refused


@settings(derandomize=True, max_examples=200)
@given(
    st.binary(max_size=40)
    | st.text(alphabet='{}[]",:0123456789eE.-\\u d', max_size=40).map(str.encode)
)
def test_any_bytes_are_an_object_or_a_sentence(content):
    try:
        assert isinstance(parse_json(content), dict)
    except ValueError as refused:
        assert not PYTHON.search(str(refused)) and not isinstance(refused, UnicodeError)


ALIASES = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"{two}: &{two} [{', '.join([f'*{one}'] * 10)}]\n"
    for one, two in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ALIASES, "more than 50,000 values"),
        ("a: &a [*a]", "more than 50,000 values"),
        ("- " * 3_000, "more than 64 levels"),
        ("a: " + "[" * 5_000, "nesting depth"),
        ("a: " + "9" * 5_000, "thousands of digits"),
        ("a: 0x_", "a number that cannot be read"),
        ("a: !!timestamp x", "the tag 'tag:yaml.org,2002:timestamp' in line 1"),
        ("a: !!int x", "the tag"),
        ("x" * 2_000_001, "more than 2,000,000 characters"),
    ],
)
def test_yaml_that_would_take_minutes_or_is_no_number_is_refused_at_once(text, told):
    began = time.process_time()
    with pytest.raises(ValueError, match=re.escape(told)):
        yaml_reader.load(text)
    assert time.process_time() - began < 2


def test_a_date_in_yaml_is_text_and_an_alias_is_read():
    assert yaml_reader.load("a: 2020-13-45\nb: &x {c: 1}\nd: *x") == {
        "a": "2020-13-45",
        "b": {"c": 1},
        "d": {"c": 1},
    }


@contextmanager
def small_files():
    """Refuse files of more than 4 kB, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_library_that_meets_a_full_disk_is_told_as_a_full_disk(tmp_path):
    """safetensors says only "Error while serializing: I/O error"."""
    with (
        small_files(),
        pytest.raises(OSError, match=r"No space left.*model"),
        making(tmp_path / "model") as folder,
    ):
        save_file({"a": torch.zeros(10_000)}, folder / "a.safetensors")
    with small_files(), pytest.raises(OSError):
        write_bytes(tmp_path / "b", bytes(10_000))
    assert not list(tmp_path.iterdir())
