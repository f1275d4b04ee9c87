"""A model folder as the Hugging Face Hub keeps them, with a model card; sent there only if asked to."""

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
    """A folder with `README.md` (the card: scores with intervals, data, licence, how to use), `model.safetensors`,
    `config.json`, `preprocessor_config.json`, and `modeling_rankscope.py`, by which `AutoModel.from_pretrained(folder,
    trust_remote_code=True)` of transformers opens it. On a backbone of timm the weights have timm's names, and
    `timm.create_model("local-dir:FOLDER", pretrained=True)` opens it, too. `lab.load(FOLDER)` embeds and searches with
    it, and so does every command that takes a run. For an encoder of your own, whose code is not ours, there is
    `encoder.pt2` instead, which torch.export opens.

    `push` sends the folder to the Hub, where a new repository is private; look at the licences first.

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
        "Licence of the weights, as the Hub names it, for instance apache-2.0; empty: none.", default=""
    )
    push: str = knob("Also send the folder to the Hub, as OWNER/NAME; empty: to nobody.", default="")

    def export(self, run: Run, path: Path | str | None = None, encoder: nn.Module | str | None = None) -> Path:
        """As every exporter does, and sends the folder where `push` says.

        Raises:
            ValueError: as for every exporter; or the folder is written and could not be sent.
        """
        if (address := self.knobs.push) and not ADDRESS.fullmatch(address):
            raise ValueError(f"push is OWNER/NAME, a place on the Hugging Face Hub; got {address!r}.")
        path = super().export(run, path, encoder)
        if address:
            self._send(path, address)
        return path

    def _send(self, folder: Path, address: str) -> None:
        import huggingface_hub

        try:
            huggingface_hub.create_repo(address, private=True, exist_ok=True)
            huggingface_hub.upload_folder(repo_id=address, folder_path=folder)
        except Exception as error:  # the Hub's library raises a dozen unrelated kinds
            why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise ValueError(
                f"{folder} is written, but could not be sent to {address}: {why}. Log in by `hf auth login`, then: "
                f"hf upload {address} {folder}."
            ) from None

    def write(self, run: Run, path: Path) -> None:
        program = self.program(run)
        encoder, config = program.encoder, published(run)
        layout = layout_of(encoder)
        for_timm = write_weights(path, encoder, layout, program.geometry)
        about = {**program.about, "layout": layout, "versions": run.meta.get("versions", {})}
        prepared = program.geometry.as_processor(encoder)
        known = {"model_type": "rankscope", "rankscope": json.loads(json.dumps(about))}
        if layout is not None:
            names = {"AutoConfig": "RankscopeConfig", "AutoModel": "RankscopeModel"}
            known |= {"auto_map": {auto: f"modeling_rankscope.{name}" for auto, name in names.items()}}
            known |= {"architectures": ["RankscopeModel"]}
            known |= {"image_processor_type": prepared["image_processor_type"]}  # beside timm's keys it is sought here
            (path / "modeling_rankscope.py").write_text(modeling(), encoding="utf-8")
        else:
            Torch().save(program, path / "encoder.pt2")
        write_json(path / "config.json", {**for_timm, **known})
        write_json(path / "preprocessor_config.json", prepared)
        (path / "config.yaml").write_text(config.as_yaml(), encoding="utf-8")
        head, text = card(run, program, layout, scores_of(run), self.knobs.license, self.knobs.push or ".")
        head_text = yaml_reader.dump(head, allow_unicode=True)
        (path / "README.md").write_text(f"---\n{head_text}---\n\n{text}", encoding="utf-8")


def published(run: Run) -> RunConfig:
    """The run's configuration for others: it builds the encoder as it is used, on any machine, and names no folder of
    this one."""
    config = run.config
    if (pooling := config.evaluation.knobs.pooling) != "trained":
        config = config.changed("encoder.pooling", pooling).changed("evaluation.pooling", "trained")
    if "lora" in config.encoder.values:
        config = config.changed("encoder.lora", None)  # it has been added to the weights
    for path in ("training.device", "evaluation.search"):  # class anchors, which two stages need, stay here
        section, _, name = path.partition(".")
        config = config.changed(path, type(getattr(config, section).knobs).model_fields[name].default)
    return RunConfig.of(_without_folders(config.as_dict()), stored=True)


def _without_folders(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_folders(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(one) for one in value]
    return Path(value).name if isinstance(value, str) and (Path(value).is_absolute() or value[:1] == "~") else value


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
            estimate = None if measured is None else mean_over_classes(measured, labels)
            fits = estimate is not None and value is not None and np.isclose(estimate.mean, value, atol=1e-6)
            values[column] = (value, estimate.half if fits and estimate is not None else None)
        counts = {"queries": scores.get("queries", len(labels)), "classes": len(np.unique(labels[labelled(labels)]))}
        by_split[split] = {"origin": run.origin(split, "scores").words, **counts, "values": values}
    return by_split
