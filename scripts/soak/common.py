"""What the soak scripts share: a run that trains in half a second, children that are forked, killed and compared.

A child is forked from a process that has imported everything and computed nothing, so that a trial costs no start.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
# compiled loops write nothing, and take longer to load than the run
os.environ.setdefault("LAB_KERNELS", "plain")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import torch
from PIL import Image

import lab.runs
from lab.runs import Run, RunConfig
from lab.runs.building.parts import parts_of  # noqa: F401 (so that no child has to import what a run needs)
from lab.runs.check import check
from lab.runs.evaluate import evaluate_run  # noqa: F401
from lab.training import checkpoint

torch.set_num_threads(1)
Image.init()  # else every child imports what reads each format

TOLD = ("kind", "step", "name", "loss", "gradient_norm", "lr", "values", "best")
"""What of a record must be the same; the rest are times and memory."""


def arguments(what: str, trials: int) -> argparse.Namespace:
    """`--trials` and `--seed`."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument(
        "--trials",
        type=int,
        default=trials,
        help=f"default {trials}; 0 is all, where they are counted",
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def conclude(
    name: str, tried: int, failures: list[str], seed: int, began: float, told: str = ""
) -> None:
    """Print a row of docs/reliability.md, and what did not survive; exits with 1 if anything did not."""
    for failure in failures:
        print(failure, file=sys.stderr)
    seconds = time.monotonic() - began
    print(
        f"| {name} | {tried:,} | {tried - len(failures):,} | {seed} | {seconds:,.0f} s | {told} |",
        flush=True,
    )
    sys.exit(bool(failures))


class Bench:
    """A temporary folder with drawn images, a configuration and the uninterrupted run that all others must equal.

    work: seconds of processor time that such a run takes.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="soak-"))
        self.config = RunConfig.of(configuration(pictures(self.folder / "pictures")))
        self.whole = self.run("whole")
        assert in_child(lambda: train(self.whole)) == 0
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert in_child(lambda: train(self.run("timed"))) == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.reference = outcome(self.whole)

    def run(self, name: str) -> Run:
        """A fresh run, not begun."""
        return lab.runs.create(self.config, self.folder, name)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def compare(self, run: Run) -> str:
        """What is wrong with a run that should be whole: empty if it is the uninterrupted one, to the bit."""
        if run.state != "finished":
            return f"is {run.state}: {run.status.get('sentence')}"
        found = outcome(run)
        wrong = [part for part in self.reference if found[part] != self.reference[part]]
        damage = [f"{f.file} {f.sentence}" for f in check(run)]
        return "; ".join([f"{part} differs" for part in wrong] + damage)


def train(run: Run) -> None:
    for _ in lab.runs.execute(run):
        pass


def outcome(run: Run) -> dict[str, str]:
    """All that a run came to, without times: weights, optimiser, embeddings, scores, and every record but notes."""
    last = checkpoint.load(run.checkpoint("last"))
    last["progress"].pop("seconds")
    best = checkpoint.load(run.checkpoint("best"))["encoder"]
    told = [
        {k: record[k] for k in TOLD if k in record}
        for record in run.metrics()
        if record["kind"] != "note"
    ]
    return {
        "last checkpoint": _digest(last),
        "best checkpoint": _digest(best),
        "records": json.dumps(told),
        "embeddings": _digest([vars(run.embeddings(split)) for split in run.splits]),
        "scores": json.dumps([run.scores(split)["values"] for split in run.splits]),
        "per query": _digest([run.per_query(split) for split in run.splits]),
    }


def readable(run: Run) -> str:
    """What is wrong with a run folder after a kill: empty if everything in it can be read and belongs together."""
    try:
        if run.state == "damaged" or not run.config:
            return "its status is damaged"
        found = [f for f in check(run) if not f.advice]
        return "; ".join(f"{f.file} {f.sentence}" for f in found)
    except Exception:
        return traceback.format_exc()


def resumed(bench: Bench, run: Run) -> str:
    """What is wrong with a run when it goes on after a mishap, against one that had none; empty if nothing is."""
    if in_child(lambda: train(run)):
        return f"could not be resumed: {run.status.get('sentence')}"
    return bench.compare(run)


def in_child(act: Callable[[], object], kill_after: float | None = None) -> int:
    """Do it in a forked process, killed after so many seconds of processor time; returns its status, -9 if killed."""
    pid = start(act)
    if kill_after is not None:
        while (
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
            and _spent(pid) < kill_after
        ):
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
    return wait(pid)


def _spent(pid: int) -> float:
    """Seconds of processor time of a process; those of the clock mean little on a machine that others use."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def start(act: Callable[[], object]) -> int:
    """Do it in a forked process that nobody waits for yet; returns its number. 3 is its status after a sentence."""
    gc.freeze()  # else looking for garbage in the child copies every page that holds an object
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        act()
        status = 0
    except (ValueError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr) if os.environ.get(
            "SOAK_TALK"
        ) else None
        status = 3
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Hook:
    """Calls `act(what, path)` right before every file operation below a folder: open for writing, rename, remove,
    mkdir, and fsync. Only for children: an audit hook stays for the life of the process."""

    EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")

    def __init__(self, folder: Path, act: Callable[[str, str], None]):
        self.folder, self.act = str(folder), act
        self.quiet = False
        synced = os.fsync

        def fsync(descriptor: int) -> None:
            self._seen("fsync", os.readlink(f"/proc/self/fd/{descriptor}"))
            synced(descriptor)

        os.fsync = fsync
        sys.addaudithook(self._audit)

    def _audit(self, event: str, given: tuple) -> None:
        if event not in self.EVENTS or self.quiet:
            return
        if event == "open" and not (
            isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
        ):
            return
        if isinstance(given[0], str | bytes | os.PathLike):
            self._seen(event, os.fsdecode(given[0]))

    def _seen(self, what: str, path: str) -> None:
        if not self.quiet and path.startswith(self.folder):
            self.act(what, path)


