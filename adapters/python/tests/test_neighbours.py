"""Every library as producer and as consumer, by address; what each does differently is the table in NEIGHBOURS.md.

DLBRIDGE_BLESS=1 adapters/python/test.sh -k table
writes the table anew.
"""

import faulthandler
import os
import pathlib
import signal
import warnings

import dlbridge
import ml_dtypes
import numpy as np
import pytest
import torch
import tvm_ffi

from conftest import Legacy, Producer, Versioned, name_of
from neighbours import ALL, ARROW, JAX, NUMPY, STRICT, TORCH, TVM

every = pytest.mark.parametrize("library", ALL, ids=str)
ALIGN = 64


def aligned(shape=(4, 8), dtype=np.float32):
    """A numpy array at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + ALIGN, np.uint8)
    start = -memory.ctypes.data % ALIGN
    array = memory[start : start + size].view(dtype).reshape(shape)
    array[...] = np.arange(array.size).reshape(shape)
    return array


@every
def test_what_a_library_makes_is_shared(library):
    source = library.make(aligned())
    tensor = dlbridge.from_dlpack(source)
    assert tensor.data_ptr == library.address(source)
    assert tensor.size == 32 and str(tensor.dtype) == "float32" and str(tensor.device) == "cpu"
    assert np.array_equal(tensor.numpy().ravel(), np.arange(32, dtype=np.float32))
    assert tensor.readonly == (library in (ARROW, JAX))
    del source
    assert tensor.numpy().ravel()[31] == 31


@every
def test_a_library_shares_what_it_is_given(library):
    array = aligned()
    taken = library.take(dlbridge.from_dlpack(array))
    assert library.address(taken) == array.ctypes.data
    assert np.array_equal(library.array(taken), array)
    del array
    assert library.array(taken)[3, 7] == 31


@pytest.mark.parametrize("consumer", ALL, ids=str)
@pytest.mark.parametrize("producer", ALL, ids=str)
def test_memory_goes_from_any_library_to_any_other(producer, consumer):
    source = producer.make(aligned())
    tensor = dlbridge.from_dlpack(source)
    if tensor.readonly and consumer is JAX:
        # It asks for a legacy capsule, which cannot say so.
        with pytest.raises(BufferError, match="read-only"):
            consumer.take(tensor)
        tensor = tensor.copy()
        assert np.array_equal(consumer.array(consumer.take(tensor)).ravel(), np.arange(32, dtype=np.float32))
        return
    taken = consumer.take(tensor)
    assert np.array_equal(consumer.array(taken).ravel(), np.arange(32, dtype=np.float32))
    shares = consumer.address(taken) == producer.address(source)
    # jax alone copies, and only what is not aligned to 64 bytes.
    assert shares or consumer is JAX and producer.address(source) % ALIGN


@pytest.mark.parametrize("library", [NUMPY, TORCH, TVM], ids=str)
def test_writes_are_seen_on_both_sides(library):
    source = library.make(aligned())
    view = dlbridge.from_dlpack(source).numpy()
    view[0, 0] = 77
    assert library.array(source)[0, 0] == 77
    array = aligned()
    taken = library.array(library.take(dlbridge.from_dlpack(array)))
    taken[0, 1] = 55
    assert array[0, 1] == 55


TORCH_VIEWS = {
    # What torch's own `numpy()` refuses, with the same words of what to do; its C exchange API hands out all of them.
    "resolve_conj": torch.tensor([1 + 2j, 3 - 4j]).conj(),
    "resolve_neg": torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
    "resolve_neg ": torch._neg_view(torch.tensor([1 + 2j])),
    "detach": torch.ones(2, requires_grad=True),
    "detach ": torch.nn.Parameter(torch.ones(2)) * 2,
}


@pytest.mark.parametrize("way", TORCH_VIEWS)
def test_torch_views_that_are_not_their_memory_are_refused(way):
    view, way = TORCH_VIEWS[way], way.strip()
    with pytest.raises(RuntimeError, match=way):
        view.numpy()
    for wishes in ({}, {"copy": True}, {"copy": False}, {"device": "cpu"}):
        with pytest.raises(BufferError, match=f"{way}|conjugate|detach"):
            dlbridge.from_dlpack(view, **wishes)
    with pytest.raises(BufferError, match=way):
        dlbridge.from_dlpack(view)
    plain = getattr(view, way)()
    assert np.array_equal(dlbridge.from_dlpack(plain).numpy(), plain.numpy())


def test_plain_tensors_of_torch_are_not_refused():
    for tensor in (torch.nn.Parameter(torch.ones(2), requires_grad=False), torch.nn.Buffer(torch.ones(2))):
        assert dlbridge.from_dlpack(tensor).data_ptr == tensor.data_ptr()
    complexes = torch.tensor([1 + 2j])
    assert dlbridge.from_dlpack(complexes).data_ptr == complexes.data_ptr()
    assert dlbridge.from_dlpack(complexes.imag).numpy() == 2
    assert dlbridge.from_dlpack(complexes.conj().conj()).numpy() == 1 + 2j


def test_a_masked_tensor_of_torch_is_refused():
    with warnings.catch_warnings(action="ignore"):
        masked = torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))
    with pytest.raises(BufferError):
        dlbridge.from_dlpack(masked)


def test_torch_says_why_it_exports_no_sparse_tensor():
    with pytest.raises(BufferError, match="strided"):
        dlbridge.from_dlpack(torch.eye(2).to_sparse())


def test_a_copy_that_jax_makes_is_the_consumers_own():
    source = JAX.make(aligned())
    assert dlbridge.from_dlpack(source).readonly
    copy = dlbridge.from_dlpack(source, copy=True)
    assert not copy.readonly and copy.data_ptr != JAX.address(source)


def test_jax_arrays_are_read_only_also_by_a_bare_capsule():
    source = JAX.make(aligned())
    for tensor in (dlbridge.from_dlpack(source), dlbridge.from_dlpack(source.__dlpack__())):
        assert tensor.readonly and not np.from_dlpack(tensor).flags.writeable
        assert tensor.data_ptr == JAX.address(source)


def test_torch_before_2_9_gives_legacy_capsules_that_may_be_written(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "__dlpack__", lambda self, stream=None: torch.utils.dlpack.to_dlpack(self))
    assert name_of(torch.ones(2).__dlpack__()) == Legacy.NAME
    # Asked with a keyword, so that it is not by the C exchange API, which torch had not, either.
    assert not dlbridge.from_dlpack(torch.ones(2), copy=False).readonly

    class Own(torch.Tensor):
        """Whose memory comes from somebody else."""

        def __dlpack__(self, **_):
            return JAX.make(aligned()).__dlpack__()

    assert dlbridge.from_dlpack(torch.ones(2).as_subclass(Own)).readonly


def test_the_exchange_api_is_used_where_a_type_has_it(monkeypatch):
    """torch is not asked for a capsule."""

    def shut(self, **_):
        raise ConnectionError

    monkeypatch.setattr(torch.Tensor, "__dlpack__", shut)
    source = TORCH.make(aligned())
    assert dlbridge.from_dlpack(source).data_ptr == TORCH.address(source)
    with pytest.raises(ConnectionError):
        dlbridge.from_dlpack(source, copy=False)


def test_a_subclass_with_its_own_dlpack_is_asked_by_it():
    """It may know of more than the C exchange API that it inherits."""

    class Own(torch.Tensor):
        def __dlpack__(self, **_):
            raise ConnectionError

    with pytest.raises(ConnectionError):
        dlbridge.from_dlpack(torch.ones(2).as_subclass(Own))


@pytest.mark.parametrize("attribute", [None, 3.5, "text", object()])
def test_an_odd_exchange_api_is_passed_over(attribute):
    class Odd:
        __dlpack_c_exchange_api__ = attribute

        def __dlpack__(self, **_):
            return dlbridge.from_dlpack(np.ones(2)).__dlpack__()

    assert dlbridge.from_dlpack(Odd()).size == 2


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_ml_dtypes_come_and_go(name):
    scalar = getattr(ml_dtypes, name)
    array = np.array([0.5, 1, 2, 4]).astype(scalar)
    source = JAX.make(array)
    tensor = dlbridge.from_dlpack(source)
    assert str(tensor.dtype) == name and tensor.data_ptr == JAX.address(source)
    for back in (tensor.numpy(), np.asarray(tensor), tensor.copy().numpy()):
        assert back.dtype == scalar and np.array_equal(back, array)
    if hasattr(torch, name):
        for given in (tensor, dlbridge.from_dlpack(array)):
            taken = torch.from_dlpack(given)
            assert taken.dtype == getattr(torch, name) and taken.float().tolist() == [0.5, 1, 2, 4]
            assert dlbridge.from_dlpack(taken).numpy().tolist() == array.tolist()
        assert taken.data_ptr() == array.ctypes.data


# The table.


def attempt(make, take, address=None):
    """What becomes of a tensor: shared, copied, or which exception. torch may abort, so it is tried in a process apart."""
    if take is TORCH.take:
        return forked(lambda: attempted(make, take, address))
    return attempted(make, take, address)


def forked(work):
    read, write = os.pipe()
    with warnings.catch_warnings(action="ignore"):  # The child touches nothing of jax, whose threads it lacks.
        child = os.fork()
    if child == 0:
        faulthandler.disable()
        signal.alarm(60)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(write, work().encode())
        os._exit(0)
    os.close(write)
    with open(read) as found:
        text = found.read()
    return text if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else "**aborts the process**"


def attempted(make, take, address):
    try:
        tensor = make()
        taken = take(tensor)
    except Exception as error:
        return f"`{type(error).__name__}`"
    if not address:
        return "yes"
    return "shared" if address(taken) == tensor.data_ptr else "copied"


def gives(library):
    """By which way the library hands out a tensor to us."""
    source = library.make(aligned())
    if type(source) is np.ndarray:
        return "its C struct"
    if hasattr(type(source), "__dlpack_c_exchange_api__"):
        return "C exchange API"
    try:
        capsule = source.__dlpack__(max_version=(1, 3))
    except TypeError:
        capsule = source.__dlpack__()
    return {Versioned.NAME: "versioned capsule", Legacy.NAME: "legacy capsule"}[name_of(capsule)]


def asks(library):
    """How the library asks for a tensor that has no C exchange API: the keywords of each call, until one works."""
    calls = []

    class Asked(Producer):
        def __dlpack__(self, **keywords):
            calls.append(keywords)
            return super().__dlpack__(**keywords)

    for abi in (Versioned, Legacy):
        calls.clear()
        try:
            library.take(Asked(abi, dtype=(2, 32, 1)))
            break
        except Exception:
            continue
    text = [", ".join(f"`{k}={v}`" for k, v in call.items() if v is not None) or "no keyword" for call in calls]
    return "; then ".join(text)


DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "complex64", "complex128", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn",
    "float4_e2m1fn", "float4_e2m1fnx2", "int4", "float32x4",
]  # fmt: skip


def of_type(name):
    memory = aligned((64,), np.uint8)
    memory[:] = 0
    producer = Producer(Versioned, shape=(2,), dtype=dlbridge.dtype(name).__dlpack_data_type__())
    producer.managed.tensor.data, producer.keep = memory.ctypes.data, memory
    return dlbridge.from_dlpack(producer)


def read_only():
    array = aligned()
    array.flags.writeable = False
    return dlbridge.from_dlpack(array)


def column(library):
    def taken(make):
        return attempt(make, library.take, library.address)

    array = aligned()
    return {
        "version": library.version,
        "gives us": gives(library),
        "its memory arrives": "read-only" if dlbridge.from_dlpack(library.make(array)).readonly else "writable",
        "asks others for": asks(library),
        "row-major": taken(lambda: dlbridge.from_dlpack(array)),
        "transposed": taken(lambda: dlbridge.from_dlpack(array.T)),
        "sliced": taken(lambda: dlbridge.from_dlpack(array[::2, :6])),
        "reversed": taken(lambda: dlbridge.from_dlpack(array[::-1])),
        "broadcast, writable": taken(lambda: dlbridge.from_dlpack(Producer(Versioned, strides=(0, 1)))),
        "4 bytes off 64": taken(lambda: dlbridge.from_dlpack(array.ravel()[1:9])),
        "0-d": attempt(lambda: dlbridge.from_dlpack(np.array(3, np.float32)), library.take),
        "empty": attempt(lambda: dlbridge.from_dlpack(np.ones((0, 3), np.float32)), library.take),
        "read-only": taken(read_only),
        "pinned by CUDA": attempt(lambda: dlbridge.from_dlpack(Producer(Versioned, device=(3, 0))), library.take),
    }


def dtype(library, name):
    """Whether the library takes a tensor of that type, and whether it has a dtype of that name."""
    takes = attempt(lambda: of_type(name), library.take) == "yes"
    try:
        knows = dlbridge.dtype(dlbridge.dtype(name).to(library.module)) == dlbridge.dtype(name)
    except TypeError:
        knows = False
    return {(True, True): "both", (True, False): "tensor", (False, True): "dtype", (False, False): "–"}[takes, knows]


def markdown(first, rows):
    rows = [[first, *(library.name for library in ALL)], *rows]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n"


def test_the_table_of_neighbours_is_what_happens():
    columns = [column(library) for library in ALL]
    compare("neighbours", markdown("", [[row, *(column[row] for column in columns)] for row in columns[0]]))


def test_the_table_of_dtypes_is_what_happens():
    compare("dtypes", markdown("dtype", [[f"`{name}`", *(dtype(library, name) for library in ALL)] for name in DTYPES]))


def compare(name, made):
    path = pathlib.Path(__file__).parent.parent / "NEIGHBOURS.md"
    text = path.read_text()
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    head, rest = text.split(begin)
    found, tail = rest.split(end)
    if os.environ.get("DLBRIDGE_BLESS"):
        path.write_text(head + begin + made + end + tail)
    else:
        assert found == made, "NEIGHBOURS.md is stale; see the head of this file"
