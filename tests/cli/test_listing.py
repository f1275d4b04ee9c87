"""`lab list`, and the help of every command."""

import json
import subprocess
import sys

import pytest

import lab.cli
from lab.__main__ import main

KINDS = lab.cli.load("list").KINDS


# which have tests of their own
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"figures", "recipes"}))
def test_every_entry_is_listed_and_explained(kind, capsys):
    assert main(["list", kind, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows and all(row["purpose"] for row in rows)
    for row in rows:
        assert main(["list", kind, row["name"], "--json"]) == 0
        knobs = json.loads(capsys.readouterr().out)
        assert " ".join(knob["knob"] for knob in knobs) == row["knobs"]


def test_a_table_for_people_names_ranges_and_sources(capsys):
    assert main(["list", "losses", "sup_ap"]) == 0
    shown = capsys.readouterr().out
    assert "0 < tau" in shown and "ROADMAP, eq. 4" in shown


def test_a_mistyped_kind_is_told_with_the_nearest(capsys):
    assert main(["list", "loss"]) == 2 and "Did you mean 'losses'?" in capsys.readouterr().err
    assert main(["list", "--json"]) == 0
    assert [row["kind"] for row in json.loads(capsys.readouterr().out)] == list(KINDS)


PATHS = [(name,) for name in lab.cli.names()] + [
    (n, verb) for n in lab.cli.names() for verb in lab.cli.names(n)
]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_explains_itself(path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*path, "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert f"usage: lab {' '.join(path)}" in told
    assert all(f"  {verb} " in told for verb in lab.cli.names(path[0])) or len(path) == 2


def test_the_help_is_a_list_that_one_can_keep_in_ones_head(capsys):
    """Each command stands under a heading with one line that fits a narrow terminal."""
    assert len(lab.cli.names()) <= 20
    assert main([]) == 0
    told = capsys.readouterr().out
    assert "More:" not in told, "say under which heading the command stands: HEADING, PLACE = ..."
    for path in PATHS:
        first, second = (lab.cli.load(*path).__doc__.splitlines() + [""])[:2]
        assert len(first) <= 66 and first.endswith(".") and not second, (
            f"one short line for the help of {path}"
        )


def test_help_and_what_is_kept_load_nothing_heavy(capsys, tmp_path):
    """What makes it quick. Knobs are loaded the first time alone."""
    flags = ["train", "--loss", "roadmap", "--wrappers", "cross_batch_memory", "--help"]
    with pytest.raises(SystemExit):
        main(flags)
    first = capsys.readouterr().out
    assert (
        "--loss.tau" in first
        and "--wrappers.cross_batch_memory" in first
        and main(["list", "losses"]) == 0
    )
    commands = (
        (["--help"], {"torch", "numpy", "pydantic", "rich", "plotly"}),
        (["list", "losses"], {"torch"}),
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
