"""pyarrow's own DLPack tests: numpy and pyarrow import what we have imported before."""

import dlbridge
import numpy as np
import pyarrow as pa
from through_us import Namespace, replace


def from_dlpack(x, /, **keywords):
    return np.from_dlpack(dlbridge.from_dlpack(x, **keywords))


class Through(type):
    """`pyarrow.Tensor` but for its `from_dlpack`."""

    def __instancecheck__(cls, value):
        return isinstance(value, pa.Tensor)

    def __getattr__(cls, name):
        return getattr(pa.Tensor, name)


class Tensor(metaclass=Through):
    @staticmethod
    def from_dlpack(x, /, **keywords):
        return pa.Tensor.from_dlpack(dlbridge.from_dlpack(x, **keywords))


def pytest_collection_modifyitems(items):
    replace(items, np=Namespace(np, from_dlpack=from_dlpack), pa=Namespace(pa, Tensor=Tensor))
