"""`dlbridge.Tensor` as a producer, by itself and with numpy as the partner."""

import gc
import hashlib
import math
import weakref

import dlbridge
import numpy as np
import pytest

from conftest import Legacy, Producer, Versioned, managed_in, name_of

READ_ONLY, COPIED = 1, 2


def tensor_of(array):
    return dlbridge.from_dlpack(array)


def ramp(*shape):
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


LAYOUTS = {
    "row-major": ramp(2, 3),
    "transposed": ramp(2, 3).T,
    "sliced": ramp(4, 6)[1::2, 2:5],
    "reversed": ramp(2, 3)[::-1, ::-1],
    "broadcast": np.broadcast_to(ramp(1, 3), (2, 3)),
    "0-d": ramp(),
    "empty": ramp(0, 3),
    "axes of length 1": ramp(1, 3, 1),
    "many axes": ramp(*[1] * 30, 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_shared_both_ways(layout):
    array = LAYOUTS[layout]
    tensor = tensor_of(array)
    assert tensor.shape == array.shape and tensor.ndim == array.ndim and tensor.size == array.size
    assert tensor.nbytes == array.nbytes and tensor.dtype == dlbridge.dtype("float32")
    assert tensor.readonly == (not array.flags.writeable)
    assert tensor.is_contiguous == array.flags.c_contiguous
    if array.size:
        assert tensor.data_ptr == array.ctypes.data
    for back in (np.from_dlpack(tensor), np.asarray(memoryview(tensor)), tensor.numpy(), np.asarray(tensor)):
        assert np.array_equal(back, array) and back.shape == array.shape
        assert not array.size or back.ctypes.data == array.ctypes.data
    for copy in (tensor.copy(), dlbridge.from_dlpack(tensor, copy=True), dlbridge.from_dlpack(array, copy=True)):
        assert not copy.readonly and np.array_equal(copy.numpy(), array)
        assert not array.size or copy.data_ptr != tensor.data_ptr
    assert tensor.copy().is_contiguous
    contiguous = tensor.contiguous()
    assert contiguous.is_contiguous and (contiguous is tensor) == tensor.is_contiguous


def test_writes_go_both_ways_through_every_alias():
    array = ramp(2, 3)
    tensor = tensor_of(array)
    first, second = np.from_dlpack(tensor), np.from_dlpack(tensor)
    view = memoryview(tensor)
    first[0, 0] = 7
    assert second[0, 0] == 7 and array[0, 0] == 7 and view[0, 0] == 7
    view[1, 2] = 9
    assert first[1, 2] == 9


def test_without_max_version_the_capsule_is_a_legacy_one():
    tensor = tensor_of(ramp(2, 3))
    for keywords in ({}, {"max_version": None}, {"max_version": (0, 8)}, {"stream": None, "copy": None}):
        capsule = tensor.__dlpack__(**keywords)
        assert name_of(capsule) == Legacy.NAME
        managed = managed_in(capsule, Legacy)
        assert list(managed.tensor.strides[:2]) == [3, 1] and managed.deleter


@pytest.mark.parametrize("asked, given", [((1, 0), (1, 0)), ((1, 1), (1, 1)), ((1, 3), (1, 3)), ((1, 9), (1, 3)), ((2, 0), (1, 3))])
def test_with_max_version_the_capsule_is_a_versioned_one(asked, given):
    capsule = tensor_of(ramp(2, 3)).__dlpack__(max_version=asked)
    managed = managed_in(capsule, Versioned)
    assert (managed.major, managed.minor) == given and managed.flags == 0


def test_read_only_memory_stays_so():
    array = ramp(3)
    array.flags.writeable = False
    tensor = tensor_of(array)
    assert tensor.readonly and memoryview(tensor).readonly and not tensor.numpy().flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()
    assert managed_in(tensor.__dlpack__(max_version=(1, 0)), Versioned).flags == READ_ONLY
    # A copy is the consumer's own.
    assert name_of(tensor.__dlpack__(copy=True)) == Legacy.NAME
    assert "read-only" in repr(tensor)


def test_copy_is_as_the_array_api_says():
    tensor = tensor_of(ramp(3))
    for copy in (None, False):
        managed = managed_in(tensor.__dlpack__(max_version=(1, 0), copy=copy), Versioned)
        assert managed.tensor.data == tensor.data_ptr and managed.flags == 0
    capsule = tensor.__dlpack__(max_version=(1, 0), copy=True)
    managed = managed_in(capsule, Versioned)
    assert managed.tensor.data != tensor.data_ptr and managed.flags == COPIED


def test_pinned_memory_comes_to_the_cpu_by_a_copy(abi):
    producer = Producer(abi, device=(3, 0))
    tensor = dlbridge.from_dlpack(producer)
    assert str(tensor.device) == "cuda_host:0"
    managed = managed_in(tensor.__dlpack__(dl_device=(1, 0)), Legacy)
    assert managed.tensor.device.type == 1 and managed.tensor.data != tensor.data_ptr
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(1, 0), copy=False)
    capsule = tensor.__dlpack__(max_version=(1, 0), dl_device=(3, 0), copy=False)
    assert managed_in(capsule, Versioned).tensor.data == tensor.data_ptr
    assert dlbridge.from_dlpack(producer.capsule(), device="cpu").device == dlbridge.device("cpu")
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(producer.capsule(), device="cpu", copy=False)


def test_what_comes_in_a_legacy_capsule_is_read_only(abi):
    """It cannot say who may write, and immutable arrays come in it; numpy has it so, too."""
    is_legacy = abi is Legacy
    for source in (Producer(abi), Shy(abi), Producer(abi).capsule()):
        tensor = dlbridge.from_dlpack(source)
        assert tensor.readonly == is_legacy and np.from_dlpack(tensor).flags.writeable == (not is_legacy)
        assert not tensor.copy().readonly
    # A copy that the producer has made is nobody else's.
    for source in (Producer(abi), Shy(abi), Producer(abi).capsule()):
        assert not dlbridge.from_dlpack(source, copy=True).readonly
    # Our own capsules are as good as any.
    tensor = dlbridge.from_dlpack(tensor_of(ramp(3)).__dlpack__())
    assert tensor.readonly and tensor.numpy().tolist() == [0, 1, 2]


class Shy(Producer):
    """Knows no keyword, as producers before 2021."""

    def __dlpack__(self):
        return self.capsule()


def test_producers_without_keywords_are_asked_again(abi):
    for wishes in ({}, {"device": "cpu"}, {"copy": False}):
        tensor = dlbridge.from_dlpack(Shy(abi), **wishes)
        assert tensor.data_ptr and np.from_dlpack(tensor)[1, 2] == 5
    producer = Shy(abi)
    copied = dlbridge.from_dlpack(producer, copy=True)
    assert copied.data_ptr != producer.managed.tensor.data and producer.deleted == 1


def test_a_copy_that_nobody_asked_for_is_no_share():
    with pytest.raises(BufferError, match="copy=False"):
        dlbridge.from_dlpack(Producer(Versioned, flags=COPIED), copy=False)
    with pytest.raises(BufferError, match="copy=False"):
        dlbridge.from_dlpack(Shy(Versioned, flags=COPIED), copy=False)


def test_wishes_are_passed_on():
    producer = Producer(Versioned)
    dlbridge.from_dlpack(producer)
    assert producer.keywords == {"max_version": (1, 3)}
    dlbridge.from_dlpack(producer, device="cpu", copy=True)
    assert producer.keywords == {"max_version": (1, 3), "dl_device": (1, 0), "copy": True}


def test_dlpack_may_be_an_attribute_of_the_instance(abi):
    class Bag:
        pass

    bag, producer = Bag(), Producer(abi)
    bag.__dlpack__ = producer.__dlpack__
    assert np.from_dlpack(dlbridge.from_dlpack(bag))[0, 2] == 2


def test_everything_made_of_a_tensor_keeps_the_memory(abi):
    producer = Producer(abi)
    tensor = dlbridge.from_dlpack(producer)
    keepers = [
        *([] if tensor.readonly else [tensor.__dlpack__()]),
        tensor.__dlpack__(max_version=(1, 0)),
        memoryview(tensor),
        np.from_dlpack(tensor),
        dlbridge.from_dlpack(tensor),
    ]
    copy = tensor.copy()
    del tensor
    while keepers:
        gc.collect()
        assert producer.deleted == 0
        keepers.pop()
    assert producer.deleted == 1 and copy.numpy()[1, 2] == 5


def test_strides_may_be_missing_and_the_data_may_begin_later(abi):
    tensor = dlbridge.from_dlpack(Producer(abi, fields=dict(byte_offset=8)))
    assert tensor.strides == (3, 1) and tensor.numpy()[0, 0] == 2
    managed = managed_in(tensor.__dlpack__(max_version=(1, 0)), Versioned)
    assert managed.tensor.byte_offset == 0 and list(managed.tensor.strides[:2]) == [3, 1]


BUFFERS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "complex64": "Zf", "complex128": "Zd",
}  # fmt: skip


