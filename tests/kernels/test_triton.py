"""The Triton path without a GPU: its kernels interpreted on the CPU, and compiled for GPUs that are not there."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]

DECLARED = any(
    r.name == "triton" and (r.marker is None or r.marker.evaluate({"extra": ""}))
    for r in map(Requirement, importlib.metadata.requires("torch") or [])
)
"""Whether this build of torch brings Triton, as those for Linux with CUDA do. Elsewhere there is nothing to test."""

needs_triton = pytest.mark.skipif(not DECLARED, reason="this build of torch comes without Triton")

COMPILE = """
import sys, warnings
warnings.simplefilter("ignore")
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from lab.kernels.ranks import triton_tiles as _triton

kernel, capability = getattr(_triton, sys.argv[1]), int(sys.argv[2])
places, sizes = ("query_of", "item_of", "first_pair"), ("pairs", "q", "r", "d", "part", "parts")
numbers = ("margin", "scale", "delta", "rho", "after", "start", "peak")
options = {"ROWS": _triton.ROWS, "DEPTH": _triton.DEPTH, "PRECISION": "tf32x3"}

def kind(name):
    if name.isupper():
        return "constexpr"
    return "*i64" if name in places else "i32" if name in sizes else "fp32" if name in numbers else "*fp32"

signature = {name: kind(name) for name in kernel.arg_names}
constants = {name: options.get(name, True) for name in kernel.arg_names if name.isupper()}
source = ASTSource(kernel, signature, constants)
made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": _triton.WARPS})
print(made.metadata.shared)
"""


@needs_triton
def test_kernels_give_what_the_plain_loops_give():
    checks = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/gpu/triton_checks.py"]
    done = subprocess.run(
        checks, cwd=ROOT, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout[-4000:]


@needs_triton
@pytest.mark.parametrize("kernel", ["own_similarities", "add_values", "add_gradients"])
@pytest.mark.parametrize("capability, most", [(80, 163 << 10), (90, 227 << 10)], ids=["sm_80", "sm_90"])
def test_kernels_compile_and_fit_into_shared_memory(kernel, capability, most):
    """With every option on, for what an A100 and an H100 or H200 have."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, kernel, str(capability)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert 0 < int(done.stdout) <= most
