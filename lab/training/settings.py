"""What the loop and the evaluation after it can be told. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import model_validator

import lab.core.knobs
from lab.core.knobs import knob


class TrainingKnobs(lab.core.knobs.Knobs):
    """How long, how carefully and on what a run trains."""

    steps: int = knob(400, "Training steps.", ge=1, le=100_000_000, scale="log", unit="steps")
    seed: int = knob(0, "Random seed of weights, batches, crops and every other random draw.", ge=0)
    chunk: int | None = knob(
        None,
        "Images that are embedded at once; a larger batch takes two passes. By default the whole batch.",
        ge=1,
        scale="log",
        unit="images",
        source="RS@k, section 4.2",
    )
    stream: bool = knob(
        False,
        "Load a batch chunk by chunk, once for each pass, instead of keeping it in memory; needs chunk.",
        source="RS@k, section 4.2",
    )
    graph_memory: float | None = knob(
        None,
        "Memory for autograd graphs of chunks that are kept instead of being recomputed; by default half of "
        "the free memory.",
        ge=0,
        unit="GB",
    )
    chunk_batchnorm: Literal["refuse", "per_chunk"] = knob(
        "refuse", "Batch normalisation in training mode with chunks: refuse it, or take its statistics over each chunk."
    )
    processes_batchnorm: Literal["shared", "frozen", "refuse"] = knob(
        "shared",
        "Batch normalisation in training mode when several processes share a batch: take its statistics over all "
        "of them, freeze it, or refuse it. With chunks chunk_batchnorm decides.",
    )
    class_weights: Literal["whole", "sharded"] = knob(
        "whole",
        "What several processes hold of the loss's weights of classes (proxies, anchors): each all of them, or each "
        "those of its own classes, for millions of classes.",
        source="An et al. 2021",
    )
    encoder_weights: Literal["whole", "sharded"] = knob(
        "whole",
        "What several processes hold of the encoder's weights, gradients and optimiser state: each all of them, or a "
        "part (FSDP), for encoders that do not fit on one GPU.",
    )
    whitening: int | None = knob(
        None,
        "Number of training images whose whitening initialises the last layer; by default it starts at random.",
        ge=2,
        scale="log",
        unit="images",
        source="RS@k, section 4.2",
    )
    precision: Literal["float32", "bfloat16", "float16"] = knob(
        "float32", "Precision of the encoder (autocast); float16 needs a GPU."
    )
    clip: float | None = knob(None, "Maximum norm of the gradient (clipping).", gt=0, scale="log")
    device: str = knob("auto", "Device to train on: cpu, cuda, cuda:1, or auto for a GPU if there is one.")
    workers: int | None = knob(
        None,
        "Number of processes that load images in advance. By default what suits the machine, where processes can be "
        "forked: up to 8 beside a GPU; on a processor none for images in memory, and one for each four cores, up to 4, "
        "for images in files. Elsewhere none.",
        ge=0,
        le=128,
    )
    validate_every: int = knob(100, "Steps between validations.", ge=1, scale="log", unit="steps")
    checkpoint_every: int = knob(100, "Steps between checkpoints.", ge=1, scale="log", unit="steps")
    select_by: str = knob("MAP@R", "Score on the validation classes by which the best checkpoint is chosen.")
    keep_batches: int = knob(4, "Number of recent training batches that are kept for the Inspect page.", ge=0)
    keep_frames: int = knob(20, "Number of recent validations whose embeddings are kept for maps over time.", ge=0)

    @model_validator(mode="before")
    @classmethod
    def _of_version_0_2(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Runs of 0.2 say what decodes JPEG files, which is no choice any more."""
        return {name: value for name, value in values.items() if name != "decode"}


class EvaluationKnobs(lab.core.knobs.Knobs):
    """How images are embedded and searched once a model is trained."""

    checkpoint: Literal["best", "last"] = knob(
        "best", "Checkpoint to evaluate: the best on the validation classes, or the last."
    )
    flip: bool = knob(False, "Average the embeddings of an image and its mirror image.", source="DML deck, tricks")
    beta: float = knob(
        0.0,
        "Weight beta of beta-normalisation, e/|e| + beta e; above 0 the search is Euclidean.",
        ge=0,
        le=100,
        source="DML deck, tricks",
    )
    pooling: Literal["trained", "avg", "max", "mixed"] = knob(
        "trained",
        "Pooling when images are embedded: as in training, or another one (mixed inference).",
        source="DML deck, tricks",
    )
    scales: tuple[float, ...] = knob(
        (1.0,),
        "Factors by which an image is resized; its embeddings are averaged.",
        gt=0,
        le=8,
        source="RS@k, section 4.3",
    )
    search: Literal["exact", "two_stage"] = knob(
        "exact",
        "Compare each query with every image, or with those of its nearest class anchor alone; the latter needs a "
        "loss with anchors.",
        source="CAM, section 3 and table 2",
    )
    rerank: str = knob(
        "none",
        "Re-rank each ranking by the neighbours of the neighbours before it is measured.",
        catalog="lab.reranking",
        source="DML deck, tricks; Contextual, appendix I.5",
    )
    rerank_k: int | None = knob(
        None, "Number of neighbours for re-ranking; by default that of the method.", ge=2, scale="log"
    )
    splits: tuple[Literal["train", "validation", "test"], ...] = knob(
        ("validation", "test"),
        "Splits to embed and measure after training, if the data has them; train shows how well the training "
        "classes are learnt.",
    )
    k: int = knob(100, "Number of neighbours that are kept for each query.", ge=1, scale="log")
    batch_size: int = knob(256, "Number of images that are embedded at once.", ge=1, scale="log", unit="images")
