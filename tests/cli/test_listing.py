"""`lab losses`, `lab metrics`, `lab data`, and how every command behaves on a mistake."""

import json
import subprocess
import sys

import pytest

import lab.cli
from lab.__main__ import main


@pytest.mark.parametrize("kind", ["losses", "metrics", "data"])
def test_every_entry_is_listed_and_explained(kind, capsys):
    assert main([kind, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows and all(row["purpose"] for row in rows)
    for row in rows:
        assert main([kind, row["name"], "--json"]) == 0
        knobs = json.loads(capsys.readouterr().out)
        assert " ".join(knob["knob"] for knob in knobs) == row["knobs"]


def test_a_table_for_people_names_ranges_and_sources(capsys):
    assert main(["losses", "sup_ap"]) == 0
    shown = capsys.readouterr().out
    assert "0 < tau" in shown and "ROADMAP, eq. 4" in shown


def test_unknown_name_is_one_sentence_with_the_legal_ones(capsys):
    assert main(["losses", "recal_at_k"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "Did you mean 'recall_at_k'" in said


@pytest.mark.parametrize("name", lab.cli.names())
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: lab {name}" in capsys.readouterr().out


def test_help_loads_nothing_heavy():
    """What makes it quick; `lab bench interaction` measures how quick."""
    code = "import sys; from lab.__main__ import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "assert not {'torch', 'numpy', 'pydantic', 'rich', 'plotly'} & set(sys.modules), 'heavy'"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_unknown_command_lists_the_commands(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["trian"])
    assert ended.value.code == 2 and "train" in capsys.readouterr().err
