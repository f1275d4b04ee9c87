"""The short round of scripts/soak/bad_inputs.py: one sentence, whatever command or knob is met."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "soak" / "bad_inputs.py"
spec = importlib.util.spec_from_file_location("bad_inputs", SCRIPT)
bad_inputs = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = bad_inputs  # dataclasses look their module up
spec.loader.exec_module(bad_inputs)


@pytest.mark.parametrize("seed", range(2))
def test_bad_inputs_end_in_sentences(seed):
    assert bad_inputs.campaign(100, seed) == []
