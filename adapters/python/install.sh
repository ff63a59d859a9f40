#!/usr/bin/env bash
# Builds the wheel with a profile of cargo, and installs it into FOLDER/site: `install.sh PROFILE FOLDER`.
set -euo pipefail
maturin build --quiet --locked --profile "$1" --auditwheel skip --manifest-path "$(dirname "$0")/Cargo.toml" --out "$2/wheels"
env -u PYTHONPATH "$DLBRIDGE_PYTHON" -m pip install --quiet --no-index --no-deps --disable-pip-version-check --root-user-action=ignore \
  --target "$2/site" "$2"/wheels/*.whl
