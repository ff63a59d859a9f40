"""The array libraries that the module is tested with: how each makes an array, takes a tensor, and tells an address."""

import array_api_strict
import jax
import jax.numpy
import numpy
import pyarrow
import torch
import tvm_ffi

jax.config.update("jax_enable_x64", True)


class Neighbour:
    """One library, by its own functions."""

    def __init__(self, name, module, make, take, address, array=None):
        self.name, self.module = name, module
        #: An array of the library with the elements of a numpy array.
        self.make = make
        #: The library's `from_dlpack`.
        self.take = take
        #: The address of an array's first element.
        self.address = address
        #: An array of the library as one of numpy, by the library's own means.
        self.array = array or numpy.asarray
        self.version = module.__version__

    def __repr__(self):
        return self.name


def arrow_address(array):
    buffer = array.buffers()[1] if isinstance(array, pyarrow.Array) else None
    return buffer.address if buffer else array.to_numpy().ctypes.data


NUMPY = Neighbour("numpy", numpy, numpy.array, numpy.from_dlpack, lambda array: array.ctypes.data)
TORCH = Neighbour(
    "torch", torch, lambda array: torch.from_numpy(array.copy()), torch.from_dlpack, lambda array: array.data_ptr(),
    lambda array: array.numpy(),
)  # fmt: skip
JAX = Neighbour(
    "jax", jax, jax.numpy.array, jax.numpy.from_dlpack, lambda array: array.unsafe_buffer_pointer()
)
STRICT = Neighbour(
    "array-api-strict", array_api_strict, array_api_strict.asarray, array_api_strict.from_dlpack,
    lambda array: array._array.ctypes.data, lambda array: array._array,
)  # fmt: skip
ARROW = Neighbour(
    "pyarrow", pyarrow, lambda array: pyarrow.array(array.ravel()), pyarrow.Tensor.from_dlpack, arrow_address,
    lambda array: array.to_numpy(),
)  # fmt: skip
TVM = Neighbour(
    "tvm-ffi", tvm_ffi, lambda array: tvm_ffi.from_dlpack(array.copy()), tvm_ffi.from_dlpack,
    lambda array: array.data_ptr(), lambda array: numpy.from_dlpack(array),
)  # fmt: skip

ALL = [NUMPY, TORCH, JAX, STRICT, ARROW, TVM]
