"""The model card of an exported run: what it is, how good, made from what, and how to use it."""

from __future__ import annotations

from typing import Any

from lab.runs.folder import Run

WITHOUT = """Without Rankscope, with torch and torchvision:

```python
import torch
from PIL import Image
from torchvision.transforms import v2

program = torch.export.load("encoder.pt2").module()
prepare = v2.Compose([v2.Resize({resize}, antialias=True), v2.CenterCrop({size}), v2.PILToTensor()])
pictures = [Image.open(path).convert("RGB") for path in ["a.png", "b.png"]]
vectors = program(torch.stack([prepare(picture) for picture in pictures]))
```

"""

CUSTOM = """The weights in `model.safetensors` are those of a module of its owner's making, whose names there begin with
`model.`: `module.load_state_dict({name.removeprefix("model."): value for name, value in weights.items()})`.

`preprocessor_config.json` says how pictures are resized, cropped and normalised for it.
"""

WITH = """With Rankscope (`pip install rankscope`):

```python
import json

import lab
from safetensors.torch import load_file

config = json.load(open("config.json"))
encoder = lab.encoders.create(**config["encoder"]).eval()
encoder.load_state_dict(load_file("model.safetensors"))
```

`preprocessor_config.json` says how pictures are resized, cropped and normalised for it.
"""


def card(
    run: Run, about: dict[str, Any], prepared: dict[str, Any], scores: dict[str, Any], licence: str, program: bool
) -> tuple[dict[str, Any], str]:
    """The card's metadata, as the Hub reads them, and its text."""
    config, images = run.config, run.dataset()
    size, sides = about["size"], list(prepared["size"].values())
    resize = sides[0] if len(sides) == 1 else tuple(sides)
    unit = ", of unit length" if config.encoder.values.get("normalise", True) else ""
    loss, encoder, data = (  # an entry's name, or what a person called theirs
        str(choice.values.get("what") or choice.name) if choice.outside else choice.name
        for choice in (config.loss, config.encoder, config.data)
    )
    lines = [
        f"# {run.name}",
        f"An image encoder for retrieval: `{encoder}` trained with the loss `{loss}` on `{data}`. It maps a picture of "
        f"{size} x {size} pixels to a vector of {about['dim']} numbers"
        f"{unit}; pictures of one class lie close.",
        f"Weights: the {about['checkpoint']} checkpoint, of step {about['step']:,} of {config.training.knobs.steps:,}. "
        "`config.json` holds every setting of the training.",
        "## Scores",
        *(_scores(split, split_scores) for split, split_scores in scores.items()),
        *([] if scores else ["This run has not been evaluated."]),
        "## Data",
        f"`{data}`: {len(images):,} images of {len(images.class_names):,} classes. Licence of the images: "
        f"{images.licence or 'not known to Rankscope; ask whoever published them'}.",
        "## Licence of the weights",
        f"`{licence}`" if licence else "None was given, so nobody but their owner may use them.",
        "## How to use it",
        (WITHOUT.format(resize=resize, size=size) if program else "") + (CUSTOM if config.outside else WITH),
    ]
    head: dict[str, Any] = {"library_name": "rankscope", "pipeline_tag": "image-feature-extraction"}
    head |= {"license": licence} if licence else {}
    head["tags"] = ["image-retrieval", "metric-learning", loss]
    results = [
        {
            "task": {"type": "image-feature-extraction", "name": "Image retrieval"},
            "dataset": {"type": data, "name": data, "split": split},
            "metrics": [
                {"type": column, "name": column, "value": value}
                for column, (value, _) in split_scores["values"].items()
                if value is not None
            ],
        }
        for split, split_scores in scores.items()
    ]
    head |= {"model-index": [{"name": run.name, "results": results}]} if results else {}
    return head, "\n\n".join(lines)


def _scores(split: str, scores: dict[str, Any]) -> str:
    rows = []
    for column, (value, half) in scores["values"].items():
        mean, interval = "-" if value is None else f"{100 * value:.1f}", "-" if half is None else f"± {100 * half:.1f}"
        rows.append(f"| {column} | {mean} | {interval} |")
    heading = (
        f"Split `{split}`: {scores['queries']:,} queries of {scores['classes']:,} classes, {scores['origin']}. "
        "In percent, with half of the 95 % interval over these classes: how far other classes of the same kind would "
        "move the mean. Training again with another seed is not in it."
    )
    return "\n".join([heading, "", "| score | mean | 95 % interval |", "|---|---:|---:|", *rows])
