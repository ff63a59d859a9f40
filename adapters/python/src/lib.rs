//! Tensors, dtypes and devices between Python and Rust over DLPack: the Python module `dlbridge`, and the conversions
//! behind it for other pyo3 crates.
//!
//! | type | from Python | to Python |
//! |---|---|---|
//! | [`PyTensor`] | any object with `__dlpack__`, by the C exchange API where its type has it; numpy's arrays by their C struct; capsules | `dlbridge.Tensor` |
//! | [`PyDType`] | any object with `__dlpack_data_type__`; dtypes of numpy, torch, jax, …; strings | `dlbridge.DType` |
//! | [`PyDevice`] | any object with `__dlpack_device__`; devices of torch, jax, …; strings | `dlbridge.Device` |
//!
//! Each is an argument and a return type of a `#[pyfunction]`:
//!
//! ```text
//! /// burn's softmax on the memory of the array that comes in; numpy, torch and others take the result as it is.
//! #[pyfunction]
//! fn burn_softmax(x: PyTensor) -> PyResult<PyTensor> {
//!     // SAFETY: this call keeps the interpreter, and is done with the memory when it returns.
//!     let x: Burn<2> = unsafe { x.assume_unwritten() }.share().map_err(into_py_err)?;
//!     let y: Tensor = softmax(x, 1).share().map_err(into_py_err)?;
//!     Ok(y.into())
//! }
//! ```
//!
//! The example `examples/python` of the repository has it, and runs.
//!
//! # Who may write
//! In Python an array is written through any name that it has, at any time that Python runs. A [`PyTensor`] therefore
//! holds an [`Aliased`](dlbridge_core::Aliased) tensor: its type, shape, address and lifetime are safe to use, and its
//! elements take an `unsafe` call that names the promise. In the other direction, a
//! [`Tensor`](dlbridge_core::Tensor) that goes to Python is given away for good. Its read-only flag goes along, and
//! where a protocol cannot say it, the export is a `BufferError`. numpy, jax and pyarrow obey it; torch and tvm-ffi do
//! not.
//!
//! A legacy capsule says nothing of rights, and immutable arrays come in it: such a tensor is read-only here, as it is
//! in numpy, unless it comes from a class of numpy's, torch's or cupy's own, whose legacy capsules are never immutable.
//!
//! # More than elements
//! DLPack carries elements, and some arrays are more than theirs. What would arrive as something else is a
//! `BufferError` that says what to pass instead: subclasses of numpy's array that leave `__dlpack__` to numpy (masked
//! arrays, arrays with units), but for those of numpy's that only behave otherwise (`memmap`, `matrix`, `recarray`);
//! torch's conjugate and negated views, and what requires grad; objects that hand on the `__dlpack__` of something
//! within them. Whoever has a `__dlpack__` of its own, subclasses included, answers for it.
//!
//! # Several extension modules
//! Each has classes of its own, as pyo3 makes them. By `__class__` their objects say that they stand for the class of
//! the Python module `dlbridge`, if somebody has imported that: `isinstance(x, dlbridge.Tensor)` is true for a
//! [`PyTensor`] of any of them.
//!
//! # Threads
//! Memory that Rust has given to Python is freed on whatever thread lets go of it last, without the interpreter. What
//! came from a producer is let go of with this thread attached to the interpreter and with a pending exception put
//! aside. Once the interpreter is gone, that memory is leaked; while it ends, by all threads but the one that ends it.
//!
//! The module asks for Python's global lock, which capsules and arrays are handed over under.
//!
//! # What is trusted
//! A capsule is believed to hold what its name says. Nothing in it could prove that, to this or to any other consumer
//! of DLPack. In Python, nobody makes a capsule but modules in C, and `ctypes`, which can do anything. In Rust, anybody
//! does, in safe code: pyo3's `PyCapsule::new_with_value` gives any value any name, and [`from_dlpack`] or
//! `extract::<PyTensor>()` would follow the addresses in it. So the safe functions of this crate are sound on one
//! condition: **whoever names a capsule `dltensor`, `dltensor_versioned` or `dlpack_exchange_api` puts in there what
//! DLPack says**, with the care of an `unsafe` block.
//!
//! A class is believed about the C exchange API that it names: Python code can name that of another class, whose
//! functions may be written for objects of that class only, as DLPack allows. Those of torch and of this crate look.
//! And libraries are believed about their own arrays: numpy, for one, makes an array over whatever address an
//! `__array_interface__` names.
//!
//! Of itself, this crate follows no address that Python code can write as a number, nor the integer by which DLPack 1.2
//! had the C exchange API.
//!
//! # What the proofs rest on
//! Axioms about what is outside of this repository, each with where it is written and the tests that fail if it is no
//! longer so. A table is a C exchange API; "attached" is a thread that Python knows and that may call it.
//!
//! | axiom | claim | where it was read | tests |
//! |---|---|---|---|
//! | *capsule* | a capsule named as DLPack says holds such a managed tensor, with as many lengths and strides as axes, over memory that stays allocated until the deleter is called; who renames the capsule owns it; threads that are attached may call the deleter | `dlpack.h` and `python_spec.rst` of DLPack 1.3 | none for the claim itself; all numbers are checked, see `test_bad_input.py` |
//! | *table* | a capsule named `dlpack_exchange_api` holds a table that lives as long as the process, as do those that it names; a thread that is attached may call its functions with objects of a class that names it, and of subclasses; the tensor that they give is as in *capsule*; our own are called likewise | `dlpack.h` of DLPack 1.3 | `test_exchange_api.py`; for classes that name the table of another, `test_the_table_of_another_class_refuses_the_object` |
//! | *bytes* | memory that a producer hands over has some value in every byte; whoever writes it without the interpreter's lock while an attached thread copies it has a race, as with the copies of every array library: that program is at fault | numpy 2.4, "Thread Safety"; the array API leaves it open | – |
//! | *lock* | while a thread is attached and Python has its global lock, no other changes objects of Python's or numpy's | CPython 3.11 to 3.14, "Thread states and the global interpreter lock" | – |
//! | *head* | with that lock, an object begins with two words, and what its type adds comes next | `Include/object.h` of CPython 3.11 to 3.14 | `test_numpy.py` |
//! | *vectorcall* | where CPython 3.11 exports `PyObject_VectorcallMethod`, it is as in the limited API of 3.12 | `Include/cpython/abstract.h` of CPython 3.11 | every test with a capsule, on 3.11: `test_bad_input.py` |
//! | *buffer* | Python has a buffer filled in that it provides, and releases it once, as it was filled in | "Buffer Object Structures" of CPython 3.11 to 3.14 | `test_the_buffer_protocol_has_the_letters_of_numpy`, `test_buffers_refuse_what_they_cannot_say` |
//! | *numpy's table* | the capsule `_ARRAY_API` of `numpy._core._multiarray_umath` holds a table of at least three pointers; if the third is the class of arrays, the first is `PyArray_GetNDArrayCVersion` | `__multiarray_api.h` of numpy 2.4.6 | `test_the_types_of_ml_dtypes_are_shared`, `test_another_table_of_functions_is_not_taken_for_numpys` |
//! | *numpy's structs* | if that function says `0x02000000`, arrays, those of subclasses too, begin with `PyArrayObject_fields`, and their dtypes with the fields that all descriptors of numpy 2 have | `ndarraytypes.h` of numpy 2.4.6 | `test_every_dtype_and_layout_as_by_a_capsule` |
//! | *numpy's memory* | what the lengths and strides of an array reach stays allocated while somebody holds a reference to it (`as_strided` and `resize(refcheck=False)` break this, and numpy leaves that to their callers) | `ndarray.resize` and `as_strided` of numpy 2.4 | `test_the_array_lives_as_long_as_its_tensors` |

mod classes;
mod error;
pub mod functions;
mod handle;
mod import;
mod interop;
mod library;
mod number;
mod protocol;
mod types;

pub use dlbridge_core;
pub use error::into_py_err;
pub use import::from_dlpack;
pub use pyo3;
pub use types::{PyDType, PyDevice, PyTensor};

/// The native module of the package `dlbridge`, whose Python part is in `package/`.
#[cfg(feature = "extension-module")]
#[pyo3::pymodule(gil_used = true)]
mod _dlbridge {
    #[pymodule_export]
    use super::functions::{device, dtype, from_dlpack};
    #[pymodule_export]
    use super::{PyDType, PyDevice, PyTensor};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python has for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
