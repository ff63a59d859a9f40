//! Which Python exception an error becomes.

use dlbridge_core::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyValueError};

/// The Python exception for an error, with its message: `MemoryError`, `ValueError` for a name that names nothing, and
/// for all else `BufferError`, as the array API asks.
#[must_use]
pub fn into_py_err(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::OutOfMemory { .. } => PyMemoryError::new_err(message),
        Error::UnknownName { .. } => PyValueError::new_err(message),
        _ => PyBufferError::new_err(message),
    }
}
