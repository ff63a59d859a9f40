"""numpy's arrays, which are read without `__dlpack__` where they are as usual: the same tensors, and the same refusals."""

import pickle
import subprocess
import sys
import threading
import weakref

import dlbridge
import ml_dtypes
import numpy as np
import pytest

from conftest import Versioned, managed_in

DTYPES = [*"?bhilqBHILQefdFD"]
LAYOUTS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, :, ::-1],
    "sparse": lambda x: x[:, ::2, 1::3],
    "of one axis": lambda x: x.reshape(-1),
    "of no axes": lambda x: x[1, 2, 3:4].reshape(()),
    "empty": lambda x: x[:, 2:2],
    "of many axes": lambda x: x.reshape((1,) * 30 + x.shape + (1,) * 30),
    "broadcast": lambda x: np.lib.stride_tricks.as_strided(x, (3, 5), (0, x.itemsize)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_layout_as_by_a_capsule(dtype, layout):
    array = LAYOUTS[layout](np.arange(120).reshape(4, 5, 6).astype(dtype))
    ours, plain = dlbridge.from_dlpack(array), dlbridge.from_dlpack(array.__dlpack__(max_version=(1, 0)))
    assert (ours.shape, ours.dtype, ours.device, ours.readonly) == (plain.shape, plain.dtype, plain.device, False)
    assert ours.shape == array.shape and ours.dtype == dlbridge.dtype(array.dtype)
    assert ours.data_ptr == (array.ctypes.data if array.size else 0)
    steps = zip(array.shape, ours.strides, array.strides)
    assert array.size == 0 or all(n == 1 or ours * array.itemsize == own for n, ours, own in steps)
    np.testing.assert_array_equal(ours.numpy(), array)
    assert array.size == 0 or np.shares_memory(ours.numpy(), array)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(4, ">f4"),
        np.zeros(4, "M8[s]"),
        np.zeros(4, "g"),
        np.zeros(4, "S3"),
        np.zeros(4, object),
        np.zeros(4, "f4,i2"),
        np.zeros(4, "f4,i2")["f0"],
        np.lib.stride_tricks.as_strided(np.zeros(4), (3,), (1 << 62,)),
    ],
    ids=["other byte order", "times", "long double", "bytes", "objects", "records", "a field of records", "overflow"],
)
def test_what_cannot_be_shared_is_a_buffer_error(array):
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(array)


def test_what_must_not_be_written_stays_so():
    frozen = np.broadcast_to(np.arange(4.0), (3, 4))
    tensor = dlbridge.from_dlpack(frozen)
    assert tensor.readonly and tensor.strides == (0, 1) and tensor.data_ptr == frozen.ctypes.data
    assert not np.from_dlpack(tensor).flags.writeable
    with pytest.raises(BufferError):
        tensor.__dlpack__()


def test_what_is_unusual_is_asked_by_dlpack():
    noted = np.arange(4, dtype=np.dtype("i4", metadata={"unit": "m"}))
    assert dlbridge.from_dlpack(noted).data_ptr == noted.ctypes.data

    class Own(np.ndarray):
        def __dlpack__(self, **keywords):
            raise ConnectionError

    with pytest.raises(ConnectionError):
        dlbridge.from_dlpack(np.arange(4.0).view(Own))


def test_the_array_lives_as_long_as_its_tensors():
    array = np.arange(6.0)
    watched, tensor = weakref.ref(array), dlbridge.from_dlpack(array)
    array.shape = 2, 3
    assert tensor.shape == (6,) and dlbridge.from_dlpack(array).shape == (2, 3)
    with pytest.raises(ValueError, match="resize"):
        array.resize(100)
    del array
    other = np.from_dlpack(tensor)
    del tensor
    assert watched() is not None and other.tolist() == [0, 1, 2, 3, 4, 5]
    tensors = [dlbridge.from_dlpack(watched())]
    del other
    assert watched() is not None
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    assert watched() is None


