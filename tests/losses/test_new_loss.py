"""A loss is one file, a wrapper too: in a scratch copy of the package they are found wherever the others are."""

import json

import pytest

from tests import scratch
from tests.scratch import run

MY_LOSS = scratch.files()["lab/losses/my_loss.py"]
"""The loss of CONTRIBUTING.md."""
PEAK = "    peak = Peak(2, pairs=4)\n"

MY_WRAPPER = '''
"""Any loss, times a factor."""

from lab.wrappers import Knobs, Wrapper, knob


class MyWrapper(Wrapper):
    """Any loss, times a factor. Lower is better."""

    class Knobs(Knobs):
        factor: float = knob(2.0, "The factor.", ge=0, le=10)

    def values(self, batch, **given):
        return self.knobs.factor * self.loss.values(batch, **given)

    def total(self, batch, **given):
        return self.knobs.factor * self.loss.total(batch, **given)
'''

PAGE = """
import streamlit as st
from app.forms import knob_forms
asked, wrong = knob_forms.section_form("loss")
st.code(str(asked))
st.caption(wrong)
"""

EVERYWHERE = f"""
import json, sys
from pathlib import Path

import lab.losses
assert "torch" not in sys.modules and "my_loss" in lab.losses.names()

import torch
from lab import inspect
from lab.bench import losses as bench
from lab.runs import SECTIONS, RunConfig
from lab.runs.launching import preflight
from streamlit.testing.v1 import AppTest
assert str(Path(lab.__file__)).startswith(sys.argv[1])

tiny = {{
    "data": {{"name": "emoji7", "test": 0.04, "validation": 0.04}}, "augmentation": {{"size": 32}},
    "encoder": {{"name": "small_cnn"}}, "sampler": {{"batch_size": 32}}, "training": {{"steps": 2, "device": "cpu"}},
    "loss": {{"name": "my_loss", "power": 2}}, "wrappers": [{{"name": "my_wrapper", "factor": 3}}],
}}
config = RunConfig.of(tiny)
checks = {{check.name: [check.verdict, check.sentence] for check in preflight.preflight(config)}}
page = AppTest.from_string({PAGE!r}, default_timeout=300).run()
page.selectbox(key="form.loss").set_value("my_loss").run()
assert not page.exception, page.exception
from tests.scratch import heard
contract = ["pytest", "tests/losses/test_contract.py", "-k", "my_loss", "-p", "no:cacheprovider"]
small = dict(sizes=(32,), d=8, naive_sizes=(), library_sizes=(), memory_of=(), largest=32, repeats=1)
print(json.dumps({{
    "said": heard([["lab", "losses", "--json"], contract]),
    "sections": [*SECTIONS["loss"].names(), *SECTIONS["wrappers"].names()],
    "flags": config.flags(),
    "checks": checks,
    "bench": sorted({{row.name for row in bench.measure(**small)}}),
    "lists": inspect.list_losses(),
    "declared": lab.losses.create("my_declared").peak.bytes(64, 8, 4),
    "form": [page.selectbox(key="form.loss").options, page.code[0].value, page.caption[-1].value],
}}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package, its dashboard and its tests, and three files more: a loss that declares no peak, the same that does,
    and a wrapper."""
    root = scratch.copied(tmp_path_factory.mktemp("scratch"))
    assert PEAK in MY_LOSS
    scratch.put(root, "lab/losses/my_loss.py", MY_LOSS.replace(PEAK, ""))
    scratch.put(root, "lab/losses/my_declared.py", MY_LOSS)
    scratch.put(root, "lab/wrappers/my_wrapper.py", MY_WRAPPER)
    return root


def test_it_is_listed(copy, found):
    rows = {row["name"]: row for row in json.loads(found["said"][0])}
    assert rows["my_loss"]["knobs"] == "power" and rows["my_loss"]["family"] == "pair"
    assert set(rows) == {path.stem for path in (copy / "lab" / "losses").glob("[a-z]*.py")}


@pytest.fixture(scope="module")
def found(copy):
    """What is found of it everywhere, by one process; `said`: by the list of losses and by the contract tests."""
    return json.loads(run(copy, "-c", EVERYWHERE, str(copy)).splitlines()[-1])


def test_it_trains_is_forecast_and_measured(found):
    assert {"my_loss", "my_wrapper"} <= set(found["sections"]) and "my_loss" in found["lists"]
    assert {"--loss", "my_loss", "--loss.power"} <= set(found["flags"])
    assert found["checks"]["pace"][0] == "good"
    assert found["checks"]["memory"][0] == "careful" and "is a guess" in found["checks"]["memory"][1]
    assert {"my_loss", "recall_at_k with simix", "class_anchor_margin"} <= set(found["bench"])


def test_it_is_in_the_form(found):
    options, asked, wrong = found["form"]
    assert "My loss" in options and "'my_loss'" in asked and "'power': 1.0" in asked and wrong == ""


def test_the_contract_tests_take_it(found):
    said = found["said"][1]
    assert "passed" in said and "failed" not in said


def test_a_peak_that_is_declared_is_no_guess(found):
    assert found["declared"] == 4 * (2 * 64 * 8 + 4 * 64 * 64)
