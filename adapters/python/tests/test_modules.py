"""Several extension modules with dlbridge's classes in one process, as those that are built with the crate have them."""

import copy
import importlib.machinery
import importlib.util
import pathlib
import pickle
import shutil
import subprocess
import sys

import dlbridge
import numpy as np
import pytest
import torch

NATIVE = pathlib.Path(importlib.util.find_spec("dlbridge._dlbridge").origin)


def loaded(path):
    """An extension module of its own: another file, with classes and static variables of its own."""
    loader = importlib.machinery.ExtensionFileLoader("other._dlbridge", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("other._dlbridge", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    path = tmp_path_factory.mktemp("other") / NATIVE.name
    shutil.copy(NATIVE, path)
    return loaded(path)


def test_the_module_is_another_one(other):
    assert other.Tensor is not dlbridge.Tensor and other.DType is not dlbridge.DType


def test_its_objects_are_instances_of_dlbridges_classes(other):
    for name, x in dict(
        Tensor=other.from_dlpack(np.ones(2)), DType=other.dtype("int8"), Device=other.device("cuda:1")
    ).items():
        assert type(x) is getattr(other, name)
        assert isinstance(x, getattr(dlbridge, name)) and x.__class__ is getattr(dlbridge, name)
        assert isinstance(x, getattr(other, name)), "nor does it deny its own"
        assert not any(isinstance(x, getattr(dlbridge, wrong)) for wrong in {"Tensor", "DType", "Device"} - {name})
    for x in (dlbridge.from_dlpack(np.ones(2)), dlbridge.dtype("int8"), dlbridge.device("cpu")):
        assert x.__class__ is type(x)
        assert not isinstance(x, (other.Tensor, other.DType, other.Device, np.ndarray, torch.Tensor))


def test_dtypes_and_devices_are_equal_across_modules(other):
    for ours, theirs, wrong in [
        (dlbridge.dtype("float32"), other.dtype("float32"), other.dtype("float64")),
        (dlbridge.device("cuda:1"), other.device("cuda:1"), other.device("cuda:0")),
    ]:
        assert ours == theirs and theirs == ours and hash(ours) == hash(theirs) and len({ours, theirs}) == 1
        assert ours != wrong and wrong != ours
        assert pickle.loads(pickle.dumps(theirs)) == ours and copy.copy(theirs) == ours
    assert dlbridge.dtype("float32") != "float32" and other.device("cpu") != (1, 0)


def test_tensors_go_from_module_to_module(other):
    array = np.arange(3.0)
    theirs = other.from_dlpack(array)
    ours = dlbridge.from_dlpack(theirs)
    assert type(ours) is dlbridge.Tensor and ours.data_ptr == array.ctypes.data
    assert dlbridge.dtype(other.dtype("int8")) == dlbridge.dtype("int8")
    assert dlbridge.from_dlpack(array, device=other.device("cpu")).data_ptr == array.ctypes.data
    assert torch.from_dlpack(theirs).data_ptr() == array.ctypes.data


def test_without_dlbridge_there_is_nothing_to_be_an_instance_of(tmp_path):
    """Nothing is imported to find out, and it is right as soon as somebody can ask."""
    shutil.copy(NATIVE, tmp_path)
    script = f"""
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.ExtensionFileLoader("other._dlbridge", {str(tmp_path / NATIVE.name)!r})
other = importlib.util.module_from_spec(importlib.util.spec_from_loader("other._dlbridge", loader))
loader.exec_module(other)
x = other.dtype("int8")
assert x.__class__ is other.DType and isinstance(x, other.DType) and "dlbridge" not in sys.modules
assert x == other.dtype("int8") and x != other.dtype("int16")
sys.modules["dlbridge"] = None
assert x.__class__ is other.DType
sys.modules["dlbridge"] = other.device  # another module of that name, without these classes
assert x.__class__ is other.DType
del sys.modules["dlbridge"]
import dlbridge
assert isinstance(x, dlbridge.DType) and dlbridge.dtype("int8") == x
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