def points(act: Callable[[], object], folder: Path) -> int:
    """How many file operations a piece of work makes."""
    counted = folder / "counted"

    def counting() -> None:
        seen = []
        hook = Hook(folder, lambda what, path: seen.append(what))
        act()
        hook.quiet = True
        counted.write_text(str(len(seen)))

    assert in_child(counting) == 0
    return int(counted.read_text())


def chosen(count: int, trials: int, generator: random.Random) -> list[int]:
    """The numbers 1..count, or as many of them as there are trials, at random but in order."""
    every = range(1, count + 1)
    return (
        list(every)
        if trials in (0,) or trials >= count
        else sorted(generator.sample(every, trials))
    )


def _digest(value: object) -> str:
    import hashlib

    state = hashlib.sha256()

    def feed(one: object) -> None:
        if isinstance(one, dict):
            for key in one:
                state.update(str(key).encode())
                feed(one[key])
        elif isinstance(one, list | tuple):
            for inner in one:
                feed(inner)
        elif isinstance(one, torch.Tensor):
            feed(one.numpy())
        elif isinstance(one, np.ndarray):
            state.update(str((one.dtype, one.shape)).encode() + np.ascontiguousarray(one).tobytes())
        else:
            state.update(repr(one).encode())

    feed(value)
    return state.hexdigest()


def pictures(root: Path) -> Path:
    """16 classes of 4 images; a class is a colour and the place of a square."""
    draw = np.random.default_rng(0)
    for c in range(16):
        folder = root / f"class{c:02d}"
        folder.mkdir(parents=True)
        colour = draw.integers(60, 255, 3)
        for i in range(4):
            pixels = draw.integers(0, 60, (20, 20, 3)).astype(np.uint8)
            y, x = 2 + c % 4 * 3, 2 + c // 4 * 3
            pixels[y : y + 7, x : x + 7] = colour
            Image.fromarray(pixels).save(folder / f"{i}.png")
    return root


def configuration(pictures: Path) -> dict:
    return {
        "data": {"name": "class_folders", "root": str(pictures), "validation": 0.5, "test": 0.25},
        "augmentation": {"size": 16},
        "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
        "sampler": {"name": "m_per_class", "batch_size": 8, "per_class": 2},
        "loss": {"name": "smooth_ap"},
        "wrappers": [{"name": "cross_batch_memory", "size": 24}, "similarity_regulariser"],
        "training": {"steps": 8, "checkpoint_every": 2, "validate_every": 4, "device": "cpu"},
    }
