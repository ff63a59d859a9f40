//! Which Python exception an error becomes, and which of Python's exceptions may be made up for.

use dlbridge_core::Error;
use pyo3::exceptions::{PyBufferError, PyException, PyMemoryError, PyValueError};
use pyo3::{PyErr, Python};

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

/// Whether an error may be made up for by another way: not an interrupt, nor a lack of memory.
pub(crate) fn is_ordinary(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyException>(py) && !error.is_instance_of::<PyMemoryError>(py)
}
