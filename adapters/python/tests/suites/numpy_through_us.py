"""numpy's own DLPack tests: arrays that export through us, and a `from_dlpack` that imports through us."""

import dlbridge
import numpy as np
from through_us import Namespace, replace


class Ours(np.ndarray):
    """An array that goes out by way of a `dlbridge.Tensor`."""

    def __dlpack__(self, **keywords):
        return dlbridge.from_dlpack(self.view(np.ndarray)).__dlpack__(**keywords)

    def __dlpack_device__(self):
        return dlbridge.from_dlpack(self.view(np.ndarray)).__dlpack_device__()


def from_dlpack(x, /, *, device=None, copy=None):
    return np.from_dlpack(dlbridge.from_dlpack(x, device=device, copy=copy)).view(Ours)


def ours(make):
    # A copy owns its memory, so that its reference count is the one that exports change.
    return lambda *arguments, **keywords: make(*arguments, **keywords).view(Ours).copy()


MAKERS = ("arange", "array", "asarray", "empty", "ones", "zeros")


def pytest_collection_modifyitems(items):
    makers = {name: ours(getattr(np, name)) for name in MAKERS}
    replace(items, np=Namespace(np, from_dlpack=from_dlpack, **makers))
