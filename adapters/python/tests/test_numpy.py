"""numpy's arrays, which are read without `__dlpack__` where they are as usual: the same tensors, and the same refusals."""

import threading
import weakref

import dlbridge
import numpy as np
import pytest

dlbridge.from_dlpack(np.zeros(1))  # the first array of a process goes through `__dlpack__`

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
