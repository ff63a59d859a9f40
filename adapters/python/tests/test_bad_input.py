"""Faulty producers: the right exception, the deleter exactly once, nothing left over."""

import array
import ctypes
import gc
import sys
import weakref

import dlbridge
import numpy as np
import pytest

from conftest import Legacy, Producer, Versioned, api, name_of

MAX = 2**63 - 1

BROKEN = {
    "null shape": dict(fields=dict(shape=None)),
    "negative ndim": dict(fields=dict(ndim=-1)),
    "negative length": dict(shape=(2, -3)),
    "null data": dict(fields=dict(data=None)),
    "element count overflows": dict(shape=(MAX, MAX)),
    "size overflows": dict(shape=(MAX,)),
    "strides overflow": dict(shape=(2, 2), strides=(MAX, 1)),
    "negative strides overflow": dict(shape=(3, 2), strides=(-MAX, 1)),
    "offset overflows": dict(fields=dict(byte_offset=2**64 - 1)),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_tensor_is_a_buffer_error_and_is_deleted_once(abi, fault):
    producer = Producer(abi, **BROKEN[fault])
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(producer)
    assert producer.deleted == 1
    assert name_of(producer.last) == abi.USED


@pytest.mark.parametrize("major", [0, 2, 2**32 - 1])
def test_another_major_version_is_deleted_unread(major):
    # Nothing behind the flags may be looked at.
    producer = Producer(Versioned, version=(major, 0), fields=dict(ndim=-5, shape=None))
    with pytest.raises(BufferError, match=f"version {major}.0"):
        dlbridge.from_dlpack(producer)
    assert producer.deleted == 1


def test_a_newer_minor_version_is_welcome():
    tensor = dlbridge.from_dlpack(Producer(Versioned, version=(1, 99)))
    assert np.from_dlpack(tensor)[1, 2] == 5


def test_a_capsule_is_consumed_once(abi):
    producer = Producer(abi)
    capsule = producer.capsule()
    tensor = dlbridge.from_dlpack(capsule)
    assert name_of(capsule) == abi.USED
    with pytest.raises(ValueError, match="consumed already"):
        dlbridge.from_dlpack(capsule)
    assert producer.deleted == 0
    del tensor, capsule
    assert producer.deleted == 1


def test_a_failed_import_consumes_the_capsule_all_the_same(abi):
    producer = Producer(abi, fields=dict(ndim=-1))
    capsule = producer.capsule()
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(capsule)
    with pytest.raises(ValueError, match="consumed already"):
        dlbridge.from_dlpack(capsule)
    assert producer.deleted == 1


@pytest.mark.parametrize("name", [b"dltensor2", b"arrow_array", b"DLTENSOR"])
def test_a_capsule_of_another_name_is_left_alone(abi, name):
    producer = Producer(abi)
    capsule = producer.capsule(name)
    with pytest.raises(ValueError, match=name.decode()):
        dlbridge.from_dlpack(capsule)
    assert name_of(capsule) == name and producer.deleted == 0


def test_a_capsule_without_a_name_is_left_alone():
    capsule = api.PyCapsule_New(1, None, None)
    with pytest.raises(ValueError, match="no name"):
        dlbridge.from_dlpack(capsule)


@pytest.mark.parametrize("returned", [None, 1, "dltensor", object()])
def test_what_is_no_capsule_is_a_type_error(returned):
    class Odd:
        def __dlpack__(self, **_):
            return returned

    with pytest.raises(TypeError, match="expected a capsule"):
        dlbridge.from_dlpack(Odd())


@pytest.mark.parametrize("x", [None, 1, [1.0], object(), int, "float32"])
def test_what_is_no_tensor_is_a_type_error(x):
    with pytest.raises(TypeError):
        dlbridge.from_dlpack(x)


BUFFERS = [b"abcd", bytearray(4), memoryview(b"abcd"), array.array("f", [1]), (ctypes.c_float * 2)(), np.float32(1)]


@pytest.mark.parametrize("x", BUFFERS, ids=lambda x: type(x).__name__)
def test_what_has_memory_but_no_dlpack_is_a_type_error_with_a_hint(x):
    for wishes in ({}, {"copy": True}):
        with pytest.raises(TypeError, match=r"expected a tensor with __dlpack__.*numpy\.frombuffer\(x, dtype\)"):
            dlbridge.from_dlpack(x, **wishes)
    assert dlbridge.from_dlpack(np.frombuffer(x, np.uint8)).size


HUGE = 10**30


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63, 2**64, -(2**63) - 1, HUGE, -HUGE])
def test_numbers_that_nothing_has_room_for_are_value_errors(number):
    class Speaks:
        def __init__(self, numbers):
            self.numbers = numbers

        def __dlpack_data_type__(self):
            return self.numbers

        def __dlpack_device__(self):
            return self.numbers

    tensor = dlbridge.from_dlpack(np.ones(3))
    with pytest.raises(ValueError):
        tensor.__dlpack__(stream=number)
    for device in ((number, 0), (1, number)):
        for ask in (
            lambda: tensor.__dlpack__(dl_device=device),
            lambda: dlbridge.from_dlpack(tensor, device=device),
            lambda: dlbridge.from_dlpack(np.ones(3), device=device),
            lambda: dlbridge.device(device),
            lambda: dlbridge.device(Speaks(device)),
        ):
            with pytest.raises(ValueError):
                ask()
    for dtype in ((number, 8, 1), (1, number, 1), (1, 8, number)):
        for ask in (dlbridge.dtype, lambda dtype: dlbridge.dtype(Speaks(dtype)), lambda dtype: dlbridge.from_dlpack(Speaks(dtype))):
            with pytest.raises(ValueError):
                ask(dtype)
    for version in ((number, 0), (1, number)):
        try:
            tensor.__dlpack__(max_version=version)
        except ValueError:
            assert not -(2**63) <= number < 2**63
    for name in (f"cuda:{number}", f"float{number}", f"float32x{number}"):
        for ask in (dlbridge.device, dlbridge.dtype):
            with pytest.raises(ValueError):
                ask(name)


