"""The table of C functions on our type, called as a consumer in C calls it."""

import ctypes

import dlbridge
import numpy as np
import pytest

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


def test_memory_of_a_gpu_and_complex_numbers_go_through_dlpack(table):
    """The table does not synchronise, and torch's does not look at the conjugate bit."""
    for case in (dict(device=(2, 0)), dict(dtype=(5, 64, 1), shape=(2,))):
        producer = Producer(Versioned, **case)

        @type(table.from_object)
        def gives(source, out):
            out[0] = ctypes.addressof(producer.managed)
            return 0

        assert dlbridge.from_dlpack(with_table(from_object=gives)).size == 2
        assert producer.deleted == 1
