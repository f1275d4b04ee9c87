"""Which device a name means: the one place that takes a GPU by itself, and only for `auto`."""

from __future__ import annotations

import torch


def device_of(name: str | torch.device) -> torch.device:
    """The device of a name: cpu, cuda, cuda:1; or auto, a GPU when there is one.

    Raises:
        ValueError: there is no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(
            f"training: device must be auto, cpu, cuda or cuda:N, got {name!r}."
        ) from None
    if device.type == "cuda" and (
        not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()
    ):
        raise ValueError(
            f"There is no device {name} here ({torch.cuda.device_count()} GPUs); use the device cpu."
        )
    return device


def device_or_cpu(name: str) -> str:
    """The device of a name, or the CPU where this machine has no such GPU."""
    try:
        return str(device_of(name))
    except ValueError:
        return "cpu"
