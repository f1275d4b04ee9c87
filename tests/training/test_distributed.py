"""Two processes on the CPU under torchrun: their step is the step of one, ragged shares included."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
import yaml

import lab.runs
import lab.runs.check
from lab.core.streams import result_of
from lab.runs import RunConfig
from lab.runs.evaluate import examiner_of
from lab.runs.execute import execute
from lab.training import checkpoint

from .test_shared_processes import free_port

STEP = """
    import sys
    import torch
    from lab.training import distributed
    from lab.training.graphs import Keep
    from lab.training.steps import gradients
    sys.path.insert(0, sys.argv[1])
    from toys import ToyEncoder, ToyLoss, toy_batch
    torch.manual_seed(0)
    encoder, loss = ToyEncoder(dropout=0, batchnorm="frozen").train(), ToyLoss()
    encoder.unused = torch.nn.Linear(2, 2)
    images, labels = toy_batch(13)
    with distributed.session(torch.device("cpu")) as processes:
        mine = torch.arange(13).tensor_split(processes.world)[processes.rank]
        reduced = []
        all_reduce = distributed.dist.all_reduce
        distributed.dist.all_reduce = lambda t: (reduced.append(1), all_reduce(t))
        torch.manual_seed(7)
        result = gradients(encoder, loss, images[mine], labels[mine], chunk=4, keep=[Keep.ALL], gather=processes)
        wished = processes.complete(encoder, loss, wish=processes.rank == 1)
        assert wished and len(reduced) == 1 and encoder.unused.weight.grad is None
        if processes.first:
            weights = [*encoder.named_parameters(), *loss.named_parameters()]
            found = {name: p.grad for name, p in weights if p.grad is not None}
            torch.save({"loss": result.loss, "embeddings": result.embeddings, **found}, sys.argv[2])
"""


DYING = """
    import os, signal, sys
    from lab.__main__ import main
    from lab.training.loop import Trainer

    step = Trainer._step

    def dying(self, batch, number, watch):
        if number == 3 and os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, batch, number, watch)

    Trainer._step = dying
    sys.exit(main(sys.argv[1:]))
