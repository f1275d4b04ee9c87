"""What `pip install rankscope` alone can do, losses to inspection; the rest is a sentence."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

ALONE = """
import sys
from lab.core.explain import BROUGHT_BY

# As if no extra were installed.
for module in [*BROUGHT_BY, "streamlit", "umap", "matplotlib", "IPython", "ipywidgets"]:
    sys.modules[module] = None
"""

WORKS = """
import numpy as np, torch
import lab
from lab.core.results import Evidence

rows, labels = torch.nn.functional.normalize(torch.randn(48, 16), dim=1), torch.arange(48) // 4
asked_for = []

def attempt(name, work):
    try:
        work()
    except ValueError as error:
        assert "pip install 'rankscope[train]'." in str(error) and str(error).count(".") == 1, error
        asked_for.append(name)

def train(name):
    kind = lab.losses.get(name)
    sizes = {"num_classes": 12, "dim": 16} if issubclass(kind, lab.losses.ClassLoss) else {}
    embeddings = rows.clone().requires_grad_()
    lab.losses.create(name, **sizes)(embeddings, labels).backward()
    assert embeddings.grad.isfinite().all()

for name in lab.losses.names():
    attempt(name, lambda: train(name))
for name in lab.samplers.names():
    lab.samplers.create(name)
images = lab.EmbeddingSet(rows.numpy(), labels.numpy(), np.arange(48))
ranking = lab.search.create("exact", k=10).build(images).rank(images, same_source=True)
for name in lab.metrics.names():
    if name not in ("classifier_accuracy", "nearest_anchor_accuracy"):
        attempt(name, lambda: lab.metrics.create(name)(Evidence(ranking, images, images)))
for name in lab.reranking.names():
    lab.reranking.create(name).rerank(ranking, images, images)
assert lab.evaluate(images).values["r@1"] >= 0
other = lab.EmbeddingSet(np.random.default_rng(0).normal(size=(48, 16)), labels.numpy())
assert lab.compare({"one": images.vectors, "other": other.vectors}, labels).latex()
found = lab.inspect.pair_gradients(lab.losses.create("smooth_ap"), rows, labels)
assert found.summary
attempt("figure", found.figure)
attempt("table", found.to_frame)
print(*asked_for)
"""

OWN = {
    "recall_at_k", "smooth_ap", "sup_ap", "roadmap", "contextual", "class_anchor_margin", "blackbox_ap", "fast_ap",
    "contrastive", "margin", "multi_similarity", "nt_xent", "signal_to_noise_ratio_contrastive", "triplet_margin",
}  # fmt: skip
"""Losses that the lab is about, and some that they are compared with; they must need no extra."""


def alone(program: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", ALONE + program], cwd=ROOT, capture_output=True, text=True
    )


def test_losses_metrics_samplers_and_inspection_need_no_extra():
    done = alone(WORKS)
    assert done.returncode == 0, done.stderr
    asked_for = set(done.stdout.split())
    assert not asked_for & OWN
    assert {"proxy_nca", "soft_triple", "nmi", "ami", "figure", "table"} <= asked_for


def test_a_part_whose_extra_is_missing_says_what_to_type():
    done = alone("""
import lab
for name in ("runs", "train", "load", "model"):
    try:
        getattr(lab, name)
    except ModuleNotFoundError as error:
        print(error)
""")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4 and all(
        line.endswith("not installed: pip install 'rankscope[train]'.") for line in lines
    )


def test_the_command_says_what_to_type():
    for words in (["train"], ["doctor"], ["runs"], ["demo"]):
        done = alone(f"from lab.__main__ import main; sys.exit(main({words}))")
        assert done.returncode, words
        assert (
            "pip install 'rankscope[train]'." in done.stderr and "Traceback" not in done.stderr
        ), done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