# The types of ml_dtypes that DLPack has, by DLPack's numbers; those below a byte take one.
ML_DTYPES = {
    "bfloat16": (4, 16, 1), "float8_e3m4": (7, 8, 1), "float8_e4m3": (8, 8, 1), "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1), "float8_e4m3fnuz": (11, 8, 1), "float8_e5m2": (12, 8, 1), "float8_e5m2fnuz": (13, 8, 1),
    "float8_e8m0fnu": (14, 8, 1), "float6_e2m3fn": (15, 6, 1), "float6_e3m2fn": (16, 6, 1), "float4_e2m1fn": (17, 4, 1),
    "complex32": (5, 32, 1), "int1": (0, 1, 1), "int2": (0, 2, 1), "int4": (0, 4, 1), "uint1": (1, 1, 1),
    "uint2": (1, 2, 1), "uint4": (1, 4, 1),
}  # fmt: skip


def of_ml_dtypes(name):
    array = np.zeros((2, 4), getattr(ml_dtypes, name))
    array.view(np.uint8)[...] = np.arange(array.nbytes).reshape(2, -1) % 2
    return array


def raw(array):
    return np.ascontiguousarray(array).view(np.uint8).tolist()


@pytest.mark.parametrize("name", ML_DTYPES)
def test_the_types_of_ml_dtypes_are_shared(name):
    """numpy itself exports none of them."""
    array = of_ml_dtypes(name)
    with pytest.raises(BufferError):
        array.__dlpack__()
    for given in (array, array.T, array[::-1, ::2], array[0, 0:1].reshape(()), array[:0]):
        for wishes in ({}, {"copy": False}, {"device": "cpu"}):
            tensor = dlbridge.from_dlpack(given, **wishes)
            assert tensor.dtype.__dlpack_data_type__() == ML_DTYPES[name] and str(tensor.dtype) == name
            assert tensor.shape == given.shape and tensor.data_ptr == (given.ctypes.data if given.size else 0)
            back = tensor.numpy()
            assert back.dtype == given.dtype and raw(back) == raw(given)
            assert not given.size or np.shares_memory(back, array)
            # And that, which we have given, comes in again.
            assert dlbridge.from_dlpack(back).data_ptr == tensor.data_ptr
        copy = dlbridge.from_dlpack(given, copy=True)
        assert raw(copy.numpy()) == raw(given) and not np.shares_memory(copy.numpy(), array)
    array.flags.writeable = False
    assert dlbridge.from_dlpack(array).readonly


def test_all_types_of_ml_dtypes_are_accounted_for():
    kinds = {name for name in ml_dtypes.__all__ if isinstance(getattr(ml_dtypes, name), type)} - {"finfo", "iinfo"}
    assert kinds - set(ML_DTYPES) == {"bcomplex32"}  # DLPack has no such type
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(np.zeros(2, ml_dtypes.bcomplex32))


def test_types_of_ml_dtypes_in_another_guise():
    array = of_ml_dtypes("bfloat16")
    noted = np.dtype(array.dtype, metadata={"unit": "m"})
    assert noted is not array.dtype and dlbridge.from_dlpack(array.astype(noted)).dtype == dlbridge.dtype("bfloat16")
    assert str(dlbridge.from_dlpack(pickle.loads(pickle.dumps(array))).dtype) == "bfloat16"
    field = np.zeros(3, [("a", ml_dtypes.bfloat16), ("b", "i2")])["a"]
    assert dlbridge.from_dlpack(field).strides == (2,)
    # The other order of bytes is another type; a single byte has none.
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(array.view(array.dtype.newbyteorder("S")))


def test_elements_that_take_a_byte_each_go_to_nobody_who_takes_them_for_packed():
    tensor = dlbridge.from_dlpack(of_ml_dtypes("int4"))
    with pytest.raises(BufferError, match="padded"):
        tensor.__dlpack__()
    assert managed_in(tensor.__dlpack__(max_version=(1, 1)), Versioned).flags == 4


