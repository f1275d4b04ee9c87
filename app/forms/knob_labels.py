"""Labels and order of the parameters in the form, and a sentence for every section.

A parameter that is not named here has the label of the figures (`lab.core.knobs.labels`) and comes after the others.
"""

from collections.abc import Sequence

from lab.core.knobs import Knob, labels

TITLES = {
    "data": (
        "Data set",
        "Which images are used, and which classes are kept for validation and testing.",
    ),
    "augmentation": (
        "Training images",
        "How images are cropped, flipped and coloured at random while training.",
    ),
    "testing": (
        "Test images",
        "How images are shown to the network when it is validated and tested.",
    ),
    "encoder": ("Encoder", "The network that turns an image into an embedding."),
    "loss": ("Loss", "What training minimises."),
    "wrappers": (
        "Added to the loss",
        "A memory of former batches, mixed images, or a regulariser; usually none.",
    ),
    "sampler": ("Sampler", "Which images make up a batch."),
    "optimiser": ("Optimiser", "How the weights follow the gradient."),
    "schedule": ("Learning rate schedule", "How the learning rate changes over the training."),
    "training": ("Training", "How long to train, where, and how often to validate and save."),
    "metrics": ("Metrics", "What is measured on each validation and at the end."),
    "evaluation": (
        "Evaluation",
        "Which checkpoint is measured, and how its images are embedded and searched.",
    ),
}
"""Section to its heading and description."""

FIRST = {
    "data": ("root", "path", "test", "validation"),
    "augmentation": ("size", "crop", "flip"),
    "testing": ("size", "resize", "squash"),
    "encoder": ("dim", "pooling", "backbone", "pretrained", "width"),
    "sampler": ("batch_size", "per_class", "short_classes"),
    "optimiser": ("lr", "weight_decay", "anchors_lr"),
    "schedule": ("warmup", "gamma", "floor"),
    "training": ("steps", "validate_every", "device", "chunk", "precision", "seed"),
    "evaluation": ("checkpoint", "splits", "rerank"),
}
"""Section to its most important parameters, in their order."""

LABELS = {
    "root": "Folder of the images",
    "path": "Table of the images",
    "test": "Classes kept for testing",
    "validation": "Classes kept for validation",
    "split_seed": "Seed of the split",
    "fold": "Fold that validates",
    "shots": "Training images per class",
    "shot_seed": "Seed that picks these images",
    "corrections": "Table of corrections",
    "augmentation.size": "Image size",
    "testing.size": "Image size",
    "scale_low": "Smallest crop",
    "scale_high": "Largest crop",
    "ratio_low": "Narrowest crop",
    "ratio_high": "Widest crop",
    "augmentation.flip": "Chance of a flip",
    "evaluation.flip": "Average with the mirrored image",
    "rotate": "Rotation",
    "translate": "Shift",
    "squash": "Stretch",
    "dim": "Embedding size",
    "layer_norm_affine": "Learn layer norm's scale",
    "unit_features": "Features of unit length",
    "normalise": "Embeddings of unit length",
    "freeze_batchnorm": "Freeze batch norm statistics",
    "freeze_affine": "Freeze batch norm weights",
    "frozen_blocks": "Frozen blocks",
    "lora": "Rank of LoRA",
    "pretrained": "Start from ImageNet",
    "image_size": "Size the network is made for",
    "evaluation.batch_size": "Images embedded at once",
    "per_class": "Images per class",
    "short_classes": "Classes with too few images",
    "variant": "Formula",
    "include_self": "Count the query as its own neighbour",
    "lr": "Learning rate",
    "anchors_lr": "Learning rate of anchors",
    "head_lr": "Learning rate of the head",
    "projector_lr": "Learning rate of the projector",
    "projector_width": "Width of the projector",
    "pooling_lr": "Learning rate of pooling",
    "warmup": "Warm-up",
    "floor": "Learning rate at the end, as a factor",
    "chunk": "Images embedded at once",
    "graph_memory": "Memory for stored graphs",
    "stream": "Load one chunk at a time",
    "chunk_batchnorm": "Batch norm with chunks",
    "precision": "Number format",
    "clip": "Largest gradient norm",
    "workers": "Loading processes",
    "validate_every": "Validate every",
    "checkpoint_every": "Save every",
    "select_by": "Best checkpoint by",
    "keep_batches": "Batches stored to inspect",
    "keep_frames": "Validations stored to look at",
    "rerank": "Re-ranking",
    "rerank_k": "Neighbours for re-ranking",
    "evaluation.k": "Neighbours kept",
    "tau": "Temperature",
    "tau1": "Temperature of ranks",
    "tau2": "Temperature of similarities",
    "loss.k": "Ranks k",
    "pos_margin": "Margin of positive pairs",
    "neg_margin": "Margin of negative pairs",
}
"""Parameter to its label, or `section.parameter` if several sections have a parameter of that name."""


def label(section: str, knob: Knob) -> str:
    """Return the label of a parameter in the form, with its unit.

    Example:
        >>> from lab.core.knobs import describe
        >>> from lab.runs import SECTIONS
        >>> knobs = {knob.name: knob for knob in describe(SECTIONS["training"].knobs_of())}
        >>> label("training", knobs["validate_every"]), label("training", knobs["steps"])
        ('Validate every (steps)', 'Steps')
    """
    words = (
        LABELS.get(f"{section}.{knob.name}") or LABELS.get(knob.name) or labels.name_in_words(knob)
    )
    if knob.unit and knob.unit != knob.name.replace("_", " "):
        words += f" ({knob.unit})"
    return words


def ordered(section: str, knobs: Sequence[Knob]) -> list[Knob]:
    """Return the parameters of a section, the most important first."""
    first = FIRST.get(section, ())
    by_name = {knob.name: knob for knob in knobs}
    important = [by_name.pop(name) for name in first if name in by_name]
    return [*important, *by_name.values()]
