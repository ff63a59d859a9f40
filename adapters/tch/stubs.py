"""Makes `import torch` work on the CPU half of torch's CUDA wheel: empty libraries for what only the GPU half needs.

    python3 adapters/tch/stubs.py FOLDER

FOLDER has `libtorch_python.so` and the libraries of the CPU half. A new library, `libtorch_cuda.so`, defines every
symbol that nothing in the folder defines, as a function that does nothing, a type description, or zeros. This is for
tests only: nothing on a GPU works with it, and it fails without a helpful message.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HEAD = """\
extern void *_ZTVN10__cxxabiv117__class_type_infoE[];
static char zeros[65536];
static void *nothing(void) { return zeros; }
static void *const info[] = {_ZTVN10__cxxabiv117__class_type_infoE + 2, "4Stub"};
static void *table[64] = {0, (void *)info, [2 ... 63] = (void *)nothing};
"""


def main(folder):
    wanted = symbols(folder / "libtorch_python.so", "--undefined-only") - system(folder / "libtorch_python.so")
    for library in folder.glob("*.so*"):
        wanted -= symbols(library, "--defined-only")
    wanted = sorted(name for name in wanted if not re.match("_?Py", name))
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "stubs.c")
        source.write_text(HEAD + "\n".join(map(stub, wanted, plain(wanted))) + "\n")
        compile(folder / "libtorch_cuda.so", source, "-lstdc++")
        empty = pathlib.Path(scratch, "empty.c")
        empty.write_text("")
        # `libtorch.so` does nothing but name its two halves.
        halves = [folder / "libtorch_cpu.so", folder / "libtorch_cuda.so"]
        compile(folder / "libtorch.so", empty, "-Wl,--no-as-needed", *halves)
        for name in needed(folder / "libtorch_python.so"):
            if re.match("lib(cudnn|cufile|nccl)", name):
                version = pathlib.Path(scratch, "version")
                version.write_text(f"{name} {{ }};\n")
                compile(folder / name, empty, f"-Wl,--version-script={version}")


def stub(name, readable):
    """The C definition of a symbol of C++."""
    if name.startswith("_ZTI"):
        return f'void *const {name}[4] = {{_ZTVN10__cxxabiv117__class_type_infoE + 2, "{name[4:]}"}};'
    if re.search("C[12]E", name):  # A constructor: its object gets a table of methods that do nothing.
        return f"void *{name}(void **self) {{ *self = table + 2; return zeros; }}"
    if "(" in readable:
        return f"void *{name}(void) {{ return zeros; }}"
    return f"char {name}[512];"


def symbols(library, which):
    """The names that a library defines, or those that it needs."""
    lines = map(str.split, output("nm", "-D", which, library).splitlines())
    return {line[-1].split("@")[0] for line in lines if len(line) > 1 and line[-2] not in "wv"}


def system(library):
    """The names that the libraries of the system define: C and C++."""
    paths = re.findall(r"=> (/\S+)", output("ldd", library))
    mine = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so")
    return set().union(*(symbols(path, "--defined-only") for path in paths if mine.match(pathlib.Path(path).name)))


def needed(library):
    return re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "--dynamic", library))


def plain(names):
    return output("c++filt", stdin="\n".join(names)).splitlines()


def compile(library, *arguments):
    cc = os.environ.get("CC", "cc")
    command = [cc, "-shared", "-fPIC", "-w", f"-Wl,-soname,{library.name}", "-o", library, *arguments]
    subprocess.run(command, check=True)


def output(*command, stdin=""):
    return subprocess.run(command, check=True, input=stdin, stdout=subprocess.PIPE, text=True).stdout


main(pathlib.Path(sys.argv[1]))
