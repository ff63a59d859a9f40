"""dtypes and devices without a tensor (array-API RFC #972), from and to every library."""

import copy
import pickle

import array_api_strict as strict
import dlbridge
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest
import torch
import tvm_ffi

from neighbours import ALL

# What each library calls a type, and DLPack's numbers.
NAMES = {
    "bool": (6, 8, 1), "int8": (0, 8, 1), "int16": (0, 16, 1), "int32": (0, 32, 1), "int64": (0, 64, 1),
    "uint8": (1, 8, 1), "uint16": (1, 16, 1), "uint32": (1, 32, 1), "uint64": (1, 64, 1), "float16": (2, 16, 1),
    "float32": (2, 32, 1), "float64": (2, 64, 1), "bfloat16": (4, 16, 1), "complex64": (5, 64, 1),
    "complex128": (5, 128, 1), "float8_e3m4": (7, 8, 1), "float8_e4m3": (8, 8, 1), "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1), "float8_e4m3fnuz": (11, 8, 1), "float8_e5m2": (12, 8, 1), "float8_e5m2fnuz": (13, 8, 1),
    "float8_e8m0fnu": (14, 8, 1), "float6_e2m3fn": (15, 6, 1), "float6_e3m2fn": (16, 6, 1), "float4_e2m1fn": (17, 4, 1),
}  # fmt: skip


def own(library, name):
    """A library's own dtype by its own spelling, if it has one."""
    if library is pa:
        names = {"bool": "bool8", "float16": "float16"}
        return getattr(pa, names.get(name, name))() if hasattr(pa, names.get(name, name)) else None
    if library is tvm_ffi:
        return None if name.startswith("complex") else tvm_ffi.dtype(name)
    if library is np:
        return np.dtype(getattr(np, name, None) or getattr(ml_dtypes, name))
    if library is ml_dtypes:
        return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else None
    return getattr(library, name, None)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("library", [np, ml_dtypes, torch, jnp, strict, pa, tvm_ffi], ids=lambda library: library.__name__)
def test_every_dtype_of_every_library_goes_out_and_back(library, name):
    given = own(library, name)
    if given is None:
        # The library lacks it: so says `to`, and no other type is put in its place.
        if library is not ml_dtypes:
            with pytest.raises(TypeError, match=name):
                dlbridge.dtype(name).to(library)
        return
    standard = dlbridge.dtype(given)
    assert standard.__dlpack_data_type__() == NAMES[name] and str(standard) == name
    back = standard.to(library)
    assert dlbridge.dtype(back) == standard
    if library is not jnp:  # whose names are scalar types; its dtypes are those of numpy
        assert back == given
    # And on to every other library that has it, and back again.
    for other in ALL:
        try:
            there = standard.to(other.module)
        except TypeError:
            continue
        assert dlbridge.dtype(there).to(library) == back


@pytest.mark.parametrize("scalar", [np.float32, np.bool_, np.int64, ml_dtypes.bfloat16, ml_dtypes.int4, jnp.bfloat16])
def test_scalar_types_name_their_dtype(scalar):
    assert str(dlbridge.dtype(scalar)) == np.dtype(scalar).name


def test_arrays_and_tensors_name_theirs():
    for library in ALL:
        assert str(dlbridge.dtype(library.make(np.ones((2, 2), np.float32)))) == "float32"
        assert str(dlbridge.device(library.make(np.ones((2, 2), np.float32)))) == "cpu"


def test_the_motivating_examples_of_the_rfc():
    assert torch.empty((1, 2), dtype=dlbridge.dtype(np.float16).to(torch)).dtype == torch.float16
    assert np.empty((1, 2), dtype=dlbridge.dtype(torch.float16).to(np)).dtype == np.float16
    # As they stand, both are errors still.
    with pytest.raises(TypeError):
        torch.empty((1, 2), dtype=np.float16)
    with pytest.raises(TypeError):
        np.empty((1, 2), dtype=torch.float16)


def test_whoever_follows_the_rfc_takes_ours_and_gives_us_theirs():
    class Type:
        def __dlpack_data_type__(self):
            return (2, 16, 1)

    class Place:
        def __dlpack_device__(self):
            return (2, 3)

    assert dlbridge.dtype(Type()) == dlbridge.dtype("float16") == dlbridge.from_dlpack(Type())
    assert dlbridge.device(Place()) == dlbridge.device("cuda:3") == dlbridge.from_dlpack(Place())
    assert dlbridge.from_dlpack(dlbridge.dtype("int8")) == dlbridge.dtype("int8")
    assert dlbridge.from_dlpack(dlbridge.device("cuda:1")) == dlbridge.device("cuda:1")
    with pytest.raises(TypeError):
        dlbridge.from_dlpack(Type(), copy=True)
    # tvm-ffi takes both as arguments of its functions.
    echo = tvm_ffi.get_global_func("testing.echo")
    assert echo(dlbridge.dtype("bfloat16")) == tvm_ffi.dtype("bfloat16")
    assert str(echo(dlbridge.device("cuda:1"))) == "cuda:1"


@pytest.mark.parametrize("x", [None, 1, 1.5, [], {}, object(), int, float, list, np, np.ndarray, torch.device("cpu")])
def test_what_is_no_dtype_is_a_type_error(x):
    with pytest.raises(TypeError):
        dlbridge.dtype(x)


@pytest.mark.parametrize("x", ["", "float", "f4", "float32x", "torch.float32", "<f4", "floaty32", "int", "é" * 50])
def test_unknown_names_are_value_errors(x):
    with pytest.raises(ValueError, match="names no dtype"):
        dlbridge.dtype(x)
    with pytest.raises(ValueError, match="names no device"):
        dlbridge.device(x)


