"""A model folder as the Hugging Face Hub keeps them, with a model card. Nothing is sent anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from safetensors.torch import save

from lab.core.estimates import over_groups
from lab.core.files import write_json
from lab.core.knobs import knob
from lab.exporters._model_card import card
from lab.exporters._program import EncoderExporter, Program
from lab.exporters.torch import saved
from lab.runs.building.parts import testing_transform
from lab.runs.folder import Run


class Huggingface(EncoderExporter):
    """A folder with `README.md` (the card: scores with intervals, data, licence, how to use), `model.safetensors`,
    `config.json`, `preprocessor_config.json` and `encoder.pt2`, the same encoder for those without Rankscope.

    `hf upload NAME FOLDER`, of the library huggingface_hub, publishes it; look at the licences first.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("huggingface", license="apache-2.0").export(run, root / "run-huggingface")
        >>> from huggingface_hub import ModelCard
        >>> ModelCard.load(path / "README.md").data.pipeline_tag
        'image-feature-extraction'
    """

    class Knobs(EncoderExporter.Knobs):
        license: str = knob("", "Licence of the weights, as the Hub names it, for instance apache-2.0; empty: none.")
        program: bool = knob(True, "Also write encoder.pt2, which runs without Rankscope.")

    def write(self, run: Run, path: Path) -> None:
        program = self.program(run)
        encoder = program.module.encoder
        weights = {name: value.contiguous().cpu() for name, value in encoder.state_dict().items()}
        (path / "model.safetensors").write_bytes(save(weights, {"format": "pt"}))
        write_json(path / "config.json", _config(run, program))
        prepared = _preprocessing(run, encoder)
        write_json(path / "preprocessor_config.json", prepared)
        if self.knobs.program:
            (path / "encoder.pt2").write_bytes(saved(program))
        head, text = card(run, program.about, prepared, scores_of(run), self.knobs.license, self.knobs.program)
        head_text = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
        (path / "README.md").write_text(f"---\n{head_text}---\n\n{text}", encoding="utf-8")


def scores_of(run: Run) -> dict[str, dict[str, Any]]:
    """Split to `origin`, `queries`, `classes` and `values`: column to mean and half of its interval over the classes of
    the queries (None where a column is no mean over queries)."""
    by_split = {}
    for split in run.splits:
        if (scores := run.scores(split)) is None:
            continue
        per_query, labels = run.per_query(split), run.embeddings(split).labels
        values = {}
        for column, value in scores["values"].items():
            measured = per_query.get(column)
            estimate = None if measured is None else over_groups(measured, labels)
            fits = estimate is not None and value is not None and np.isclose(estimate.mean, value, atol=1e-6)
            values[column] = (value, estimate.half if fits and estimate is not None else None)
        counts = {"queries": scores.get("queries", len(labels)), "classes": len(np.unique(labels))}
        by_split[split] = {"origin": run.origin(split, "scores").words, **counts, "values": values}
    return by_split


def _config(run: Run, program: Program) -> dict[str, Any]:
    values = run.config.encoder.as_dict()
    values |= {key: None if key == "weights" else False for key in ("pretrained", "weights") if key in values}
    if (pooling := run.config.evaluation.knobs.pooling) != "trained":
        values["pooling"] = pooling
    encoder = program.module.encoder
    whose = encoder.model if run.config.outside else encoder
    about = {"model_type": "rankscope", "architectures": [type(whose).__name__], "encoder": values}
    versions = run.meta.get("versions", {})
    return json.loads(json.dumps({**about, **program.about, "versions": versions, "trained_with": run.config_dict}))


def _preprocessing(run: Run, encoder: Any) -> dict[str, Any]:
    """As image processors of transformers are written."""
    transform = testing_transform(run.config, encoder)
    resize, crop = transform.geometry.transforms[:2]
    sides = [int(side) for side in np.atleast_1d(resize.size)]
    return {
        "image_processor_type": "CLIPImageProcessor",
        "do_convert_rgb": True,
        "do_resize": True,
        "size": {"shortest_edge": sides[0]} if len(sides) == 1 else {"height": sides[0], "width": sides[1]},
        "resample": 2,  # bilinear
        "do_center_crop": True,
        "crop_size": {"height": int(crop.size[0]), "width": int(crop.size[1])},
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(encoder.mean),
        "image_std": list(encoder.std),
    }
