"""Processes that can be killed: forked from one that has loaded everything, once for all tests of this folder."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import lab.runs

SERVER = """
import os, runpy, signal, sys, traceback
import lab.__main__, lab.cli.train, lab.runs.evaluate, lab.runs.building.parts, lab.training.loop

for line in sys.stdin:
    what, said, *words = line.rstrip("\\n").split("\\t")
    if what == "wait":
        print(os.waitstatus_to_exitcode(os.waitpid(int(said), 0)[1]), flush=True)
        continue
    pid = os.fork()
    if not pid:
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the tests were started by ignores
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            for stream in (1, 2):
                os.dup2(os.open(f"{said}.{stream}", os.O_WRONLY | os.O_CREAT), stream)
            sys.argv = [what, *words]
            runpy.run_path(what)
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(pid, flush=True)
"""

COMMAND = "import sys; from lab.__main__ import main; sys.exit(main(sys.argv[1:]))"
"""The command `lab`."""


@dataclass
class Process:
    """A script at work. `wait` gives its exit status, `out` and `err` what it has said."""

    pid: int
    said: str
    ask: Callable[..., int]

    def wait(self) -> int:
        return self.ask("wait", self.pid)

    @property
    def out(self) -> str:
        return self._of(1)

    @property
    def err(self) -> str:
        return self._of(2)

    def _of(self, stream: int) -> str:
        file = Path(f"{self.said}.{stream}")
        return file.read_text() if file.exists() else ""  # it has not begun


@pytest.fixture(scope="session")
def forked(tmp_path_factory):
    """A function that starts a script, `forked(source, *words)`, in a process of its own."""
    root, count = tmp_path_factory.mktemp("forked"), iter(range(10**6))
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with subprocess.Popen([sys.executable, "-c", SERVER], **pipes) as server:

        def ask(*words) -> int:
            server.stdin.write("\t".join(map(str, words)) + "\n")
            server.stdin.flush()
            return int(server.stdout.readline())

        def start(source: str, *words) -> Process:
            script = root / f"{next(count)}.py"
            script.write_text(textwrap.dedent(source))
            return Process(
                ask(script, script.with_suffix(""), *words), str(script.with_suffix("")), ask
            )

        yield start
        server.stdin.close()


def wait_for(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    """Wait for what other processes do."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def tiny_once(tiny_sections):
    """Sections of `tiny` with wrappers that have state and draw."""
    wrappers = [{"name": "cross_batch_memory", "size": 24}, "similarity_regulariser"]
    return {**tiny_sections, "loss": {"name": "smooth_ap"}, "wrappers": wrappers}


@pytest.fixture(scope="session")
def whole(tiny_once, tmp_path_factory):
    """Such a run, trained to its end without a mishap; who changes it takes a copy."""
    run = lab.runs.create(lab.runs.RunConfig.of(tiny_once), tmp_path_factory.mktemp("whole"), "run")
    for _ in lab.runs.execute(run):
        pass
    return run
