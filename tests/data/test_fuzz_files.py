"""The short round of scripts/soak/fuzz_files.py: files that chance has written are read, or refused in one sentence."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "soak" / "fuzz_files.py"
spec = importlib.util.spec_from_file_location("fuzz_files", SCRIPT)
fuzz_files = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = fuzz_files  # dataclasses look their module up
spec.loader.exec_module(fuzz_files)
NAMES = [read.__name__ for read, _ in fuzz_files.PROPERTIES]


@pytest.mark.parametrize(("read", "content"), fuzz_files.PROPERTIES, ids=NAMES)
def test_files_that_chance_has_written_are_read_or_refused_in_a_sentence(read, content, tmp_path):
    fuzz_files.run(read, content, tmp_path, examples=30, seed=0)
