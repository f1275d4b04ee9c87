"""`lab doctor --imports` measures what the imports of a command cost."""

import json

import pytest

from lab.__main__ import main
from lab.install import imports

SAID = """import time: self [us] | cumulative | imported package
import time:       300 |        300 |   json.decoder
import time:    200000 |     500000 | json
Warning: something else
import time:   1000000 |    1000000 | torch
"""


def test_lines_of_python_are_read():
    found = imports._read("train", SAID)
    assert (found.seconds, found.modules) == (1.2, 3) and found.heaviest == "torch 1.00 s, json 0.20 s"


def test_imports_inside_functions_count(tmp_path):
    file = tmp_path / "command.py"
    file.write_text("from __future__ import annotations\nimport os\ndef run(arguments):\n    from json import loads\n")
    assert imports.statements(file) == ["import os", "from json import loads"]


def test_the_doctor_lists_the_commands_that_are_named(capsys):
    assert main(["doctor", "--imports", "stop", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["command"] == "stop" and row["modules"] > 50 and 0 < row["seconds"] < 60 and row["heaviest"]


def test_a_command_that_is_none_is_refused(capsys):
    assert main(["doctor", "--imports", "nope"]) == 2
    assert "no command 'nope'" in capsys.readouterr().err


def test_imports_that_fail_are_told(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    monkeypatch.setattr(imports, "COMMANDS", tmp_path)
    with pytest.raises(RuntimeError, match="imports of broken fail: .*no_such_module"):
        imports.cost("broken")
