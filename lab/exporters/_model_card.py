"""The model card of an exported run: description, scores, data, licences and how to use it."""

from typing import Any

from lab.exporters._program import Program
from lab.exporters.torch import Torch
from lab.runs.folder import Run

WITH_TRANSFORMERS = """With transformers (the folder brings its own code, `modeling_rankscope.py`, which needs {needs}):

```python
import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModel

processor = AutoImageProcessor.from_pretrained("{place}")
model = AutoModel.from_pretrained("{place}", trust_remote_code=True)
pictures = [Image.open(name).convert("RGB") for name in ["a.png", "b.png"]]
with torch.no_grad():
    vectors = model(**processor(pictures, return_tensors="pt")).pooler_output
```

"""

WITH_TIMM = """With timm, the backbone alone:

```python
import timm
import torch
from PIL import Image

model = timm.create_model("{source}:{place}", pretrained=True).eval()
prepare = timm.data.create_transform(**timm.data.resolve_model_data_config(model))
pictures = [Image.open(name).convert("RGB") for name in ["a.png", "b.png"]]
with torch.no_grad():
    features = model(torch.stack([prepare(picture) for picture in pictures]))
```

"""

CUSTOM = """The weights in `model.safetensors` are those of a module of its owner's making, whose names there begin with
`model.`. Without that module, `encoder.pt2` runs the encoder:

```python
{lines}```

"""

WITH = """With Rankscope:

```python
import lab

model = lab.load("{address}"{own}, gallery=["a.png", "b.png"])
vectors = model.embed(["a.png", "b.png"])
found = model.search("a.png", k=2)
```
"""


def card(
    run: Run,
    program: Program,
    layout: dict[str, Any] | None,
    scores: dict[str, Any],
    licence: str,
    place: str,
) -> tuple[dict[str, Any], str]:
    """Return the card's metadata for the Hub, and its text.

    Args:
        layout: settings by which the folder's code builds the encoder; None for an encoder from outside.
        scores: scores by split, see `scores_of`.
        place: OWNER/NAME or a path, from which the folder is loaded.
    """
    data = _name(run.config.data)
    sections = [
        *_description(run, program),
        "## Scores",
        *(_scores(split, split_scores) for split, split_scores in scores.items()),
    ]
    if not scores:
        sections.append("This run has not been evaluated.")

    images = run.dataset()
    image_licence = images.licence or "not known to Rankscope; ask whoever published them"
    sections += [
        "## Data",
        f"`{data}`: {len(images):,} images of {len(images.class_names):,} classes. Licence of the images: "
        f"{image_licence}.",
        "## Licence of the weights",
        f"`{licence}`" if licence else "None was given, so nobody but their owner may use them.",
        "## How to use it",
        _usage(program, layout, place),
    ]
    return _metadata(run, layout, scores, licence), "\n\n".join(sections)


def _name(choice: Any) -> str:
    """Return the name of an entry, or the name that its owner gave to an external object."""
    if choice.outside:
        return str(choice.values.get("what") or choice.name)
    return choice.name


def _description(run: Run, program: Program) -> list[str]:
    """Return the title and the paragraphs that say what the encoder is."""
    config = run.config
    about = program.about
    size = about["size"]
    unit = ", of unit length" if config.encoder.values.get("normalise", True) else ""
    return [
        f"# {run.name}",
        f"An image encoder for retrieval: `{_name(config.encoder)}` trained with the loss `{_name(config.loss)}` on "
        f"`{_name(config.data)}`. It maps a picture of {size} x {size} pixels to a vector of {about['dim']} numbers"
        f"{unit}; pictures of one class lie close.",
        f"Weights: the {about['checkpoint']} checkpoint, of step {about['step']:,} of {config.training.knobs.steps:,}. "
        "`config.yaml` holds every setting of the training.",
    ]


def _metadata(
    run: Run, layout: dict[str, Any] | None, scores: dict[str, Any], licence: str
) -> dict[str, Any]:
    """Return the metadata at the top of the card, as the Hub reads them."""
    if layout is None:
        library = "rankscope"
    elif "stages" in layout:
        library = "transformers"
    else:
        library = "timm"
    metadata: dict[str, Any] = {"library_name": library, "pipeline_tag": "image-feature-extraction"}
    if licence:
        metadata["license"] = licence
    metadata["tags"] = ["image-retrieval", "metric-learning", "rankscope", _name(run.config.loss)]

    data = _name(run.config.data)
    results = []
    for split, split_scores in scores.items():
        metrics = []
        for column, (value, _) in split_scores["values"].items():
            if value is not None:
                metrics.append({"type": column, "name": column, "value": value})
        results.append(
            {
                "task": {"type": "image-feature-extraction", "name": "Image retrieval"},
                "dataset": {"type": data, "name": data, "split": split},
                "metrics": metrics,
            }
        )
    if results:
        metadata["model-index"] = [{"name": run.name, "results": results}]
    return metadata


def _usage(program: Program, layout: dict[str, Any] | None, place: str) -> str:
    """Return the lines of code that embed two files, for each library that opens the folder."""
    local = place == "."
    address = place if local else f"hf://{place}"
    ours = WITH.format(address=address, own=", encoder=module" if layout is None else "")
    if layout is None:
        opened = Torch.opened.replace("FILE", "encoder.pt2")
        return CUSTOM.format(lines=program.geometry.lines(opened, Torch.imports, raw=False)) + ours
    needs = "torch" if "stages" in layout else "torch and timm"
    text = WITH_TRANSFORMERS.format(place=place, needs=needs)
    if "stages" not in layout:
        text += WITH_TIMM.format(place=place, source="local-dir" if local else "hf-hub")
    return text + ours


def _scores(split: str, scores: dict[str, Any]) -> str:
    rows = []
    for column, (value, half) in scores["values"].items():
        mean = "-" if value is None else f"{100 * value:.1f}"
        interval = "-" if half is None else f"± {100 * half:.1f}"
        rows.append(f"| {column} | {mean} | {interval} |")
    heading = (
        f"Split `{split}`: {scores['queries']:,} queries of {scores['classes']:,} classes, {scores['origin']}. "
        "In percent, with half of the 95 % interval over these classes: how far other classes of the same kind would "
        "move the mean. Training again with another seed is not in it."
    )
    return "\n".join([heading, "", "| score | mean | 95 % interval |", "|---|---:|---:|", *rows])
