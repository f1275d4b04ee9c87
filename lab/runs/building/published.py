"""A model folder as the Hugging Face Hub keeps them, read as a run: what `lab export --to huggingface` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.core import arrays
from lab.core.explain import explain
from lab.core.files import check_allowed, check_fits

if TYPE_CHECKING:
    from lab.runs.folder import Run

HUB = "hf://"
"""How an address on the Hub begins: hf://OWNER/NAME, or hf://OWNER/NAME@REVISION."""

HEAD = "head.safetensors"
"""The weights of an embedding head that timm has no place for, beside timm's own in `model.safetensors`."""

NEEDED = ("*.json", "*.yaml", "*.safetensors")
"""What is fetched: no code."""


def fetched(address: str) -> Path:
    """The folder of a model on the Hub, fetched into the Hub's own cache, or found there without a network.

    Raises:
        ValueError: it cannot be had, or is not one of Rankscope's.
    """
    import huggingface_hub

    check_allowed()
    name, _, revision = address.removeprefix(HUB).partition("@")
    try:
        folder = huggingface_hub.snapshot_download(
            name, revision=revision or None, allow_patterns=list(NEEDED)
        )
    except Exception as error:  # the Hub's library raises a dozen unrelated kinds
        why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(
            f"The model {address} could not be fetched from the Hub and is not in its cache on this machine: {why}. "
            "The address is hf://OWNER/NAME, and a private model needs `hf auth login`."
        ) from None
    if not (Path(folder) / "config.yaml").is_file():
        raise ValueError(
            f"{address} is no model that `lab export --to huggingface` wrote: it holds no config.yaml."
        )
    return Path(folder)


def state_of(run: Run) -> dict[str, Any]:
    """The weights of a published folder, as a checkpoint holds them.

    Raises:
        ValueError: a file is damaged or was not written by Rankscope.
    """
    try:
        about = run.read("config.json")["rankscope"]
        layout, weights = about.get("layout") or {}, _tensors(run.file("model.safetensors"))
        head = _tensors(run.file(HEAD)) if (run.path / HEAD).is_file() else {}
        prefix = layout.get("prefix", "")  # timm's names are those of the backbone
        named = {prefix + name: value for name, value in weights.items()}
        return {"encoder": {**named, **head}, "loss": {}, "progress": {"step": about["step"]}}
    except (OSError, ValueError) as error:
        why = explain(error).rstrip(".")
        raise ValueError(f"{run.path} is no whole model folder of Rankscope: {why}.") from None


def _tensors(path: Path) -> dict[str, Any]:
    """Name to tensor in a safetensors file.

    Raises:
        ValueError: it is damaged, or is not there.
    """
    with arrays.opened(path, "pt") as file:
        check_fits(path, arrays.bytes_of(file, file.keys()))
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