def test_a_number_too_long_to_print_is_a_value_error():
    with pytest.raises(ValueError, match="is not from 0 to 255"):
        dlbridge.dtype((10**5000, 8, 1))


@pytest.mark.parametrize("error", [KeyError, RuntimeError, BufferError, AttributeError, KeyboardInterrupt])
def test_what_dlpack_raises_comes_through(error):
    class Raises:
        def __dlpack__(self, **_):
            raise error("mine")

    for wishes in ({}, {"copy": True}, {"device": "cpu"}):
        with pytest.raises(error, match="mine"):
            dlbridge.from_dlpack(Raises(), **wishes)


def test_a_type_error_of_the_producer_comes_through_after_one_more_try():
    calls = []

    class Raises:
        def __dlpack__(self, **keywords):
            calls.append(keywords)
            raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        dlbridge.from_dlpack(Raises())
    assert calls == [{"max_version": (1, 3)}, {}]


@pytest.mark.parametrize("dtype", [(99, 8, 1), (2, 32, 4), (17, 4, 1), (0, 1, 1), (255, 255, 1)])
def test_unknown_dtypes_are_carried_but_never_reinterpreted(abi, dtype):
    producer = Producer(abi, dtype=dtype, shape=(2,))
    tensor = dlbridge.from_dlpack(producer)
    assert tensor.dtype.__dlpack_data_type__() == dtype
    assert dlbridge.dtype(str(tensor.dtype)) == tensor.dtype
    with pytest.raises(BufferError):
        tensor.numpy()
    with pytest.raises(BufferError):
        memoryview(tensor)
    del tensor
    assert producer.deleted == 1


@pytest.mark.parametrize("device", [(99, 7), (2, 1), (-1, -1), (10, 0)])
def test_memory_of_other_devices_is_carried_but_never_read(abi, device):
    producer = Producer(abi, device=device)
    tensor = dlbridge.from_dlpack(producer)
    assert tensor.__dlpack_device__() == device == tensor.device.__dlpack_device__()
    for read in (tensor.copy, lambda: memoryview(tensor), lambda: tensor.__dlpack__(copy=True)):
        with pytest.raises(BufferError):
            read()
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(tensor, device="cpu")
    assert dlbridge.from_dlpack(tensor).data_ptr == tensor.data_ptr
    del tensor
    gc.collect()
    assert producer.deleted == 1


STREAMS = {
    (1, 0): {None: None, 0: ValueError, 1: ValueError, -1: ValueError},
    (3, 0): {None: None, 1: ValueError},
    (2, 0): {None: None, 1: None, -1: None, 0: ValueError, -2: ValueError, 2: BufferError, 2**40: BufferError},
    (10, 0): {None: None, 0: None, -1: None, 1: ValueError, 2: ValueError, 3: BufferError},
}


@pytest.mark.parametrize("device", STREAMS)
def test_streams_are_those_of_the_device(device):
    tensor = dlbridge.from_dlpack(Producer(Versioned, device=device))
    for stream, error in STREAMS[device].items():
        if error is None:
            tensor.__dlpack__(stream=stream, max_version=(1, 0))
        else:
            with pytest.raises(error):
                tensor.__dlpack__(stream=stream, max_version=(1, 0))
    with pytest.raises(TypeError):
        tensor.__dlpack__(stream="default")


@pytest.mark.parametrize(
    "keywords",
    [dict(max_version=1), dict(max_version=(1,)), dict(max_version="10"), dict(dl_device="cpu"), dict(copy=1), dict(x=1)],
)
def test_wrong_keywords_are_type_errors(keywords):
    tensor = dlbridge.from_dlpack(np.ones(3))
    with pytest.raises((TypeError, ValueError)):
        tensor.__dlpack__(**keywords)
    with pytest.raises(TypeError):
        tensor.__dlpack__(None)


def test_references_are_as_before(abi):
    """No import leaves a reference behind, whether it works or not."""

    def once(**case):
        producer = Producer(abi, **case)
        watch = weakref.ref(producer)
        try:
            dlbridge.from_dlpack(producer)
        except BufferError:
            pass
        assert producer.deleted == 1
        Producer.done.clear()
        del producer
        gc.collect()
        return watch() is None

    assert once() and once(fields=dict(ndim=-1))
    array = np.ones(3)
    before = sys.getrefcount(array)
    for _ in range(100):
        tensor = dlbridge.from_dlpack(array)
        views = [tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0)), memoryview(tensor), np.from_dlpack(tensor)]
    del tensor, views
    assert sys.getrefcount(array) == before


def test_a_null_deleter_is_skipped(abi):
    producer = Producer(abi)
    producer.managed.deleter = ctypes.cast(None, type(producer.deleter))
    tensor = dlbridge.from_dlpack(producer)
    assert np.from_dlpack(tensor)[0, 1] == 1
    del tensor
    assert producer.deleted == 0


def test_legacy_has_no_flags_to_misread():
    assert Legacy.tensor.offset == 0 and Versioned.tensor.offset == 32
    assert ctypes.sizeof(Legacy) == 64 and ctypes.sizeof(Versioned) == 80
