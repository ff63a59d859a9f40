# Sourced by the scripts beside it. Brings torch's CPU half and the Python packages that they need into the user's cache,
# builds the wheel with cargo's profile `$profile`, and installs it into the folder `$scratch`, for this run alone.
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -n "${DLBRIDGE_PYTHON:-}" ] ||
  exec "$root/adapters/tch/libtorch.sh" --python "$root/interop-tests/python/setup.sh" "$root/adapters/python/$(basename "$0")" "$@"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
maturin build --quiet --locked --profile "$profile" --auditwheel skip --manifest-path "$root/adapters/python/Cargo.toml" \
  --out "$scratch/wheels"
env -u PYTHONPATH "$DLBRIDGE_PYTHON" -m pip install --quiet --no-index --no-deps --disable-pip-version-check --root-user-action=ignore \
  --target "$scratch/site" "$scratch"/wheels/*.whl
export PYTHONPATH=$scratch/site${PYTHONPATH:+:$PYTHONPATH}
