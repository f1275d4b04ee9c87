"""000, figure 4 right again, with as many images for every batch size: small batches take more steps."""

from dataclasses import replace

from lab.claims import batch_size

STUDY = replace(
    batch_size.STUDY,
    turn=22,
    title="Batch size at an equal number of images",
    points=batch_size.points(lambda size: {"training": {"steps": 128 * 150 // size}}),  # as the head tier by default
    remark="Every training sees 19,200 images: 600 steps of 32, or 18 of 1,024.",
)
