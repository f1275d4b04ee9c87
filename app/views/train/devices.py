"""The devices of this machine and how much memory each has free."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from lab.core.formats import size
from lab.runs.config import RunConfig


@dataclass(frozen=True)
class Device:
    """name: as `training.device` calls it. free, total: bytes."""

    name: str
    free: int
    total: int

    @property
    def words(self) -> str:
        """For a list to choose from."""
        return f"{self.name}, {size(self.free)} of {size(self.total)} free"


def at_hand(config: RunConfig) -> str:
    """The device that a run asks for, or the CPU where this machine has no such GPU."""
    from lab.kernels.devices import device_of

    try:
        return str(device_of(config.training.knobs.device))
    except ValueError:
        return "cpu"


def devices() -> list[Device]:
    """Every GPU, then the CPU."""
    import torch

    all_devices = []
    for index in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(index)
        all_devices.append(Device(f"cuda:{index}", free, total))
    memory = psutil.virtual_memory()
    return [*all_devices, Device("cpu", memory.available, memory.total)]
