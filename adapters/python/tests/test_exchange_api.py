"""The table of C functions on our type, called as a consumer in C calls it."""

import ctypes

import subprocess
import sys

import dlbridge
import ml_dtypes
import numpy as np
import pytest
import torch

from conftest import DLDataType, DLDevice, DLTensor, Producer, Versioned, api, name_of

SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
POINTER = ctypes.POINTER(ctypes.c_void_p)


class Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(DLTensor), POINTER, ctypes.c_void_p, SET_ERROR)),
        # These are called with the GIL, and leave an exception behind: `PYFUNCTYPE` raises it.
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, POINTER)),
        ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))),
        ("work_stream", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, POINTER)),
    ]


@pytest.fixture
def table():
    capsule = dlbridge.Tensor.__dlpack_c_exchange_api__
    assert name_of(capsule) == b"dlpack_exchange_api"
    return Table.from_address(api.PyCapsule_GetPointer(capsule, b"dlpack_exchange_api"))


def delete(managed):
    managed.contents.deleter(ctypes.addressof(managed.contents))


def versioned(pointer):
    return ctypes.cast(pointer, ctypes.POINTER(Versioned))


def test_the_table_is_of_version_1_3_and_lives_on(table):
    assert (table.major, table.minor, table.previous) == (1, 3, None)
    first = ctypes.addressof(table)
    assert api.PyCapsule_GetPointer(dlbridge.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api") == first
    tensor = dlbridge.from_dlpack(np.ones(2))
    assert type(tensor).__dlpack_c_exchange_api__ is dlbridge.Tensor.__dlpack_c_exchange_api__


def test_an_object_becomes_a_managed_tensor_and_that_an_object(table):
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    out = ctypes.c_void_p()
    assert table.from_object(dlbridge.from_dlpack(array), ctypes.byref(out)) == 0
    managed = versioned(out)
    assert (managed.contents.major, managed.contents.minor, managed.contents.flags) == (1, 3, 0)
    assert managed.contents.tensor.data == array.ctypes.data
    made = ctypes.py_object()
    assert table.to_object(out, ctypes.byref(made)) == 0
    tensor = made.value
    assert type(tensor) is dlbridge.Tensor and tensor.data_ptr == array.ctypes.data and tensor.shape == (2, 3)


def test_to_object_steals_also_when_it_fails(table):
    producer = Producer(Versioned, fields=dict(ndim=-1))
    made = ctypes.py_object()
    Producer.alive.add(producer)
    with pytest.raises(BufferError, match="ndim is -1"):
        table.to_object(ctypes.addressof(producer.managed), ctypes.byref(made))
    assert producer.deleted == 1
    with pytest.raises(BufferError, match="NULL"):
        table.to_object(None, ctypes.byref(made))


def test_other_objects_are_type_errors(table):
    out, borrowed = ctypes.c_void_p(), DLTensor()
    for other in (None, np.ones(3), object()):
        with pytest.raises(TypeError, match="dlbridge.Tensor"):
            table.from_object(other, ctypes.byref(out))
        with pytest.raises(TypeError, match="dlbridge.Tensor"):
            table.borrow(other, ctypes.byref(borrowed))


def test_a_borrowed_tensor_is_plain(table):
    producer = Producer(Versioned, fields=dict(byte_offset=8))
    tensor = dlbridge.from_dlpack(producer)
    borrowed = DLTensor()
    assert table.borrow(tensor, ctypes.byref(borrowed)) == 0
    assert borrowed.data == tensor.data_ptr and borrowed.byte_offset == 0
    assert list(borrowed.shape[:2]) == [2, 3] and list(borrowed.strides[:2]) == [3, 1]


def test_read_only_memory_is_not_borrowed(table):
    array = np.ones(3)
    array.flags.writeable = False
    borrowed = DLTensor()
    with pytest.raises(BufferError, match="read-only"):
        table.borrow(dlbridge.from_dlpack(array), ctypes.byref(borrowed))


def test_padded_elements_are_not_borrowed(table):
    borrowed = DLTensor()
    with pytest.raises(BufferError, match="a byte each"):
        table.borrow(dlbridge.from_dlpack(np.zeros(3, ml_dtypes.int4)), ctypes.byref(borrowed))


def test_the_allocator_makes_zeros_like_the_prototype(table):
    shape = (ctypes.c_int64 * 2)(3, 5)
    prototype = DLTensor(None, DLDevice(1, 0), 2, DLDataType(4, 16, 1), shape, None, 0)
    out, errors = ctypes.c_void_p(), []
    report = SET_ERROR(lambda context, kind, message: errors.append((kind, message)))
    assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, report) == 0
    managed = versioned(out)
    assert list(managed.contents.tensor.shape[:2]) == [3, 5] and managed.contents.tensor.dtype.code == 4
    assert ctypes.string_at(managed.contents.tensor.data, 30) == bytes(30) and not errors
    delete(managed)

    for change, kind in [
        (dict(ndim=-1), b"BufferError"),
        (dict(device=DLDevice(2, 0)), b"BufferError"),
        (dict(shape=(ctypes.c_int64 * 2)(2**62, 5)), b"BufferError"),
        (dict(shape=(ctypes.c_int64 * 2)(2**55, 5)), b"MemoryError"),
    ]:
        for field, value in change.items():
            setattr(prototype, field, value)
        assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, report) == -1
        assert errors.pop()[0] == kind
        prototype = DLTensor(None, DLDevice(1, 0), 2, DLDataType(4, 16, 1), shape, None, 0)
    prototype.ndim = -1
    assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, ctypes.cast(None, SET_ERROR)) == -1


