#!/usr/bin/env bash
# Check the GPU paths against the CPU ones and measure them, in one call. Needs an NVIDIA GPU and a torch that sees it.
#   tests/gpu/check.sh [FILE]      FILE: where the measurements go, as JSON (default gpu-bench.json)
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)}
"$python" - <<'PY'
import sys
try:
    import torch
except ImportError:
    sys.exit("tests/gpu/check.sh needs torch: run `make .venv/.ready-dev`, or set PYTHON to a Python that has it.")
if not torch.cuda.is_available():
    sys.exit("tests/gpu/check.sh needs an NVIDIA GPU that torch can use; this machine has none, so nothing was checked.")
print(f"Checking on {torch.cuda.get_device_name()}, torch {torch.__version__}.")
PY
"$python" -m pytest tests/gpu/triton_checks.py tests/gpu/gpu_checks.py -q -p no:cacheprovider
"$python" tests/gpu/gpu_bench.py "${1:-gpu-bench.json}"
