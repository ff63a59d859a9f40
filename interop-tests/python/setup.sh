#!/usr/bin/env bash
# Brings the Python packages that the tests use as partners, and runs a command with them:
#
#   interop-tests/python/setup.sh cargo test -p interop-tests --all-features
#
# They go from the Python package index into the user's cache, once (240 MB to download), beside whatever is installed.
# An existing DLBRIDGE_PYTHON (an interpreter that has them) is respected.
set -euo pipefail

die() { printf 'setup.sh: %s\n' "$*" >&2; exit 1; }

requirements=$(dirname "$0")/requirements.txt
if [ -z "${DLBRIDGE_PYTHON:-}" ]; then
  python3 -m pip --version >/dev/null 2>&1 || die "needs python3 with pip (Debian, Ubuntu: apt-get install python3-pip)"
  abi=$(python3 -c 'import sys, sysconfig; print(f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}")')
  hash=$(sha256sum "$requirements" | cut -c 1-12)
  packages=${XDG_CACHE_HOME:-$HOME/.cache}/dlbridge/python-$abi-$hash
  if [ ! -d "$packages" ]; then
    mkdir -p "$(dirname "$packages")"
    part=$(mktemp -d "$packages.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    env -u PYTHONPATH python3 -m pip install --quiet --no-cache-dir --only-binary=:all: --disable-pip-version-check \
      --root-user-action=ignore --target "$part/packages" --requirement "$requirements" >&2
    # Another run may have been faster; its folder is as good.
    mv -T "$part/packages" "$packages" || [ -d "$packages" ]
    rm -rf "$part"
    trap - EXIT
  fi
  export DLBRIDGE_PYTHON=python3 PYTHONPATH=$packages${PYTHONPATH:+:$PYTHONPATH} PATH=$packages/bin:$PATH
fi
[ $# -gt 0 ] || die "expected a command to run"
exec "$@"
