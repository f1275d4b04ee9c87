"""Export to a model folder in the format of the Hugging Face Hub, with a model card; `push` sends it there."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from lab.core import yaml_reader
from lab.core.files import write_json
from lab.core.knobs import knob
from lab.core.results import labelled
from lab.exporters._hub import layout_of, modeling, write_weights
from lab.exporters._model_card import card
from lab.exporters._program import EncoderExporter
from lab.exporters.torch import Torch
from lab.inference.over_classes import mean_over_classes
from lab.runs.config import RunConfig
from lab.runs.folder import Run

ADDRESS = re.compile(r"[\w.-]+/[\w.-]+")


class Huggingface(EncoderExporter):
    """Write a folder for the Hugging Face Hub.

    It holds `README.md` (the card: scores with intervals, data, licence, how to use), `model.safetensors`,
    `config.json`, `preprocessor_config.json`, and `modeling_rankscope.py`. With the latter, transformers opens it:
    `AutoModel.from_pretrained(folder, trust_remote_code=True)`. With a backbone of timm the weights have timm's names,
    and `timm.create_model("local-dir:FOLDER", pretrained=True)` opens it, too. `lab.load(FOLDER)` embeds and searches
    with it, and so does every command that takes a run. For an encoder of your own, whose code Rankscope does not have,
    the folder holds `encoder.pt2` instead, which torch.export opens.

    `push` sends the folder to the Hub, where a new repository is private; check the licences first.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("huggingface", license="apache-2.0").export(run, root / "run-huggingface")
        >>> from huggingface_hub import ModelCard
        >>> ModelCard.load(path / "README.md").data.pipeline_tag
        'image-feature-extraction'
        >>> from PIL import Image
        >>> lab.load(path).embed(Image.new("RGB", (40, 40))).shape
        (1, 128)
    """

    license: str = knob(
        "Licence of the weights, as the Hub names it, for instance apache-2.0; empty: none.",
        default="",
    )
    push: str = knob(
        "Also send the folder to the Hub, as OWNER/NAME; empty: to nobody.", default=""
    )

    def export(
        self, run: Run, path: Path | str | None = None, encoder: nn.Module | str | None = None
    ) -> Path:
        """Write the folder, and send it to the repository `push` if it is given.

        Raises:
            ValueError: see `Exporter.export`; or the folder was written but could not be sent.
        """
        address = self.knobs.push
        if address and not ADDRESS.fullmatch(address):
            raise ValueError(
                f"push is OWNER/NAME, a place on the Hugging Face Hub; got {address!r}."
            )
        path = super().export(run, path, encoder)
        if address:
            self._send(path, address)
        return path

    def _send(self, folder: Path, address: str) -> None:
        import huggingface_hub

        try:
            huggingface_hub.create_repo(address, private=True, exist_ok=True)
            huggingface_hub.upload_folder(repo_id=address, folder_path=folder)
        except Exception as error:  # the Hub's library raises a dozen unrelated types
            lines = str(error).strip().splitlines() or [type(error).__name__]
            reason = lines[0].rstrip(".")
            raise ValueError(
                f"{folder} is written, but could not be sent to {address}: {reason}. Log in by `hf auth login`, then: "
                f"hf upload {address} {folder}."
            ) from None

    def write(self, run: Run, path: Path) -> None:
        program = self.program(run)
        encoder = program.encoder
        layout = layout_of(encoder)
        model_config = write_weights(path, encoder, layout, program.geometry)
        preprocessing = program.geometry.as_processor(encoder)

        # config.json holds timm's entries, those of transformers, and ours.
        about = {**program.about, "layout": layout, "versions": run.meta.get("versions", {})}
        model_config["model_type"] = "rankscope"
        model_config["rankscope"] = json.loads(json.dumps(about))
        if layout is not None:
            model_config["auto_map"] = {
                "AutoConfig": "modeling_rankscope.RankscopeConfig",
                "AutoModel": "modeling_rankscope.RankscopeModel",
            }
            model_config["architectures"] = ["RankscopeModel"]
            # transformers reads it here if config.json has keys of timm
            model_config["image_processor_type"] = preprocessing["image_processor_type"]
            (path / "modeling_rankscope.py").write_text(modeling(), encoding="utf-8")
        else:
            Torch().save(program, path / "encoder.pt2")
        write_json(path / "config.json", model_config)
        write_json(path / "preprocessor_config.json", preprocessing)
        (path / "config.yaml").write_text(published(run).as_yaml(), encoding="utf-8")

        metadata, text = card(
            run, program, layout, scores_of(run), self.knobs.license, self.knobs.push or "."
        )
        head = yaml_reader.dump(metadata, allow_unicode=True)
        (path / "README.md").write_text(f"---\n{head}---\n\n{text}", encoding="utf-8")


def published(run: Run) -> RunConfig:
    """Return the run's configuration for other users: it works on any machine, and names no folder of this machine."""
    config = run.config
    pooling = config.evaluation.knobs.pooling
    if pooling != "trained":
        config = config.changed("encoder.pooling", pooling).changed("evaluation.pooling", "trained")
    if "lora" in config.encoder.values:
        config = config.changed("encoder.lora", None)  # it is merged into the weights
    # a two-stage search needs class anchors, which are not sent
    for path in (
        "training.device",
        "evaluation.search",
    ):
        section, _, name = path.partition(".")
        fields = type(getattr(config, section).knobs).model_fields
        config = config.changed(path, fields[name].default)
    return RunConfig.of(_without_folders(config.as_dict()), stored=True)


def _without_folders(value: Any) -> Any:
    """Return a value with each absolute path in it replaced by its last part."""
    if isinstance(value, dict):
        return {name: _without_folders(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(entry) for entry in value]
    if isinstance(value, str) and (Path(value).is_absolute() or value[:1] == "~"):
        return Path(value).name
    return value


def scores_of(run: Run) -> dict[str, dict[str, Any]]:
    """Return `origin`, `queries`, `classes` and `values` of each evaluated split.

    `values` holds for each column the mean, and half of its interval over the classes of the queries; the latter is
    None if the column is not a mean over queries.
    """
    by_split = {}
    for split in run.splits:
        scores = run.scores(split)
        if scores is None:
            continue
        per_query = run.per_query(split)
        labels = run.embeddings(split).labels
        values = {}
        for column, value in scores["values"].items():
            half = None
            if value is not None and column in per_query:
                estimate = mean_over_classes(per_query[column], labels)
                if estimate is not None and np.isclose(estimate.mean, value, atol=1e-6):
                    half = estimate.half
            values[column] = (value, half)
        by_split[split] = {
            "origin": run.origin(split, "scores").words,
            "queries": scores.get("queries", len(labels)),
            "classes": len(np.unique(labels[labelled(labels)])),
            "values": values,
        }
    return by_split
