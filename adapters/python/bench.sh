#!/usr/bin/env bash
# Builds the wheel for speed, and measures it against numpy and tvm-ffi in one run.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${DLBRIDGE_PYTHON:-}" ] ||
  exec "$root/adapters/tch/libtorch.sh" --python "$root/interop-tests/python/setup.sh" "$root/adapters/python/bench.sh" "$@"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$root/adapters/python/install.sh" wheel "$scratch"
PYTHONPATH=$scratch/site${PYTHONPATH:+:$PYTHONPATH} "$DLBRIDGE_PYTHON" "$root/adapters/python/bench.py" "$@"
