"""What the loop and the evaluation after it can be told. Imports no torch."""

from __future__ import annotations

from typing import Literal

import lab.core.knobs
from lab.core.knobs import knob


class TrainingKnobs(lab.core.knobs.Knobs):
    """How long, how carefully and on what a run trains."""

    steps: int = knob(400, "training steps", ge=1, le=100_000_000, scale="log", unit="steps")
    seed: int = knob(0, "decides weights, batches, crops and every other random draw", ge=0)
    chunk: int | None = knob(
        None,
        "images embedded at once; a batch larger than that takes two passes. By default the whole batch",
        ge=1,
        scale="log",
        unit="images",
        source="000, section 4.2",
    )
    stream: bool = knob(
        False,
        "load a batch chunk by chunk, once for each pass, instead of holding it; takes chunk",
        source="000, section 4.2",
    )
    graph_memory: float | None = knob(
        None,
        "memory for graphs that are kept instead of being built again; by default half of what is free",
        ge=0,
        unit="GB",
    )
    chunk_batchnorm: Literal["refuse", "per_chunk"] = knob(
        "refuse", "batch normalisation in training mode, under chunks: refuse, or take its statistics over each chunk"
    )
    whitening: int | None = knob(
        None,
        "start the last layer from the whitening of so many training images; by default at random",
        ge=2,
        scale="log",
        unit="images",
        source="000, section 4.2",
    )
    precision: Literal["float32", "bfloat16", "float16"] = knob(
        "float32", "autocast of the encoder; float16 needs a GPU"
    )
    clip: float | None = knob(None, "largest norm of the gradient", gt=0, scale="log")
    device: str = knob("auto", "cpu, cuda, cuda:1, or auto: a GPU when there is one")
    workers: int = knob(0, "processes that decode images ahead", ge=0, le=128)
    validate_every: int = knob(100, "steps between validations", ge=1, scale="log", unit="steps")
    checkpoint_every: int = knob(100, "steps between checkpoints", ge=1, scale="log", unit="steps")
    select_by: str = knob("MAP@R", "column, measured on the validation classes, that says which checkpoint is best")
    keep_batches: int = knob(4, "batches, as the loss saw them, kept for the inspector; the newest stay", ge=0)
    keep_frames: int = knob(20, "validations whose embeddings are kept, for maps over time; the newest stay", ge=0)


class EvaluationKnobs(lab.core.knobs.Knobs):
    """How images are embedded and searched once a model is trained."""

    checkpoint: Literal["best", "last"] = knob("best", "the best on the validation classes, or the last step")
    flip: bool = knob(False, "average the embeddings of an image and its mirror image", source="002, tricks")
    beta: float = knob(
        0.0,
        "beta-normalisation e/|e| + beta e: length counts, too, and the search is then Euclidean",
        ge=0,
        le=100,
        source="002, tricks",
    )
    pooling: Literal["trained", "avg", "max", "mixed"] = knob(
        "trained",
        "how features are pooled when images are embedded: as in training, or otherwise (mixed inference)",
        source="002, tricks",
    )
    scales: tuple[float, ...] = knob(
        (1.0,),
        "factors by which an image is resized; its embeddings are averaged",
        gt=0,
        le=8,
        source="000, section 4.3",
    )
    search: Literal["exact", "two_stage"] = knob(
        "exact",
        "compare each query with every image, or with those of its nearest class anchor alone; the latter needs a "
        "loss with anchors",
        source="003, section 3 and table 2",
    )
    rerank: str = knob(
        "none",
        "order each ranking anew by the neighbours of the neighbours, before it is measured",
        catalog="lab.reranking",
        source="002, tricks; 004, appendix I.5",
    )
    rerank_k: int | None = knob(None, "size of the re-ranker's neighbourhoods; by default its own", ge=2, scale="log")
    splits: tuple[Literal["train", "validation", "test"], ...] = knob(
        ("validation", "test"),
        "what is embedded and measured once a model is trained, as far as the data has it; train tells how well the "
        "training classes are learnt",
    )
    k: int = knob(100, "neighbours kept for each query", ge=1, scale="log")
    batch_size: int = knob(256, "images embedded at once", ge=1, scale="log", unit="images")
