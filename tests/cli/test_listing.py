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


@pytest.mark.parametrize("name", lab.cli.names())
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: lab {name}" in capsys.readouterr().out


def test_help_and_what_is_kept_load_nothing_heavy(capsys, tmp_path):
    """What makes it quick; `lab bench interaction` measures it. What declares knobs is loaded the first time alone."""
    flags = ["train", "--loss", "roadmap", "--wrappers", "cross_batch_memory", "--help"]
    with pytest.raises(SystemExit):
        main(flags)
    first = capsys.readouterr().out
    assert "--loss.tau" in first and "--wrappers.cross_batch_memory" in first and main(["losses"]) == 0
    commands = (
        (["--help"], {"torch", "numpy", "pydantic", "rich", "plotly"}),
        (["losses"], {"torch"}),
        (["query", "nothing", "x.png", "--runs", str(tmp_path)], {"torch"}),
        (["evaluate", "nothing", "--runs", str(tmp_path)], {"faiss"}),
        (flags, {"torch"}),
    )
    code = "import sys; from lab.__main__ import main\n"
    for words, heavy in commands:
        code += f"try: main({words})\nexcept SystemExit: pass\nassert not {heavy} & set(sys.modules), {words}\n"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("There is no run 'nothing'") == 2 and done.stdout.endswith(first)