def test_work_goes_to_the_default_stream(table):
    out = ctypes.c_void_p(1)
    assert table.work_stream(1, 0, ctypes.byref(out)) == 0 and out.value is None


class Foreign:
    def __dlpack__(self, **_):
        return dlbridge.from_dlpack(np.ones(2)).__dlpack__()


def with_table(base=Foreign, **fields):
    """An object of a type with a table of its own, some functions of which may be missing."""
    made = Table(**{"major": 1, "minor": 3, **fields})
    capsule = api.PyCapsule_New(ctypes.addressof(made), b"dlpack_exchange_api", None)
    return type("Kind", (base,), {"__dlpack_c_exchange_api__": capsule, "keep": made})()


def test_tables_with_holes_and_of_other_versions_are_passed_over(table):
    assert dlbridge.from_dlpack(with_table()).size == 2
    assert dlbridge.from_dlpack(with_table(major=2, from_object=table.from_object)).size == 2


@pytest.mark.parametrize("base", [Foreign, object])
def test_a_table_that_fails_leaves_it_to_dlpack(table, base):
    @type(table.from_object)
    def fails(source, out):
        return -1  # without an exception

    @type(table.from_object)
    def gives_nothing(source, out):
        return 0

    producer = Producer(Versioned, fields=dict(ndim=-3))

    @type(table.from_object)
    def gives_a_broken_one(source, out):
        out[0] = ctypes.addressof(producer.managed)
        return 0

    for function, why in [(fails, "without saying why"), (gives_nothing, "no tensor"), (gives_a_broken_one, "ndim is -3")]:
        source = with_table(base, from_object=function)
        if base is Foreign:
            assert dlbridge.from_dlpack(source).size == 2
        else:
            with pytest.raises(BufferError, match=why):
                dlbridge.from_dlpack(source)
    assert producer.deleted == 1


def test_an_older_table_is_found_behind_a_newer_one(table):
    producer = Producer(Versioned)

    @type(table.from_object)
    def gives(source, out):
        out[0] = ctypes.addressof(producer.managed)
        return 0

    older = Table(major=1, minor=3, from_object=gives)
    tensor = dlbridge.from_dlpack(with_table(object, major=2, previous=ctypes.addressof(older)))
    assert tensor.data_ptr == producer.managed.tensor.data
    del tensor
    assert producer.deleted == 1


def gives(producer, base=Foreign):
    """An object of a type whose table gives a tensor made by hand."""

    @type(Table().from_object)
    def give(source, out):
        out[0] = ctypes.addressof(producer.managed)
        return 0

    return with_table(base, from_object=give)


def test_complex_numbers_come_by_the_table():
    producer = Producer(Versioned, dtype=(5, 64, 1), shape=(2,))
    assert dlbridge.from_dlpack(gives(producer)).data_ptr == producer.managed.tensor.data
    assert producer.deleted == 1


class Placed:
    def __dlpack_device__(self):
        return (2, 0)


def test_memory_of_a_gpu_goes_through_dlpack():
    """The table does not wait for streams."""
    producer = Producer(Versioned, device=(2, 0))
    assert dlbridge.from_dlpack(gives(producer)).size == 2 and producer.deleted == 1
    # Nor does anything else, if there is no `__dlpack__`: the words say so, and it is not mistaken for a device.
    for base in (object, Placed):
        producer = Producer(Versioned, device=(2, 0))
        with pytest.raises(BufferError, match="on cuda:0, and .* does not wait until it is ready: .*Kind needs a __dlpack__"):
            dlbridge.from_dlpack(gives(producer, base))
        assert producer.deleted == 1


def test_a_number_is_no_table():
    """DLPack 1.2 had the address as an integer, which anybody can write into a class."""
    script = """
import dlbridge, numpy

class Number:
    __c_dlpack_exchange_api__ = __dlpack_c_exchange_api__ = 0x4141414141414140

class Speaks(Number):
    def __dlpack__(self, **_):
        return numpy.ones(2).__dlpack__()

assert dlbridge.from_dlpack(Speaks()).size == 2
try:
    dlbridge.from_dlpack(Number())
except TypeError as error:
    assert "expected a tensor with __dlpack__" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("lender", [torch.Tensor, dlbridge.Tensor])
def test_the_table_of_another_class_refuses_the_object(lender):
    """A class may name whatever table it can get hold of: its functions look at what they are given."""
    capsule = lender.__dlpack_c_exchange_api__
    with pytest.raises((TypeError, RuntimeError), match="expected a dlbridge.Tensor|Unable to cast .*Borrower"):
        dlbridge.from_dlpack(type("Borrower", (), {"__dlpack_c_exchange_api__": capsule})())
    assert dlbridge.from_dlpack(type("Borrower", (Foreign,), {"__dlpack_c_exchange_api__": capsule})()).size == 2
