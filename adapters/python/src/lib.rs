//! Tensors, dtypes and devices between Python and Rust over DLPack: the Python module `dlbridge`, and the conversions
//! behind it for other pyo3 crates.
//!
//! | type | from Python | to Python |
//! |---|---|---|
//! | [`PyTensor`] | any object with `__dlpack__`, by the C exchange API where its type has it; capsules | `dlbridge.Tensor` |
//! | [`PyDType`] | any object with `__dlpack_data_type__`; dtypes of numpy, torch, jax, …; strings | `dlbridge.DType` |
//! | [`PyDevice`] | any object with `__dlpack_device__`; devices of torch, jax, …; strings | `dlbridge.Device` |
//!
//! Each is an argument and a return type of a `#[pyfunction]`:
//!
//! ```
//! use dlbridge_core::{Reason, Tensor};
//! use dlbridge_python::PyTensor;
//! use pyo3::prelude::*;
//!
//! /// numpy, torch, jax and others read the result without a copy.
//! #[pyfunction]
//! fn ramp(len: usize) -> PyResult<PyTensor> {
//!     let elements: Vec<f32> = (0..len).map(|n| n as f32).collect();
//!     Ok(Tensor::new(elements, &[len]).expect("a vector of that length").into())
//! }
//!
//! #[pyfunction]
//! fn sum(array: PyTensor) -> PyResult<f32> {
//!     // SAFETY: this thread is attached to Python, and the caller keeps other threads from writing meanwhile.
//!     let tensor = unsafe { array.assume_unwritten() };
//!     Ok(tensor.view().elements::<f32>().map_err(dlbridge_python::into_py_err)?.sum())
//! }
//! ```
//!
//! # Who may write
//! In Python an array is written through any name that it has, at any time that Python runs. A [`PyTensor`] therefore
//! holds an [`Aliased`](dlbridge_core::Aliased) tensor: its type, shape, address and lifetime are safe to use, and its
//! elements take an `unsafe` call that names the promise. In the other direction, a
//! [`Tensor`](dlbridge_core::Tensor) that goes to Python is given away for good, and its read-only flag is honoured by
//! every consumer: where a protocol cannot say it, the export is a `BufferError`.
//!
//! # Threads
//! Memory of Rust is freed on whatever thread lets go of it last, without the interpreter. The deleter of a Python
//! producer runs with this thread attached to the interpreter and with a pending exception put aside; once the
//! interpreter is gone, that memory is leaked.

mod buffer;
mod capsule;
mod device;
mod dtype;
mod error;
mod exchange_api;
mod handle;
mod import;
mod interop;
mod tensor;

pub use device::PyDevice;
pub use dtype::PyDType;
pub use dlbridge_core;
pub use error::into_py_err;
pub use import::from_dlpack;
pub use pyo3;
pub use tensor::PyTensor;

/// Tensors of any array library without a copy, over DLPack; dtypes and devices likewise.
#[cfg(feature = "extension-module")]
#[pyo3::pymodule]
mod dlbridge {
    #[pymodule_export]
    use super::device::{PyDevice, device};
    #[pymodule_export]
    use super::dtype::{PyDType, dtype};
    #[pymodule_export]
    use super::import::from_dlpack_function;
    #[pymodule_export]
    use super::tensor::PyTensor;
}