@pytest.mark.parametrize("first", ["dlbridge", "numpy", "ml_dtypes", "dlbridge, numpy; dlbridge.from_dlpack(numpy.ones(1))"])
def test_it_does_not_matter_what_is_imported_first(first):
    script = f"""
import {first}
import dlbridge, ml_dtypes, numpy
array = numpy.array([1, 2], ml_dtypes.bfloat16)
assert repr(dlbridge.from_dlpack(array)) == "dlbridge.Tensor(bfloat16[2], cpu)"
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_another_table_of_functions_is_not_taken_for_numpys():
    """Its capsules have no names: what is in the place of the right one is recognised by what is in it."""
    script = """
import dlbridge, numpy
from numpy._core import _multiarray_umath as core
core._ARRAY_API = core._UFUNC_API
assert [dlbridge.from_dlpack(numpy.ones(n)).size for n in (2, 3)] == [2, 3]
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# Subclasses.


class Quantity(np.ndarray):
    """An array with a unit, which leaves `__dlpack__` to numpy."""

    unit = "m"


@pytest.mark.parametrize("make", [np.ma.array, lambda x: np.ma.array(x, mask=x > 1), np.ma.masked_all_like], ids=range(3))
def test_masked_arrays_are_refused(make):
    array = make(np.arange(4.0))
    for wishes in ({}, {"copy": True}, {"copy": False}, {"device": "cpu"}):
        with pytest.raises(BufferError, match=r"numpy.ma.MaskedArray.*x\.filled\(value\), or numpy\.asarray\(x\)"):
            dlbridge.from_dlpack(array, **wishes)
    assert dlbridge.from_dlpack(array.filled(9)).numpy().tolist() == array.filled(9).tolist()
    assert dlbridge.from_dlpack(np.asarray(array)).data_ptr == array.ctypes.data


def test_a_subclass_that_numpy_answers_for_is_refused():
    array = np.arange(4.0).view(Quantity)
    with pytest.raises(BufferError, match=r"Quantity may mean more.*pass numpy\.asarray\(x\) for the elements alone"):
        dlbridge.from_dlpack(array)
    with pytest.raises(BufferError, match="chararray"):
        dlbridge.from_dlpack(np.char.array(["a"]))
    assert dlbridge.from_dlpack(np.asarray(array)).data_ptr == array.ctypes.data


def test_subclasses_of_numpys_own_that_are_their_elements_are_shared(tmp_path):
    np.arange(6, dtype=np.float32).tofile(tmp_path / "numbers")
    mapped = np.memmap(tmp_path / "numbers", np.float32, "r", shape=(2, 3))
    matrix, records = np.arange(6.0).reshape(2, 3).view(np.matrix), np.arange(6).view(np.recarray)
    for array in (mapped, matrix, records, mapped.view(ml_dtypes.bfloat16)):
        tensor = dlbridge.from_dlpack(array)
        assert tensor.shape == array.shape and tensor.data_ptr == array.ctypes.data
        assert tensor.readonly == (not array.flags.writeable)
    assert dlbridge.from_dlpack(mapped).readonly

    class Own(np.memmap):
        pass

    with pytest.raises(BufferError, match="Own may mean more"):
        dlbridge.from_dlpack(mapped.view(Own))


def test_an_object_that_hands_on_what_is_within_it_is_refused():
    class Wrapped:
        """As the quantities of pint: not an array, but it has the attributes of one."""

        def __init__(self, array, unit):
            self.array, self.unit = array, unit

        def __getattr__(self, name):
            return getattr(self.array, name)

    wrapped = Wrapped(np.arange(3.0), "m")
    assert np.from_dlpack(wrapped).tolist() == [0, 1, 2]
    for wishes in ({}, {"copy": True}):
        with pytest.raises(BufferError, match="Wrapped has no __dlpack__ but hands on .*: pass the array"):
            dlbridge.from_dlpack(wrapped, **wishes)
