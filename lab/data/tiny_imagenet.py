"""Tiny ImageNet: 200 classes of ImageNet at 64 x 64 pixels, 500 of each for training and 50 for testing."""

from __future__ import annotations

from collections.abc import Iterator

from lab.data._lists import rows
from lab.data._published import ClosedSet


class TinyImageNet(ClosedSet):
    """Tiny ImageNet (Stanford's course CS231n); tests on the classes it trains on, as in CAM.

    Its 10,000 validation images are the test split here: its own 10,000 test images have no labels. CAM (section 4.1)
    speaks of 25,000 validation and 25,000 test images, which the set does not have.
    """

    folder = "tiny-imagenet-200"
    needs = ("wnids.txt", "words.txt", "train", "val/val_annotations.txt")
    get = (
        "Get tiny-imagenet-200.zip from the pages of Stanford's course CS231n and unpack it, so that "
        "tiny-imagenet-200/wnids.txt lies below the folder you name."
    )
    counts = {"train": ((200, 100_000),), "test": ((200, 10_000),)}

    def _images(self) -> Iterator[tuple[str, ...]]:
        wnids = [name.strip() for (name,) in rows(self.root / "wnids.txt", 1)]
        words = dict(rows(self.root / "words.txt", 2))
        # Two synsets may share their words: the synset keeps class names apart.
        names = {wnid: f"{words.get(wnid, wnid).split(',')[0].strip()} ({wnid})" for wnid in wnids}
        has_images = False
        for wnid in wnids:
            for path in sorted(self.root.glob(f"train/{wnid}/images/*.JPEG")):
                has_images = True
                yield path.relative_to(self.root).as_posix(), names[wnid], "train"
        if not has_images:
            raise ValueError(f"{self.root / 'train'} holds no CLASS/images/*.JPEG. {self.get}")
        annotations = self.root / "val" / "val_annotations.txt"
        for image, wnid, *_ in rows(annotations, 6):
            if wnid not in names:
                raise ValueError(
                    f"{annotations}: {image} has the class {wnid}, which wnids.txt does not list."
                )
            yield f"val/images/{image}", names[wnid], "test"
