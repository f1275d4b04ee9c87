"""Which path runs, what is said where one cannot, and that its absence breaks nothing."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from lab import losses
from lab.kernels import force, path, paths, positive_pairs, rank_sums
from lab.surrogates import Sigmoid


def forget():
    return paths.unavailable.cache_clear(), paths.why_not.cache_clear()


@pytest.fixture
def afresh():
    """Ask the machine again, before and after."""
    yield forget()
    forget()


@pytest.fixture
def without(monkeypatch, afresh):
    def hide(name):
        real = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda n, *rest: None if n == name else real(n, *rest)
        )
        forget()

    return hide


def ranked():
    x = torch.nn.functional.normalize(
        torch.randn(300, 8, generator=torch.Generator().manual_seed(0)), dim=1
    )
    labels = torch.arange(300) // 4
    return rank_sums(x, x, positive_pairs(labels, labels, True), Sigmoid(0.1), True)


def test_numba_is_there_and_compiles():
    """It is a declared dependency: where it is missing this fails, rather than that the compiled tests are left out."""
    assert paths.unavailable("compiled") is None and path("cpu") == "compiled"


def test_every_family_finds_its_compiled_loops(monkeypatch):
    """A module that is not there would be taken for a compiler that fails, and the plain path be taken in silence."""
    asked, runs_here = {}, paths.runs_here
    monkeypatch.setattr(paths, "runs_here", lambda part: asked.setdefault(part, runs_here(part)))
    with paths.force("compiled"):
        for name in ("contextual", "fast_ap"):
            losses.create(name)(torch.randn(64, 8), torch.arange(64) // 4)
    assert len(asked) == 2 and all(asked.values()), asked


def test_without_numba_plain_tensors_give_the_same(without):
    expected = ranked()
    without("numba")
    assert path("cpu") == "plain" and paths.unavailable("compiled") == "numba is not installed"
    torch.testing.assert_close(ranked(), expected, rtol=1e-5, atol=1e-5)
    with (
        pytest.raises(ValueError, match="path 'compiled' is not available: numba is not installed"),
        force("compiled"),
    ):
        pass


def test_without_triton_a_gpu_takes_plain_tensors(monkeypatch, without):
    without("triton")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert path("cuda") == "plain" and paths.unavailable("triton") == "triton is not installed"


def test_a_path_is_forced_by_the_environment(monkeypatch):
    monkeypatch.setenv(paths.VARIABLE, "plain")
    assert path("cpu") == path("cuda") == "plain" and paths.forced()
    with force("compiled"):
        assert path("cpu") == "compiled" and path("cuda") == "plain"
    monkeypatch.setenv(paths.VARIABLE, "quick")
    with pytest.raises(
        ValueError, match=r"one of plain, compiled, triton, got 'quick' \(from LAB_KERNELS\)"
    ):
        path("cpu")
