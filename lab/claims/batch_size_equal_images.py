"""000, figure 4 right again, with as many images for every batch size: small batches take more steps."""

from lab.claims._axes import arms
from lab.claims._study import Study
from lab.claims.batch_size import CLAIMS, LOSSES, SIZES

IMAGES = 128 * 150
"""What a training of the head tier sees by default."""

STUDY = Study(
    turn=22,
    title="Batch size at an equal number of images",
    source="RS@k, figure 4 right",
    points=tuple(
        point
        for name, loss in LOSSES.items()
        for size in SIZES
        for point in arms(
            {name: loss}, {"batch size": size}, sampler={"batch_size": size}, training={"steps": IMAGES // size}
        )
    ),
    lrs=(1e-3, 3e-3),
    column="r@1",
    claims=CLAIMS,
    remark="Every training sees 19,200 images: 600 steps of 32, or 18 of 1,024.",
)
