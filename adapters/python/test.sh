#!/usr/bin/env bash
# Builds the wheel, installs it into a temporary folder, and runs the tests of the Python module against real neighbours.
# Arguments go to pytest:
#
#   adapters/python/test.sh -k torch
#
# DLBRIDGE_BLESS=1 rewrites the table in NEIGHBOURS.md.
set -euo pipefail
profile=dev
. "$(dirname "$0")/installed.sh"
# No file is left beside the sources, and jax looks for no GPU.
export PYTHONDONTWRITEBYTECODE=1 JAX_PLATFORMS=cpu
cd "$scratch"
"$DLBRIDGE_PYTHON" -m mypy.stubtest dlbridge # The stubs say what is there.
"$DLBRIDGE_PYTHON" -m pytest --quiet -p no:cacheprovider "$root/adapters/python/tests" "$@"
