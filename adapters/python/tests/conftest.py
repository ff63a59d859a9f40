"""What the tests share: the libraries, and capsules made by hand."""

import ctypes

import pytest

CPU = (1, 0)


class DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]
    NAME, USED = b"dltensor", b"used_dltensor"


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]
    NAME, USED = b"dltensor_versioned", b"used_dltensor_versioned"


api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def name_of(capsule):
    return api.PyCapsule_GetName(capsule)


def managed_in(capsule, abi):
    managed = ctypes.cast(api.PyCapsule_GetPointer(capsule, abi.NAME), ctypes.POINTER(abi)).contents
    managed.keeper = capsule
    return managed


class Producer:
    """A tensor made by hand over memory of its own, which counts the calls of its deleter."""

    # Whoever holds a capsule holds only C structures: these producers are kept until they are let go, and until their
    # deleters have returned.
    alive, done = set(), []

    def __init__(self, abi, shape=(2, 3), strides=None, dtype=(2, 32, 1), device=CPU, flags=0, version=(1, 0), fields={}):
        self.abi, self.deleted, self.during = abi, 0, None
        self.memory = (ctypes.c_float * 64)(*range(64))
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * max(len(strides), 1))(*strides)
        tensor = DLTensor(
            ctypes.addressof(self.memory),
            DLDevice(*device),
            len(shape),
            DLDataType(*dtype),
            ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)),
            None if strides is None else ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)),
            0,
        )
        for field, value in fields.items():
            setattr(tensor, field, value)
        self.deleter = DELETER(self.delete)
        if abi is Legacy:
            self.managed = Legacy(tensor, None, self.deleter)
        else:
            self.managed = Versioned(*version, None, self.deleter, flags, tensor)
        self.keywords = None
        self.answers = None

    def delete(self, managed):
        assert managed == ctypes.addressof(self.managed)
        self.deleted += 1
        Producer.done.append(self)
        Producer.alive.discard(self)
        if self.during:
            self.during()

    def capsule(self, name=None):
        Producer.done.clear()
        Producer.alive.add(self)
        return api.PyCapsule_New(ctypes.addressof(self.managed), name or self.abi.NAME, None)

    def __dlpack__(self, **keywords):
        self.keywords = keywords
        self.last = self.capsule()
        return self.last

    def __dlpack_device__(self):
        return (self.managed.tensor.device.type, self.managed.tensor.device.id)


@pytest.fixture(params=[Legacy, Versioned], ids=["legacy", "versioned"])
def abi(request):
    return request.param
