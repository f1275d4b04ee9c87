"""Revisited Paris: 70 queries among 6,322 photographs of landmarks, judged easy, hard or junk."""

from __future__ import annotations

from lab.data._revisited import RevisitedSet


class RevisitedParis(RevisitedSet):
    """Revisited Paris (Radenovic et al., 2018), for `revisited_map` at its protocols easy, medium and hard."""

    folder = "rparis6k"
    ground_truth = "gnd_rparis6k.json"
    needs = ("gnd_rparis6k.json", "jpg")
    get = (
        "Get paris_1.tgz and paris_2.tgz from the Paris Buildings page of the Visual Geometry Group, and "
        "gnd_rparis6k.pkl from the Revisiting Oxford and Paris page. Put the photographs in rparis6k/jpg/, convert the "
        "ground truth once with `python scripts/convert_revisited.py gnd_rparis6k.pkl`, and put gnd_rparis6k.json in "
        "rparis6k/."
    )
    counts = {"query": ((None, 70),), "gallery": ((None, 6_322),)}
