"""Two processes on the CPU under torchrun: their step is the step of one, ragged shares included."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
import yaml

import lab.runs
from lab.runs import RunConfig
from lab.runs.execute import execute
from lab.training import checkpoint

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


def torchrun(*words, timeout=240):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
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


def test_a_run_of_two_processes_is_that_of_one(tmp_path):
    given = {
        "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
        "augmentation": {"size": 16},
        "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
        "sampler": {"name": "m_per_class", "batch_size": 20},
        "loss": {"name": "proxy_anchor"},
        "optimiser": {"name": "sgd", "lr": 0.01},
        "training": {"steps": 3, "validate_every": 3, "device": "cpu"},
    }
    config = RunConfig.of(given)
    alone = lab.runs.create(config, tmp_path, "alone")
    list(execute(alone))
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(given))
    torchrun("-m", "lab", "train", "--config", str(tmp_path / "c.yaml"), "--runs", str(tmp_path), "--name", "both")
    both = lab.runs.open("both", tmp_path)
    frames = [lab.runs.folder.tensors(run.path / "frames" / "step_00000003.safetensors") for run in (alone, both)]
    np.testing.assert_allclose(frames[0]["vectors"], frames[1]["vectors"], atol=1e-5)
    np.testing.assert_array_equal(frames[0]["items"], frames[1]["items"])
    assert both.state == "finished"
    one, two = (checkpoint.load(r.checkpoint("last")) for r in (alone, both))
    for part in ("encoder", "loss"):
        for name, value in one[part].items():
            assert torch.allclose(value.float(), two[part][name].float(), atol=1e-5), name
    losses = [[r["loss"] for r in run.metrics("stepped")] for run in (alone, both)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    from lab.runs.folder import tensors

    kept = [tensors(run.batches()[3]) for run in (alone, both)]
    assert np.array_equal(kept[0]["items"], kept[1]["items"]) and len(kept[0]["items"]) == 20
