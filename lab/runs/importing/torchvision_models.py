"""Weights as torchvision saves them (`torch.save(model.state_dict(), ...)`), by the name of their architecture."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from lab.encoders import read_weights


def names() -> list[str]:
    """The classifiers of torchvision."""
    import torchvision.models

    return torchvision.models.list_models(module=torchvision.models)


def from_file(name: str, weights: str) -> nn.Module:
    """A classifier of torchvision without its last layer: normalised images [n 3 h w] to features [n d].

    Raises:
        ValueError: the file is not there, is no file of plain tensors, or is of another architecture.
    """
    import torchvision.models

    path = Path(weights).expanduser()
    state = read_weights(path)
    model: nn.Module = torchvision.models.get_model(name, weights=None)
    wanted = model.state_dict()
    wrong = [
        key
        for key in dict.fromkeys([*wanted, *state])
        if key not in state or key not in wanted or getattr(state[key], "shape", None) != wanted[key].shape
    ]
    if wrong:
        raise ValueError(
            f"The weights in {path} do not fit {name!r}: {len(wrong)} tensors are missing, foreign or of another "
            f"shape, such as {wrong[0]}."
        )
    model.load_state_dict(state)
    last = [place for place, layer in model.named_modules() if isinstance(layer, nn.Linear)][-1]
    parent, _, attribute = last.rpartition(".")
    setattr(model.get_submodule(parent), attribute, nn.Identity())
    return model
