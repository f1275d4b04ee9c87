"""Knobs of the training loop and of the evaluation after it. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import model_validator

import lab.core.knobs
from lab.core.knobs import MOST_ITEMS, knob


class TrainingKnobs(lab.core.knobs.Knobs):
    """Duration, memory, device and checkpoints of a training."""

    steps: int = knob(
        "Training steps; 0 measures the network as it is.",
        default=400,
        ge=0,
        le=100_000_000,
        scale="log",
        unit="steps",
    )
    seed: int = knob(
        "Random seed of weights, batches, crops and every other random draw.", default=0, ge=0
    )
    chunk: int | None = knob(
        "Images that are embedded at once; a larger batch takes two passes. By default the whole batch.",
        default=None,
        ge=1,
        le=MOST_ITEMS,
        scale="log",
        unit="images",
        source="RS@k, section 4.2",
    )
    stream: bool = knob(
        "Load a batch chunk by chunk, once for each pass, instead of keeping it in memory; needs chunk.",
        default=False,
        source="RS@k, section 4.2",
    )
    graph_memory: float | None = knob(
        "Memory for autograd graphs of chunks that are kept instead of being recomputed; by default half of "
        "the free memory.",
        default=None,
        ge=0,
        unit="GB",
    )
    chunk_batchnorm: Literal["refuse", "per_chunk"] = knob(
        "Batch normalisation in training mode with chunks: refuse it, or take its statistics over each chunk.",
        default="refuse",
    )
    processes_batchnorm: Literal["shared", "refuse"] = knob(
        "Batch normalisation in training mode when several processes share a batch: take its statistics over all "
        "of them, or refuse it. With chunks chunk_batchnorm decides.",
        default="shared",
    )
    whitening: int | None = knob(
        "Number of training images whose whitening initialises the last layer; by default it starts at random.",
        default=None,
        ge=2,
        le=MOST_ITEMS,
        scale="log",
        unit="images",
        source="RS@k, section 4.2",
    )
    precision: Literal["auto", "float32", "bfloat16", "float16"] = knob(
        "Precision of the encoder (autocast). auto is bfloat16 where this machine computes with it natively and else "
        "float32; it is chosen when the run is made, and kept wherever the run goes on. float16 needs a GPU.",
        default="float32",
    )
    clip: float | None = knob(
        "Maximum norm of the gradient (clipping).", default=None, gt=0, scale="log"
    )
    device: str = knob(
        "Device to train on: cpu, cuda, cuda:1, or auto for a GPU if there is one.", default="auto"
    )
    workers: int | None = knob(
        "Number of processes that load images in advance. By default what suits the machine, where processes can be "
        "forked: up to 8 beside a GPU; on a processor none for images in memory, and one for each four cores, up to 4, "
        "for images in files. Elsewhere none.",
        default=None,
        ge=0,
        le=128,
    )
    validate_every: int = knob(
        "Steps between validations.", default=100, ge=1, le=100_000_000, scale="log", unit="steps"
    )
    checkpoint_every: int = knob(
        "Steps between checkpoints.", default=100, ge=1, le=100_000_000, scale="log", unit="steps"
    )
    select_by: str = knob(
        "Score on the validation classes by which the best checkpoint is chosen.", default="MAP@R"
    )
    keep_batches: int = knob(
        "Number of recent training batches that are kept for the Inspect page.",
        default=4,
        ge=0,
        le=10_000,
    )
    keep_frames: int = knob(
        "Number of validations, spread over the training, whose embeddings are kept to look at each.",
        default=20,
        ge=0,
        le=10_000,
    )

    @model_validator(mode="before")
    @classmethod
    def _of_version_0_2(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Drop knobs of version 0.2 that no longer exist: decoding, and weights divided among processes.

        Raises:
            ValueError: class weights are to be divided among processes.
        """
        kept = {
            name: value
            for name, value in values.items()
            if name not in ("decode", "encoder_weights")
        }
        if kept.get("class_weights") == "sharded":
            raise ValueError(
                "class_weights sharded is no choice any more, since each process holds the weights of all classes; "
                "leave class_weights out"
            )
        if kept.get("class_weights") == "whole":
            del kept["class_weights"]
        if kept.get("processes_batchnorm") == "frozen":
            kept["processes_batchnorm"] = "refuse"
        return kept


class EvaluationKnobs(lab.core.knobs.Knobs):
    """How images are embedded and searched once a model is trained."""

    checkpoint: Literal["best", "last"] = knob(
        "Checkpoint to evaluate: the best on the validation classes, or the last.", default="best"
    )
    flip: bool = knob(
        "Average the embeddings of an image and its mirror image.",
        default=False,
        source="DML deck, tricks",
    )
    beta: float = knob(
        "Weight beta of beta-normalisation, e/|e| + beta e; above 0 the search is Euclidean.",
        default=0.0,
        ge=0,
        le=100,
        source="DML deck, tricks",
    )
    pooling: Literal["trained", "avg", "max", "mixed"] = knob(
        "Pooling when images are embedded: as in training, or another one (mixed inference).",
        default="trained",
        source="DML deck, tricks",
    )
    scales: tuple[float, ...] = knob(
        "Factors by which an image is resized; its embeddings are averaged.",
        default=(1.0,),
        gt=0,
        le=8,
        source="RS@k, section 4.3",
    )
    search: Literal["exact", "two_stage"] = knob(
        "Compare each query with every image, or with those of its nearest class anchor alone; the latter needs a "
        "loss with anchors.",
        default="exact",
        source="CAM, section 3 and table 2",
    )
    rerank: str = knob(
        "Re-rank each ranking by the neighbours of the neighbours before it is measured.",
        default="none",
        catalog="lab.reranking",
        source="DML deck, tricks; Contextual, appendix I.5",
    )
    rerank_k: int | None = knob(
        "Number of neighbours for re-ranking; by default that of the method.",
        default=None,
        ge=2,
        le=MOST_ITEMS,
        scale="log",
    )
    distractors: bool = knob(
        "Count gallery images without a class as wrong answers; otherwise they are left out of every ranking that is "
        "measured.",
        default=False,
    )
    splits: tuple[Literal["train", "validation", "test"], ...] = knob(
        "Splits to embed and measure after training, if the data has them; train shows how well the training "
        "classes are learnt.",
        default=("validation", "test"),
    )
    k: int = knob(
        "Number of neighbours that are kept for each query.",
        default=100,
        ge=1,
        le=MOST_ITEMS,
        scale="log",
    )
    batch_size: int = knob(
        "Number of images that are embedded at once.",
        default=256,
        ge=1,
        le=16_384,
        scale="log",
        unit="images",
    )
