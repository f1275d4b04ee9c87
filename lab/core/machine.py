"""What this machine is doing now: its processor, memory and GPUs.

Looked at live and kept nowhere: a run's own memory is among its curves, as its trainer records it at every step.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import psutil

from lab.core.formats import size

COLUMNS = "index,name,memory.used,memory.total,utilization.gpu"


@dataclass(frozen=True)
class Gpu:
    """used, total: bytes of its memory, of all processes. busy: per cent, None where the driver does not tell."""

    name: str
    used: int
    total: int
    busy: int | None


def facts() -> list[tuple[str, str, str]]:
    """What goes on now: name, value and explanation of each, for people.

    Takes a tenth of a second, and as long as the driver of a GPU takes to answer.
    """
    memory, cores, waiting = (
        psutil.virtual_memory(),
        psutil.cpu_count() or 1,
        psutil.getloadavg()[0],
    )
    # without a span psutil counts from this thread's last look, and threads change
    busy = psutil.cpu_percent(0.1)
    explained = (
        f"Of all {cores} cores of this machine, by all its processes; {waiting:.1f} processes ran or waited on average "
        "in the last minute"
    )
    in_use = f"{size(memory.total - memory.available)} of {size(memory.total)}"
    facts = [
        ("Processor", f"{busy:.0f} %", explained),
        ("Memory", in_use, "Of this machine, in use"),
    ]
    for at, gpu in enumerate(_gpus()):
        busy_too = "" if gpu.busy is None else f"; {gpu.busy} % busy"
        explained = f"{gpu.name}: memory in use by all processes{busy_too}"
        facts.append((f"GPU {at} memory", f"{size(gpu.used)} of {size(gpu.total)}", explained))
    return facts


def _gpus() -> tuple[Gpu, ...]:
    """The GPUs as their driver tells of them: torch would take some hundred megabytes of each to ask."""
    command = ["nvidia-smi", f"--query-gpu={COLUMNS}", "--format=csv,noheader,nounits"]
    try:
        return gpus_of(
            subprocess.run(command, capture_output=True, text=True, timeout=2, check=True).stdout
        )
    except (OSError, subprocess.SubprocessError):
        return ()


def gpus_of(table: str) -> tuple[Gpu, ...]:
    """The GPUs in what `nvidia-smi` printed; lines that say anything else are passed over.

    Example:
        >>> gpus_of("0, NVIDIA H100, 1024, 81559, 97\\nFailed\\n")
        (Gpu(name='NVIDIA H100', used=1073741824, total=85520809984, busy=97),)
    """
    gpus = []
    for line in table.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == 5 and words[2].isdigit() and words[3].isdigit():
            # the driver counts by 1,048,576 bytes
            used, total = (int(word) << 20 for word in words[2:4])
            gpus.append(Gpu(words[1], used, total, int(words[4]) if words[4].isdigit() else None))
    return tuple(gpus)


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


def devices() -> list[Device]:
    """Every GPU, then the CPU."""
    import torch

    all_devices = []
    for index in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(index)
        all_devices.append(Device(f"cuda:{index}", free, total))
    memory = psutil.virtual_memory()
    return [*all_devices, Device("cpu", memory.available, memory.total)]
