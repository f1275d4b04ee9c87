#!/usr/bin/env bash
# Check the GPU paths against the CPU ones and measure them, in one call of some ten minutes. Needs an NVIDIA GPU and a
# torch that sees it.
#   tests/gpu/check.sh [FILE]      FILE: where the measurements go, as JSON (default gpu-bench.json)
# A step that fails does not stop the others. In the end come a table to paste and what failed; the exit status is 1 then.
set -uo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)}
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
target=${1:-gpu-bench.json}
"$python" - <<'PY'
import sys
try:
    import torch
except ImportError:
    sys.exit("tests/gpu/check.sh needs torch: run `make .venv/.ready-dev`, or set PYTHON to a Python that has it.")
if not torch.cuda.is_available():
    sys.exit("tests/gpu/check.sh needs an NVIDIA GPU that torch can use; this machine has none, so nothing was checked.")
print(f"Checking on {torch.cuda.get_device_name()}, torch {torch.__version__}.", file=sys.stderr)
PY
[ $? -eq 0 ] || exit 1

failed=()
step() {  # name, command
    local name=$1 start=$SECONDS
    shift
    echo "== $name"
    "$@" || failed+=("$name")
    echo "== $name: $((SECONDS - start)) s"
}

rm -f "$target"
step "Triton kernels against plain loops" "$python" -m pytest tests/gpu/triton_checks.py -q -p no:cacheprovider
step "losses, two passes and search against the CPU" "$python" -m pytest tests/gpu/gpu_checks.py -q -p no:cacheprovider
step "measurements" "$python" tests/gpu/gpu_bench.py "$target"

if [ ${#failed[@]} -gt 0 ]; then
    printf 'Failed: %s.\n' "${failed[@]}" >&2
    exit 1
fi
echo "Everything was checked and measured."