"""

ELASTIC = ("--nnodes=1:4", "--max-restarts=1", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0")


def torchrun(*words, how=("--standalone",), timeout=600):
    launcher = [sys.executable, "-m", "torch.distributed.run", *how, "--nproc-per-node", "2"]
    done = subprocess.run([*launcher, *words], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_gradients_of_two_processes_are_those_of_one(tmp_path):
    from pathlib import Path

    from lab.training.steps import gradients

    from .toys import ToyEncoder, ToyLoss, toy_batch

    script = tmp_path / "step.py"
    script.write_text(textwrap.dedent(STEP))
    torchrun(str(script), str(Path(__file__).parent), str(tmp_path / "found.pt"))
    found = torch.load(tmp_path / "found.pt", weights_only=True)

    torch.manual_seed(0)
    encoder, loss = ToyEncoder(dropout=0, batchnorm="frozen").train(), ToyLoss()
    images, labels = toy_batch(13)
    torch.manual_seed(7)
    one = gradients(encoder, loss, images, labels)
    assert torch.allclose(found["embeddings"], one.embeddings, atol=1e-6)
    assert found["loss"].item() == pytest.approx(one.loss.item(), abs=1e-6)
    expected = {n: p.grad for n, p in [*encoder.named_parameters(), *loss.named_parameters()] if p.grad is not None}
    assert expected.keys() == found.keys() - {"loss", "embeddings"}
    for name, grad in expected.items():
        assert torch.allclose(found[name], grad, atol=1e-6), name


GIVEN = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
    "augmentation": {"size": 16},
    "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
    "sampler": {"name": "m_per_class", "batch_size": 20},
    "loss": {"name": "normalized_softmax"},
    "optimiser": {"name": "sgd", "lr": 0.01},
    "training": {"steps": 4, "validate_every": 3, "checkpoint_every": 2, "device": "cpu", "clip": 0.5},
    "evaluation": {"batch_size": 30},
}


def configured(weights):
    """With whole weights, a loss that remembers images of earlier batches, one by one."""
    if weights == "whole":
        return {
            **GIVEN,
            "loss": "contrastive",
            "wrappers": [{"name": "cross_batch_memory", "size": 7000, "unique": True}],
        }
    shared = {"class_weights": weights, "encoder_weights": weights}
    return {**GIVEN, "training": {**GIVEN["training"], **shared}}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """One process, whose class weights stand in a file of their own as those of several do."""
    root = tmp_path_factory.mktemp("runs")
    run = lab.runs.create(RunConfig.of(configured("sharded")), root, "alone")
    list(execute(run))
    return run


def run_of_two(root, weights, script, how):
    (root / f"{weights}.yaml").write_text(yaml.safe_dump(configured(weights)))
    before = set(root.glob("*/config.yaml"))
    torchrun(*script, "train", "--config", str(root / f"{weights}.yaml"), "--runs", str(root), how=how)
    (made,) = set(root.glob("*/config.yaml")) - before
    return lab.runs.open(made.parent.name, root)


def assert_same(one, other):
    """Records, weights and embeddings of two runs, to rounding."""
    frames = [lab.runs.folder.tensors(run.path / "frames" / "step_00000003.safetensors") for run in (one, other)]
    np.testing.assert_allclose(frames[0]["vectors"], frames[1]["vectors"], atol=1e-5)
    np.testing.assert_array_equal(frames[0]["items"], frames[1]["items"])
    assert other.state == "finished"
    weights = [checkpoint.load(run.checkpoint("last"))["encoder"] for run in (one, other)]
    torch.testing.assert_close(weights[0], weights[1], atol=2e-5, rtol=1e-4)
    for column in ("loss", "gradient_norm"):
        told = [[record[column] for record in run.metrics("stepped")] for run in (one, other)]
        assert told[0] == pytest.approx(told[1], rel=1e-4)
    kept = [lab.runs.folder.tensors(run.batches()[3]) for run in (one, other)]
    assert np.array_equal(kept[0]["items"], kept[1]["items"]) and len(kept[0]["items"]) == 20


def test_two_processes_that_share_all_weights_and_of_which_one_dies_are_one(alone):
    """torchrun starts both anew; they go on from the last checkpoint, whose class weights stand in two files."""
    root = alone.path.parent
    (root / "dying.py").write_text(textwrap.dedent(DYING))
    both = run_of_two(root, "sharded", [str(root / "dying.py")], (*ELASTIC, "--rdzv-conf=last_call_timeout=1"))
    assert_same(alone, both)
    assert "Resumed after step 2." in [record["sentence"] for record in both.metrics("note")]
    (whole,), shares = (sorted(r.checkpoint("last").parent.glob("last.classes.00000004.*")) for r in (alone, both))
    (expected,), found = ([checkpoint.load(p)["weights"]["loss.inner.W"] for p in ps] for ps in ([whole], shares))
    assert len(found) == 2 and torch.allclose(torch.cat(found, 1), expected, atol=2e-5)


def test_two_processes_share_the_test_images_and_remember_those_of_both(alone):
    one = lab.runs.create(RunConfig.of(configured("whole")), alone.path.parent, "remembers")
    list(execute(one))
    both = run_of_two(alone.path.parent, "whole", ["-m", "lab"], ("--standalone",))
    assert_same(one, both)
    (query, _) = result_of(examiner_of(both, "test").split("test"))
    np.testing.assert_array_equal(both.embeddings("test").items, query.items)
    np.testing.assert_allclose(both.embeddings("test").vectors, query.vectors, atol=1e-6)  # another process, other bits


FOUR = """
    import errno, os, signal, sys, time
    from pathlib import Path

    import torch
    from lab.__main__ import main
    from lab.runs.building.parts import parts_of
    from lab.runs.evaluate import evaluate_run
    from lab.training import checkpoint, distributed
    from lab.training.loop import Trainer
    from lab.training.processes import heartbeat

    heartbeat.SILENCE, heartbeat.BEAT = 10.0, 0.2
    run, ports = sys.argv[1], sys.argv[2:]
    mishap, step, save, clock = "", Trainer._step, checkpoint.save, time.time

    def stepping(self, batch, number, watch):
        if mishap == "killed" and number == 4 and self.processes.rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, batch, number, watch)

    def saving(path, state):
        if mishap == "full" and state["progress"]["step"] == 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return save(path, state)

    def process(rank):
        os.environ.update(RANK=str(rank), WORLD_SIZE="4", MASTER_ADDR="127.0.0.1", MASTER_PORT=ports.pop())
        if mishap == "clocks":  # an hour and a half before to an hour and a half after
            time.time = lambda: clock() + 3600 * (rank - 1.5)
        os._exit(main(["train", "--resume", run, "--quiet"]))

    Trainer._step, checkpoint.save = stepping, saving
    for mishap in ("killed", "full", "clocks"):
        began = time.monotonic()
        children = [os.fork() or process(rank) for rank in range(4)]
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        last = checkpoint.load(Path(run) / "checkpoints/last.safetensors")["progress"]["step"]
        print("told", mishap, *ends, last, time.monotonic() - began < 60, flush=True)
        ports.pop()
"""


def test_four_processes_lose_one_then_their_disk_and_go_on_with_clocks_apart(tiny, tmp_path):
    """They are forked from one that has imported everything, so that twelve of them cost what one does."""
    config = RunConfig.of({**tiny, "training": {**tiny["training"], "device": "cpu"}})
    one, four = (lab.runs.create(config, tmp_path, name) for name in ("one", "four"))
    list(execute(one))
    (tmp_path / "four.py").write_text(textwrap.dedent(FOUR))
    ports = [str(free_port()) for _ in range(3)]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "four.py"), str(four.path), *ports],
        capture_output=True, text=True, timeout=240, env={**os.environ, "LAB_KERNELS": "plain"},
    )  # fmt: skip
    assert [line for line in done.stdout.splitlines() if line.startswith("told")] == [
        "told killed 1 1 -9 1 2 True",
        "told full 1 1 1 1 4 True",
        "told clocks 0 0 0 0 8 True",
    ], done.stdout + done.stderr[-6000:]
    assert "Another process of this training ended" in done.stderr or "no sign of life" in done.stderr
    assert "The disk is full" in done.stderr
    weights = [checkpoint.load(run.checkpoint("last"))["encoder"] for run in (one, four)]
    torch.testing.assert_close(weights[0], weights[1], atol=2e-5, rtol=1e-4)
    steps = [[(record["step"], record["loss"]) for record in run.metrics("stepped")] for run in (one, four)]
    assert steps[1] == [(step, pytest.approx(loss, rel=1e-4)) for step, loss in steps[0]] and len(steps[1]) == 8
    assert four.state == "finished" and not lab.runs.check.check(four)
