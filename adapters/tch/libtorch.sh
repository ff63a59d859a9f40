#!/usr/bin/env bash
# Brings a CPU libtorch that fits the tch in Cargo.lock, and runs a command with it:
#
#   adapters/tch/libtorch.sh cargo test --workspace    # run one command
#   eval "$(adapters/tch/libtorch.sh)"                 # or set up this shell
#   adapters/tch/libtorch.sh --python python3 …        # one command, whose Python finds torch, too
#
# An existing LIBTORCH, or LIBTORCH_USE_PYTORCH=1, is respected. Otherwise the CPU half of the `torch` wheel goes from
# the Python package index into the user's cache, once: about 530 MB to download and 490 MB on disk for torch 2.13.
# TORCH_VERSION=2.9.0 brings the oldest one that the adapter supports (for tch 0.22). What Python needs of torch 2.13
# comes along (90 MB on disk): its CPU half, for tests (see `stubs.py`).
set -euo pipefail

die() { printf 'libtorch.sh: %s\n' "$*" >&2; exit 1; }
say() { printf 'libtorch.sh: %s\n' "$*" >&2; }

version=${TORCH_VERSION:-2.13.0}
here=$(cd "$(dirname "$0")" && pwd)
with_python=
if [ "${1:-}" = --python ]; then
  with_python=yes
  shift
fi
# The wheel is for one version of Python; without a Python the libraries are the same.
python=$(python3 -c 'import sys; print("3.%d" % sys.version_info[1])' 2>/dev/null) || python=3.11
case $python in 3.1[0-4]) ;; *) python=3.11 ;; esac

download() { # download FOLDER
  # The CUDA runtime that the CPU half is linked with, too; no driver and no GPU is needed.
  local cuda
  case $version in
    2.9.0) cuda=(nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.8.90) ;;
    2.13.0) cuda=(nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85) ;;
    *) die "no recipe for torch $version: \`pip install torch==$version\` and set LIBTORCH_USE_PYTORCH=1" ;;
  esac
  [ "$(uname -sm)" = "Linux x86_64" ] || die "no recipe for $(uname -sm): \`pip install torch==$version\` and set LIBTORCH_USE_PYTORCH=1"
  python3 -m pip --version >/dev/null 2>&1 || die "needs python3 with pip (Debian, Ubuntu: apt-get install python3-pip)"
  mkdir -p "$(dirname "$1")"
  part=$(mktemp -d "$1.XXXXXX")
  wheels=$part/wheels
  trap 'rm -rf "$part"' EXIT
  say "downloading torch $version (about 530 MB for 2.13, 900 MB for 2.9) into $1"
  python3 -m pip download --no-deps --no-cache-dir --only-binary=:all: --disable-pip-version-check \
    --python-version "$python" --implementation cp --abi "cp${python/./}" --abi abi3 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --dest "$wheels" "torch==$version" "${cuda[@]}" >&2
  python3 - "$wheels" "$part/libtorch" "python-$python" <<'PYTHON'
import pathlib, shutil, sys, zipfile

wheels, target, python = map(pathlib.Path, sys.argv[1:])
PYTHON = {"libtorch_python.so", "libshm.so", "libtorch_global_deps.so", "libc10_cuda.so", "torch_shm_manager"}
TORCH = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"}

def place(name):
    """Where a file of a wheel goes in a libtorch folder, if it is needed."""
    path = pathlib.PurePosixPath(name)
    if name.startswith("torch/include/"):
        return path.relative_to("torch")
    if path.parent == pathlib.PurePosixPath("torch/lib") and path.name in TORCH:
        return pathlib.PurePosixPath("lib", path.name)
    if name.startswith("nvidia/") and path.name.startswith(("libcudart.so.", "libcupti.so.")):
        return pathlib.PurePosixPath("lib", path.name)
    if name.startswith(("torch/lib/", "torch/bin/")) and path.name in PYTHON:
        return python / path
    if name.startswith(("torch", "functorch")) and not name.startswith(("torch/lib/", "torch/bin/", "torch/share/")):
        return python / path

for wheel in wheels.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            where = None if entry.is_dir() else place(entry.filename)
            if where:
                out = target / where
                out.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, open(out, "wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                out.chmod(0o755 if out.parent.name == "bin" else 0o644)
for library in (target / "lib").iterdir():
    (target / python / "torch/lib" / library.name).symlink_to(f"../../../lib/{library.name}")
PYTHON
  if [ "$version" = 2.13.0 ]; then
    python3 "$here/stubs.py" "$part/libtorch/python-$python/torch/lib"
  else
    rm -r "$part/libtorch/python-$python"
  fi
  # torch-sys links `torch` and `gomp`; without libtorch_cuda.so it links the CPU parts only.
  ln -s libtorch_cpu.so "$part/libtorch/lib/libtorch.so"
  ln -s libgomp.so.1 "$part/libtorch/lib/libgomp.so"
  echo "$version" >"$part/libtorch/build-version" # torch-sys checks it
  # Another run may have been faster; its folder is as good. An older folder only lacks what Python needs.
  if has_version "$1"; then
    has_python "$1" || mv -T "$part/libtorch/python-$python" "$1/python-$python" || has_python "$1"
  else
    { rm -rf "$1" && mv -T "$part/libtorch" "$1"; } || has_version "$1"
  fi
  rm -rf "$part"
  trap - EXIT
}

has_version() { # has_version FOLDER
  [ "$(cat "$1/build-version" 2>/dev/null)" = "$version" ]
}

has_python() { # has_python FOLDER
  [ -d "$1/python-$python/torch" ]
}

if [ -n "${LIBTORCH_USE_PYTORCH+set}" ]; then
  lib=$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent / "lib")') ||
    die "LIBTORCH_USE_PYTORCH is set, but python3 cannot import torch"
  exports=()
elif [ -n "${LIBTORCH:-}" ]; then
  lib=${LIBTORCH_LIB:-$LIBTORCH}/lib
  [ -d "$lib" ] || die "LIBTORCH is set, but there is no folder $lib"
  [ -z "${TORCH_VERSION:-}" ] || has_version "$LIBTORCH" ||
    die "TORCH_VERSION=$version, but LIBTORCH is set to $LIBTORCH: unset one of them"
  exports=()
else
  LIBTORCH=${XDG_CACHE_HOME:-$HOME/.cache}/dlbridge/libtorch-$version
  has_version "$LIBTORCH" && { [ -z "$with_python" ] || has_python "$LIBTORCH"; } || download "$LIBTORCH"
  lib=$LIBTORCH/lib
  exports=("LIBTORCH=$LIBTORCH")
fi
if [ -n "$with_python" ] && [ -n "${LIBTORCH:-}" ]; then
  # A libtorch of the user's own may come with a torch of the user's own.
  if has_python "$LIBTORCH"; then
    exports+=("PYTHONPATH=$LIBTORCH/python-$python${PYTHONPATH:+:$PYTHONPATH}")
  else
    python3 -c 'import torch' 2>/dev/null || die "LIBTORCH is set, but python3 cannot import torch: install it, or unset LIBTORCH"
  fi
fi
exports+=("LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")

if [ $# -gt 0 ]; then
  exec env "${exports[@]}" "$@"
fi
printf 'export %q\n' "${exports[@]}"
