"""Several processes on the CPU: their step is the step of one, ragged shares included, whatever dies on the way."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
import torch.distributed as dist
import yaml

import lab.runs
import lab.runs.check
from lab.runs import RunConfig
from lab.runs.execute import execute
from lab.training import checkpoint
from lab.training.distributed import Processes
from lab.training.steps import gradients
from tests import several

from .toys import ToyEncoder, ToyLoss, toy_batch


def a_step(rank, place):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{place}/store", rank=rank, world_size=2)
    try:
        encoder, loss, images, labels = a_training()
        processes, reduced, all_reduce = Processes(), [], dist.all_reduce
        mine = torch.arange(13).tensor_split(2)[rank]
        result = gradients(
            encoder, loss, images[mine], labels[mine], chunk=4, keep=1, gather=processes
        )
        dist.all_reduce = lambda values: (reduced.append(1), all_reduce(values))
        assert processes.complete(encoder, loss, wish=rank == 1) and len(reduced) == 1
        assert (
            encoder.unused.weight.grad is None
            and processes.from_first(f"said by {rank}") == "said by 0"
        )
        torch.save(found_of(encoder, loss, result), f"{place}/{rank}.pt")
    finally:
        dist.destroy_process_group()


def a_training():
    torch.manual_seed(0)
    encoder, loss = ToyEncoder(dropout=0, batchnorm="frozen").train(), ToyLoss()
    encoder.unused = torch.nn.Linear(2, 2)
    batch = toy_batch(13)
    torch.manual_seed(7)
    return encoder, loss, *batch


def found_of(encoder, loss, result):
    weights = [*encoder.named_parameters(), *loss.named_parameters()]
    grads = {name: p.grad for name, p in weights if p.grad is not None}
    return {"loss": result.loss, "embeddings": result.embeddings, **grads}


def test_gradients_of_two_processes_are_those_of_one(tmp_path):
    several.run(a_step, (str(tmp_path),), 2)
    encoder, loss, images, labels = a_training()
    expected = found_of(encoder, loss, gradients(encoder, loss, images, labels))
    for rank in range(2):
        torch.testing.assert_close(
            torch.load(tmp_path / f"{rank}.pt"), expected, atol=1e-6, rtol=1e-5
        )


DYING = """
    import os, signal, sys
    from torch.distributed.launcher.api import elastic_launch
    from torch.distributed.run import config_from_args, parse_args
    import pytorch_metric_learning.losses
    from lab.__main__ import main
    from lab.runs.building import parts
    from lab.training.loop import Trainer

    step = Trainer._step

    def dying(self, batch, number, watch):
        if number == 3 and os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        return step(self, batch, number, watch)

    def training(*words):
        assert main(words) == 0

    Trainer._step = dying
    asked = parse_args(sys.argv[1:])
    config, *_ = config_from_args(asked)
    config.start_method = "fork"
    elastic_launch(config, training)(*asked.training_script_args)
"""
"""What torchrun does, but that its processes are forked from one that has imported everything."""

ELASTIC = (
    "--nnodes=1:4",
    "--max-restarts=1",
    "--rdzv-backend=c10d",
    "--rdzv-endpoint=localhost:0",
    "--rdzv-conf=last_call_timeout=1",
)


GIVEN = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
    "augmentation": {"size": 16},
    "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
    "sampler": {"name": "m_per_class", "batch_size": 20},
    "loss": {"name": "normalized_softmax"},
    "optimiser": {"name": "sgd", "lr": 0.01},
    "training": {
        "steps": 4,
        "validate_every": 3,
        "checkpoint_every": 2,
        "device": "cpu",
        "clip": 0.5,
    },
    "evaluation": {"batch_size": 30},
}


def alone(config, root):
    """A run of one process."""
    run = lab.runs.create(RunConfig.of(config), root, "alone")
    list(execute(run))
    return run


def assert_same(one, other):
    """Records, weights and embeddings of two runs, to rounding."""
    frames = [
        lab.core.arrays.read(run.path / "frames" / "step_00000003.safetensors")
        for run in (one, other)
    ]
    np.testing.assert_allclose(frames[0]["vectors"], frames[1]["vectors"], atol=1e-5)
    np.testing.assert_array_equal(frames[0]["items"], frames[1]["items"])
    assert other.state == "finished"
    for part in ("encoder", "loss"):
        weights = [checkpoint.load(run.checkpoint("last"))[part] for run in (one, other)]
        torch.testing.assert_close(weights[0], weights[1], atol=2e-5, rtol=1e-4)
    for column in ("loss", "gradient_norm"):
        told = [[record[column] for record in run.metrics("stepped")] for run in (one, other)]
        assert told[0] == pytest.approx(told[1], rel=1e-4)
    kept = [lab.core.arrays.read(run.batches()[3]) for run in (one, other)]
    assert np.array_equal(kept[0]["items"], kept[1]["items"]) and len(kept[0]["items"]) == 20


def test_two_processes_of_which_one_dies_are_one(tmp_path):
    """torchrun starts both anew; they go on from the last checkpoint."""
    one = alone(GIVEN, tmp_path)
    (tmp_path / "dying.py").write_text(textwrap.dedent(DYING))
    (tmp_path / "given.yaml").write_text(yaml.safe_dump(GIVEN))
    words = [
        "--nproc-per-node=2",
        "lab",
        "train",
        "--config",
        str(tmp_path / "given.yaml"),
        "--runs",
        str(tmp_path),
    ]
    launcher = [sys.executable, str(tmp_path / "dying.py"), *ELASTIC]
    done = subprocess.run([*launcher, *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    (made,) = set(tmp_path.glob("*/config.yaml")) - {one.path / "config.yaml"}
    both = lab.runs.open(made.parent.name, tmp_path)
    assert_same(one, both)
    assert "Resumed after step 2." in [record["sentence"] for record in both.metrics("note")]