@pytest.mark.parametrize("dtype", BUFFERS)
def test_the_buffer_protocol_has_the_letters_of_numpy(dtype):
    array = np.ones((2, 3), dtype=dtype)
    view = memoryview(tensor_of(array))
    assert view.format == BUFFERS[dtype] and view.itemsize == array.itemsize
    assert view.shape == (2, 3) and view.strides == array.strides and view.nbytes == array.nbytes
    assert np.asarray(view).dtype == array.dtype


def test_buffers_refuse_what_they_cannot_say():
    with pytest.raises(BufferError, match="contiguous"):
        hashlib.sha256(tensor_of(ramp(2, 3).T))
    assert bytes(tensor_of(ramp(2))) == ramp(2).tobytes()
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(dlbridge.from_dlpack(Producer(Versioned, dtype=(4, 16, 1))))
    with pytest.raises(BufferError, match="64 axes"):
        memoryview(dlbridge.from_dlpack(Producer(Versioned, shape=(1,) * 65)))


def test_booleans_are_checked_before_they_are_copied():
    producer = Producer(Versioned, dtype=(6, 8, 1), shape=(8,))
    with pytest.raises(BufferError, match="boolean"):
        dlbridge.from_dlpack(producer).copy()


def test_booleans_of_rust_are_checked_once_python_may_have_written_them():
    tensor = dlbridge.from_dlpack(np.array([True, False])).copy()
    assert tensor.copy().numpy().tolist() == [True, False]
    np.from_dlpack(tensor).view(np.uint8)[0] = 2
    with pytest.raises(BufferError, match="boolean"):
        tensor.copy()


def test_repr_says_what_it_is():
    assert repr(tensor_of(ramp(2, 3))) == "dlbridge.Tensor(float32[2, 3], cpu)"
    assert repr(tensor_of(ramp(2, 3).T)) == "dlbridge.Tensor(float32[3, 2], strides [1, 3], cpu)"
    assert len(tensor_of(ramp(2, 3))) == 2
    with pytest.raises(TypeError):
        len(tensor_of(ramp()))


def test_numpy_arrays_are_freed_with_the_last_alias():
    array = ramp(3)
    watch = weakref.ref(array)
    tensor = tensor_of(array)
    del array
    assert watch() is not None
    del tensor
    assert watch() is None
