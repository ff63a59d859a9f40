#!/usr/bin/env bash
# Builds the example's module and runs `demo.py` with it. Arguments are passed to cargo, to build more packages.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${DLBRIDGE_PYTHON:-}" ] ||
  exec "$root/adapters/tch/libtorch.sh" --python "$root/interop-tests/python/setup.sh" "$root/examples/python/run.sh" "$@"

[ $# -gt 0 ] || set -- --package dlbridge-example-python --features extension-module
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$root"
cargo build --locked --lib "$@"
cp "${CARGO_TARGET_DIR:-target}/debug/libtwo_models.so" "$scratch/two_models.abi3.so"
PYTHONPATH=$scratch${PYTHONPATH:+:$PYTHONPATH} "$DLBRIDGE_PYTHON" examples/python/demo.py
