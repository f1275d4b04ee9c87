"""The validation list of Tolias, Jenicek and Chum (2020): photographs of buildings, by which RS@k was validated."""

from __future__ import annotations

from pathlib import Path

from lab.data._revisited import RevisitedSet


class Sfm120kValidation(RevisitedSet):
    """retrieval-SfM-120k-val-eccv2020: queries among photographs of 3D models that no training sees.

    What matches a query, by three to ten points in common as their code says, counts as easy; so `mAP-E` of
    `revisited_map` is their mAP. `lab papers protocol revisited --protocol.validation FOLDER` measures a run on it. How
    many images it has is not printed, so `lab.data.check` counts nothing.
    """

    folder = "retrieval-SfM-120k"
    ground_truth = "retrieval-SfM-120k-val-eccv2020.json"
    needs = (ground_truth, "ims")
    get = (
        "Get the photographs of retrieval-SfM-120k as the code of Radenovic et al. (cnnimageretrieval) does and "
        "retrieval-SfM-120k-val-eccv2020.pkl as that of Tolias et al. (HOW). Put the photographs in "
        "retrieval-SfM-120k/ims/, convert the list once with `python scripts/convert_revisited.py "
        "retrieval-SfM-120k-val-eccv2020.pkl`, and put the JSON file in retrieval-SfM-120k/."
    )
    counts = {}

    def path(self, i: int) -> Path:
        """Return the file of the i-th image; the last six letters of its name say in which folders it is."""
        kind, _, name = self.keys[i].partition("/")
        if kind == "distractors":
            return super().path(i)
        name = name.removesuffix(".jpg")
        return self.root / "ims" / name[-2:] / name[-4:-2] / name[-6:-4] / name
