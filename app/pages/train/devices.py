"""The devices of this machine and how much memory each has free."""

from __future__ import annotations

from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class Device:
    """name: as `training.device` calls it. free, total: bytes."""

    name: str
    free: int
    total: int

    @property
    def words(self) -> str:
        """For a list to choose from."""
        return f"{self.name}, {self.free / 2**30:.1f} of {self.total / 2**30:.0f} GB free"


def devices() -> list[Device]:
    """Every GPU, then the CPU."""
    import torch

    found = []
    for index in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(index)
        found.append(Device(f"cuda:{index}", free, total))
    memory = psutil.virtual_memory()
    return [*found, Device("cpu", memory.available, memory.total)]