@pytest.mark.parametrize("x", [(1, 2), (1, 2, 3, 4), ("a", 1, 1), (256, 8, 1), (0, -1, 1), (0, 8, 2**16)])
def test_tuples_out_of_range_are_refused(x):
    with pytest.raises((ValueError, TypeError)):
        dlbridge.dtype(x)


@pytest.mark.parametrize(
    "x",
    [
        np.dtype(">f4"), np.dtype("O"), np.dtype("S4"), np.dtype("M8[ns]"), np.dtype([("a", "f4")]), np.dtype("longdouble"),
        np.longdouble, np.dtype("clongdouble"), np.str_, torch.quint8, torch.bits8, pa.bool_(), pa.string(),
        pa.timestamp("ns"), pa.decimal128(5), pa.list_(pa.int8()),
    ],
    ids=str,
)  # fmt: skip
def test_what_dlpack_lacks_is_a_buffer_error(x):
    with pytest.raises(BufferError):
        dlbridge.dtype(x)


def test_what_names_itself_without_end_is_a_type_error():
    class Endless:
        dtype = device = property(lambda self: Endless())

    for ask in (dlbridge.dtype, dlbridge.device):
        with pytest.raises(TypeError):
            ask(Endless())


def test_dtypes_behave_as_values():
    one = dlbridge.dtype("float32x4")
    assert (one.code, one.bits, one.lanes, one.itemsize, one.name) == (2, 32, 4, 16, "float32x4")
    assert dlbridge.dtype("float4_e2m1fn").itemsize is None
    assert repr(one) == "dlbridge.dtype('float32x4')" and eval(repr(one)) == one
    assert hash(one) == hash(dlbridge.dtype((2, 32, 4))) and one != dlbridge.dtype("float32") and one != "float32x4"
    assert pickle.loads(pickle.dumps(one)) == one and copy.deepcopy(one) == one
    assert one.to(dlbridge) == one and one.to("tvm_ffi") == tvm_ffi.dtype("float32x4")
    for library in ("no_such_library", 3, None):
        with pytest.raises((TypeError, ImportError)):
            one.to(library)
    for library in (np, "torch", jax, pa, strict):
        with pytest.raises(TypeError, match="float32x4"):
            one.to(library)


DEVICES = {
    "cpu": [torch.device("cpu"), jax.devices("cpu")[0], tvm_ffi.device("cpu"), strict.Device("CPU_DEVICE"), (1, 0)],
    "cuda:1": [torch.device("cuda:1"), torch.device("cuda", 1), tvm_ffi.device("cuda:1"), (2, 1)],
    "cuda:0": [torch.device("cuda"), "cuda", (2, 0)],
    "metal:0": [torch.device("mps"), tvm_ffi.device("metal"), (8, 0)],
    "oneapi:2": [torch.device("xpu:2"), (14, 2)],
    "rocm:1": [tvm_ffi.device("rocm:1"), (10, 1)],
    "vulkan:0": [tvm_ffi.device("vulkan:0"), (7, 0)],
}


@pytest.mark.parametrize("name", DEVICES)
def test_devices_of_every_library(name):
    for given in DEVICES[name]:
        assert str(dlbridge.device(given)) == name
    device = dlbridge.device(name)
    assert pickle.loads(pickle.dumps(device)) == device and eval(repr(device)) == device
    assert hash(device) == hash(dlbridge.device(name)) and device.to("dlbridge") == device
    assert dlbridge.device(device.__dlpack_device__()) == device and (device.type, device.id) == device.__dlpack_device__()


@pytest.mark.parametrize("name", ["cpu", "cuda:0", "cuda:1", "metal:0", "oneapi:2"])
def test_devices_go_to_torch_and_back(name):
    assert dlbridge.device(dlbridge.device(name).to(torch)) == dlbridge.device(name)


def test_devices_go_to_the_others():
    cpu = dlbridge.device("cpu")
    assert cpu.to(np) == "cpu" and cpu.to(jax) == jax.devices("cpu")[0] and cpu.to(strict) == strict.Device("CPU_DEVICE")
    for name in ("cpu", "cuda:1", "rocm:1", "vulkan:0"):
        assert dlbridge.device(dlbridge.device(name).to(tvm_ffi)) == dlbridge.device(name)
    for library, name in [(np, "cuda:0"), (jax, "cuda:0"), (torch, "vulkan:0"), (strict, "cuda:0"), (pa, "cpu")]:
        with pytest.raises(TypeError, match="has no device"):
            dlbridge.device(name).to(library)


@pytest.mark.parametrize("device", [(2, 127), (2, 128), (2, 300), (2, 2**31 - 1), (2, -1), (1, 1), (1, -1), (8, -3)])
@pytest.mark.parametrize("library", [np, torch, jax, tvm_ffi, strict], ids=lambda library: library.__name__)
def test_no_library_gets_another_device_in_its_place(library, device):
    """torch keeps eight bits of an index, and a list of jax's counts negative ones from its end."""
    try:
        made = dlbridge.device(device).to(library)
    except TypeError as error:
        assert "has no device" in str(error)
    else:
        assert dlbridge.device(made).__dlpack_device__() == device


@pytest.mark.parametrize("x", [None, 1, 1.5, [], object(), torch.float32, np.dtype("f4")])
def test_what_is_no_device_is_a_type_error(x):
    with pytest.raises(TypeError):
        dlbridge.device(x)
