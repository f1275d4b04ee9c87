"""Revisited Oxford: 70 queries among 4,993 photographs of landmarks, judged easy, hard or junk."""

from __future__ import annotations

from lab.data._revisited import RevisitedSet


class RevisitedOxford(RevisitedSet):
    """Revisited Oxford (Radenovic et al., 2018), for `revisited_map` at its protocols easy, medium and hard."""

    folder = "roxford5k"
    ground_truth = "gnd_roxford5k.json"
    needs = ("gnd_roxford5k.json", "jpg")
    get = (
        "Get oxbuild_images.tgz from the Oxford Buildings page of the Visual Geometry Group, and gnd_roxford5k.pkl "
        "from the Revisiting Oxford and Paris page. Put the photographs in roxford5k/jpg/, convert the ground truth "
        "once with `python scripts/convert_revisited.py gnd_roxford5k.pkl`, and put gnd_roxford5k.json in roxford5k/."
    )
    counts = {"query": ((None, 70),), "gallery": ((None, 4_993),)}
