"""`training.device: cpu` holds for everything that a run does, on a machine whose GPU belongs to somebody else."""

import numpy as np
import pytest

import lab.reranking
import lab.runs
import lab.search
from lab.__main__ import main
from lab.evaluation.collection import Collection
from lab.evaluation.comparison import reranked
from lab.evaluation.two_stage import Anchors, InvertedGallery
from lab.kernels.devices import device_or_cpu
from lab.maps import of_run
from lab.runs.building.parts import parts_of


@pytest.fixture
def somebodys_gpu(monkeypatch):
    """A GPU is there, as torch says it; whoever takes it fails, since there is none."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    # torch's own
    monkeypatch.setattr(
        "torch.optim.Optimizer._accelerator_graph_capture_health_check", lambda self: None
    )
    monkeypatch.setattr("faiss.get_num_gpus", lambda: 1, raising=False)


@pytest.fixture
def made(tiny, tmp_path):
    tiny["evaluation"] = {"rerank": "contextual"}
    tiny["training"]["device"] = "cpu"
    return lab.runs.create(lab.runs.RunConfig.of(tiny), tmp_path, "one")


def test_a_run_on_the_cpu_and_its_pages_never_ask_for_the_gpu(somebodys_gpu, made):
    for _ in lab.runs.execute(made):
        pass
    assert main(["evaluate", str(made.path), "--evaluation.rerank", "k_reciprocal", "--quiet"]) == 0
    assert main(["query", str(made.path), str(made.dataset().path(0)), "--k", "2"]) == 0
    assert not parts_of(made.config).loader.pin_memory
    query = made.embeddings("test")
    whole = Collection(
        made.dataset(), query, query, device=device_or_cpu(made.config.training.knobs.device)
    )
    assert whole.device == "cpu"
    whole.ask(int(query.items[0]))
    whole.measure()
    reranked("contextual", whole)
    InvertedGallery(whole, Anchors.means(query)).prepare()
    assert of_run.sheet(made, "test").nearest_right.dtype == np.int8
