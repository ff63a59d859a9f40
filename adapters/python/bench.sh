#!/usr/bin/env bash
# Builds the wheel for speed, and measures it against numpy and tvm-ffi in one run.
set -euo pipefail
profile=wheel
. "$(dirname "$0")/installed.sh"
"$DLBRIDGE_PYTHON" "$root/adapters/python/bench.py" "$@"
