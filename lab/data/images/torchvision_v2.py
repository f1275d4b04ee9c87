"""The transforms of torchvision, imported without torch's compiler, which takes longer than they."""

from lab.core.late import without_compiler

with without_compiler():
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional

__all__ = ["functional", "v2"]
