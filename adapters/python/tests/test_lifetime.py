"""Deleters on any thread, during an exception, and at the end of the interpreter."""

import ctypes
import subprocess
import sys
import textwrap
import threading

import dlbridge
import numpy as np
import pytest

from conftest import Producer, Versioned, api


def test_the_deleter_runs_on_the_thread_that_lets_go(abi):
    producer, seen = Producer(abi), []
    producer.during = lambda: seen.append(threading.current_thread())
    box = [dlbridge.from_dlpack(producer)]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert seen == [thread] and producer.deleted == 1


def test_a_thread_without_the_interpreter_lets_go(abi):
    """A consumer in C calls our deleter from a thread that Python does not know, without the GIL."""
    producer = Producer(abi)
    tensor = dlbridge.from_dlpack(producer)
    capsule = tensor.__dlpack__(max_version=(1, 0))
    managed = api.PyCapsule_GetPointer(capsule, Versioned.NAME)
    deleter = Versioned.from_address(managed).deleter
    api.PyCapsule_SetName(capsule, Versioned.USED)
    del tensor
    assert producer.deleted == 0
    # pthread_create runs the deleter as the thread's function: no Python frame, no thread state.
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    start = ctypes.cast(deleter, ctypes.c_void_p)
    assert libc.pthread_create(ctypes.byref(thread), None, start, ctypes.c_void_p(managed)) == 0
    assert libc.pthread_join(thread, None) == 0
    assert producer.deleted == 1


def test_many_threads_share_and_drop(abi):
    producers = [Producer(abi) for _ in range(8)]
    tensors = [dlbridge.from_dlpack(producer) for producer in producers]
    failures = []

    def work():
        try:
            for _ in range(200):
                for tensor in tensors:
                    assert np.from_dlpack(tensor)[1, 2] == 5
                    dlbridge.from_dlpack(tensor).__dlpack__(max_version=(1, 0))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and all(producer.deleted == 0 for producer in producers)
    tensors.clear()
    assert all(producer.deleted == 1 for producer in producers)


@pytest.mark.parametrize("kind", ["tensor", "legacy capsule", "versioned capsule", "array"])
def test_a_pending_exception_survives_a_deleter_that_raises_and_clears(abi, kind):
    if kind == "legacy capsule":
        abi = Versioned  # what comes in a legacy capsule is read-only, which no other can say
    producer = Producer(abi)

    def meddle():
        try:
            raise ValueError("inside the deleter")
        except ValueError:
            pass

    producer.during = meddle

    def held():
        tensor = dlbridge.from_dlpack(producer)
        match kind:
            case "legacy capsule":
                return tensor.__dlpack__()
            case "versioned capsule":
                return tensor.__dlpack__(max_version=(1, 0))
            case "array":
                return np.from_dlpack(tensor)
        return tensor

    class Bag:
        def __init__(self):
            self.held = held()

    def fail():
        bag = Bag()  # dropped while LookupError is on its way
        raise LookupError("mine")

    try:
        fail()
    except LookupError as error:
        assert error.args == ("mine",)
        error.__traceback__ = None
        del error
    assert producer.deleted == 1


def test_an_exception_set_by_a_deleter_in_c_does_not_leak(abi):
    """The deleter of a careless producer leaves an exception behind."""
    producer = Producer(abi)
    # A deleter of C that sets an exception without any Python frame around.
    trampoline = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyErr_BadArgument", ctypes.pythonapi))
    producer.managed.deleter = ctypes.cast(trampoline, type(producer.deleter))
    tensor = dlbridge.from_dlpack(producer)
    del tensor
    assert sys.exc_info() == (None, None, None)
    assert [1, 2, 3].index(2) == 1  # A leaked exception would surface at the next call.


# The deleter of a tensor of ours, and its argument, as a consumer in C has them.
HELD_BY_C = """
        import ctypes, dlbridge, numpy as np
        capsule = dlbridge.from_dlpack(np.ones(3)).__dlpack__(max_version=(1, 0))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        managed = get(capsule, b"dltensor_versioned")
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        name = ctypes.create_string_buffer(b"used_dltensor_versioned")
        rename(capsule, name)
        deleter = ctypes.c_void_p.from_address(managed + 16).value
        libc = ctypes.CDLL(None)
"""

SCRIPTS = {
    "at module teardown": """
        import dlbridge, numpy as np
        tensor = dlbridge.from_dlpack(np.ones(3))
        array = np.from_dlpack(dlbridge.from_dlpack(np.ones(3)))
        capsule = dlbridge.from_dlpack(np.ones(3)).__dlpack__()
        cycle = [tensor]
        cycle.append(cycle)
    """,
    "by atexit": """
        import atexit, dlbridge, numpy as np
        box = [dlbridge.from_dlpack(np.ones(3))]
        atexit.register(box.clear)
    """,
    "in a daemon thread": """
        import dlbridge, numpy as np, threading, time
        array = np.ones(3)
        def work():
            while True:
                np.from_dlpack(dlbridge.from_dlpack(array))
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
    """,
    "on a thread of C's while the interpreter ends": HELD_BY_C + """
        thread = ctypes.c_ulong()
        arguments = ctypes.byref(thread), None, ctypes.c_void_p(deleter), ctypes.c_void_p(managed)
        class Last:
            # Runs when modules are torn down. A thread that waited for the interpreter would never be joined.
            def __del__(self, libc=libc, thread=thread, arguments=arguments):
                assert libc.pthread_create(*arguments) == 0 and libc.pthread_join(thread, None) == 0
        last = Last()
    """,
    "from C after the interpreter is gone": HELD_BY_C + """
        # Runs when the process exits, after Python has finalised.
        assert libc.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(managed), None) == 0
        del capsule
    """,
}


@pytest.mark.parametrize("when", SCRIPTS)
def test_the_interpreter_ends_in_peace(when):
    script = textwrap.dedent(SCRIPTS[when])
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
