#!/usr/bin/env bash
# Builds the wheel, installs it into a temporary folder, and runs the tests of the Python module against real neighbours.
# Arguments go to pytest:
#
#   adapters/python/test.sh -k torch
#
# Brings torch's CPU half and the Python packages that it needs into the user's cache. DLBRIDGE_BLESS=1 rewrites the table
# in NEIGHBOURS.md.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${DLBRIDGE_PYTHON:-}" ] ||
  exec "$root/adapters/tch/libtorch.sh" --python "$root/interop-tests/python/setup.sh" "$root/adapters/python/test.sh" "$@"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$root/adapters/python/install.sh" dev "$scratch"
export PYTHONPATH=$scratch/site${PYTHONPATH:+:$PYTHONPATH}
# No file is left beside the sources, and jax looks for no GPU.
export PYTHONDONTWRITEBYTECODE=1 JAX_PLATFORMS=cpu
cd "$scratch"
# The stubs say what is there; only the native module behind the package has none of its own.
"$DLBRIDGE_PYTHON" -m mypy.stubtest --allowlist <(echo dlbridge.dlbridge) dlbridge
"$DLBRIDGE_PYTHON" -m pytest --quiet -p no:cacheprovider "$root/adapters/python/tests" "$@"
