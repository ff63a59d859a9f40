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

/// Tensors of any array library without a copy, over DLPack; dtypes and devices likewise.
#[cfg(feature = "extension-module")]
#[pyo3::pymodule(gil_used = true)]
mod dlbridge {
    #[pymodule_export]
    use super::functions::{device, dtype, from_dlpack};
    #[pymodule_export]
    use super::{PyDType, PyDevice, PyTensor};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python has for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
