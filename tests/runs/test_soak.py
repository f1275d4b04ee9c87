"""A few trials of each soak script, so that none of them rots; docs/reliability.md tells of the long ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


TRIALS = {"kills": 2, "kills --points": 2, "disk": 2}
"""Scripts and how many trials of each; they are forked from one process."""


def columns(said: str) -> list[str]:
    """Those of the row that a script printed last."""
    return [column.strip() for column in said.splitlines()[-1].split("|")[1:-1]]


FORKED = """
import os, runpy, sys
folder, into, *words = sys.argv[1:]
sys.path.insert(0, folder)
import common  # what takes longest to load, once for all
for name, trials in zip(words[::2], words[1::2]):
    script, *flags = name.split()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            target = os.open(os.path.join(into, name), os.O_WRONLY | os.O_CREAT)
            os.dup2(target, 1)
            os.dup2(target, 2)
            sys.argv = [script, *flags, "--seed", "1", "--trials", trials]
            runpy.run_path(os.path.join(folder, script + ".py"), run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else bool(end.code)
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        except BaseException:
            common.traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(name, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def finished(words: list[str], seconds: float) -> str:
    """What a command printed; one that takes longer is killed with all that it started."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            said, complained = process.communicate(timeout=seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, said + complained
    return said


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Each script's exit status and the words that it said."""
    into = tmp_path_factory.mktemp("soak")
    words = [word for script, trials in TRIALS.items() for word in (script, str(trials))]
    said = finished([sys.executable, "-c", FORKED, str(SOAK), str(into), *words], 1800)
    ends = (line.rsplit(" ", 1) for line in said.splitlines())
    return {script: (int(status), (into / script).read_text()) for script, status in ends}


@pytest.mark.parametrize("script", TRIALS)
def test_a_few_trials_survive(ended, script):
    status, said = ended[script]
    assert status == 0, said
    tried, survived = map(int, columns(said)[1:3])
    assert tried == survived == TRIALS[script]
