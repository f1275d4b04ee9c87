"""Golden vectors: inputs, values and gradients measured from released code and from transcriptions of the papers."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parent.parent / "golden"


def cases(folder):
    return sorted(path.stem for path in (ROOT / folder).glob("*.npz"))


class Golden:
    """One file; `hp` are its hyper-parameters."""

    def __init__(self, folder, case):
        with np.load(ROOT / folder / f"{case}.npz") as data:
            self.data = {name: data[name] for name in data.files}
        self.hp = json.loads(str(self.data["hp_json"]))

    def __contains__(self, name):
        return name in self.data and np.isfinite(self.data[name]).all()

    def number(self, name):
        return float(self.data[name])

    def tensor(self, name, dtype=torch.float64):
        value = torch.from_numpy(self.data[name])
        return value.to(dtype) if value.is_floating_point() else value

    def input(self, dtype=torch.float64):
        return self.tensor("embeddings", dtype).requires_grad_(), self.tensor("labels")


def tangent(gradient, rows):
    """The part of a gradient that unit rows can follow; the rest only changes their length."""
    rows = rows.detach() / rows.detach().norm(dim=1, keepdim=True)
    return gradient - (gradient * rows).sum(1, keepdim=True) * rows


def assert_value(got, wanted, dtype=torch.float64):
    """1e-9 relative in float64, 2e-6 in float32; a loss that is zero up to rounding is compared absolutely."""
    close = {"rel": 1e-9, "abs": 1e-14} if dtype == torch.float64 else {"rel": 2e-6, "abs": 2e-8}
    assert got.item() == pytest.approx(wanted, **close)


def assert_gradient(got, wanted, rows=None, dtype=torch.float64):
    """1e-8 in float64; on the sphere's tangent when the rows are given."""
    if rows is not None:
        got, wanted = tangent(got, rows), tangent(wanted.to(got), rows)
    bound = 1e-8 if dtype == torch.float64 else 5e-6 * max(1.0, float(wanted.abs().max()))
    assert float((got - wanted).abs().max()) <= bound
