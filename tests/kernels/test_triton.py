"""The Triton path without a GPU: its kernels interpreted on the CPU, and compiled for GPUs that are not there."""

from __future__ import annotations

import importlib.metadata
import json
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
import json, sys, warnings
warnings.simplefilter("ignore")
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from lab.kernels.cuda import triton_mixed as _mixed
from lab.kernels.cuda import triton_tiles as _triton

places, sizes = ("query_of", "item_of", "first_pair"), ("pairs", "q", "r", "d", "part", "parts")
small = ("first", "second", "edges", "ranked_edges")
numbers = ("margin", "scale", "delta", "rho", "after", "start", "peak")
options = {"ROWS": _triton.ROWS, "SUB": _mixed.SUB, "DEPTH": _triton.DEPTH, "PRECISION": "tf32x3", "OWED": False}

def kind(name):
    if name.isupper():
        return "constexpr"
    if name in small:
        return "*i32"
    return "*i64" if name in places else "i32" if name in sizes else "fp32" if name in numbers else "*fp32"

def shared(kernel, capability):
    signature = {name: kind(name) for name in kernel.arg_names}
    constants = {name: options.get(name, True) for name in kernel.arg_names if name.isupper()}
    source = ASTSource(kernel, signature, constants)
    target = GPUTarget("cuda", capability, 32)
    warps = _mixed.WARPS if "mixed" in kernel.__name__ else _triton.WARPS
    return triton.compile(source, target=target, options={"num_warps": warps}).metadata.shared

wanted = json.loads(sys.argv[1])
kernels = {name: getattr(_mixed if "mixed" in name else _triton, name) for name in wanted}
print(json.dumps({name: {one: shared(kernels[name], int(one)) for one in wanted[name]} for name in wanted}))
"""

KERNELS = (
    "listed_similarities", "add_values", "add_gradients",
    "mixed_pair_similarities", "add_mixed_values", "add_mixed_gradients",
)  # fmt: skip
CAPABILITIES = {"80": 163 << 10, "90": 227 << 10}
"""What an A100 and an H100 or H200 have of shared memory, in bytes, by their capability."""
TARGETS = {kernel: ["80"] for kernel in KERNELS} | {"add_mixed_gradients": ["80", "90"]}
"""For what each is compiled: the smaller one, and the kernel that takes most for both."""


@needs_triton
def test_kernels_give_what_the_plain_loops_give():
    checks = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "tests/gpu/triton_checks.py",
    ]
    done = subprocess.run(
        checks,
        cwd=ROOT,
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout[-4000:]


@pytest.fixture(scope="module")
def shared() -> dict[str, dict[str, int]]:
    """Bytes of shared memory by kernel and capability, with every option on; one process compiles them all."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, json.dumps(TARGETS)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@needs_triton
def test_kernels_compile_and_fit_into_shared_memory(shared):
    for kernel, capabilities in TARGETS.items():
        for capability in capabilities:
            assert 0 < shared[kernel][capability] <= CAPABILITIES[capability], kernel
