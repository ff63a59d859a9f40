//! The functions of the Python module, for modules that want them as their own: `#[pymodule_export] use
//! dlbridge_python::functions::from_dlpack`.

use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, intern};

use crate::classes::device::device_of;
use crate::classes::dtype::dtype_of;
use crate::import;
use crate::types::{PyDType, PyDevice};

/// A tensor from any object with `__dlpack__`, from any of its capsules, or from one whose type has the C exchange API.
///
/// `Copies:` as `copy` says, which is as in the array API, as `device` is: `copy=False` is a `BufferError` where only a
/// copy would do; without it, only if the producer has to. An object with
/// `__dlpack_data_type__` becomes a `DType`, one with `__dlpack_device__` alone a `Device`.
///
/// # Errors
/// `BufferError` for what cannot be exchanged or is more than its elements, `TypeError` for what is no tensor,
/// `ValueError` for a consumed capsule or a number out of range, and whatever the producer raises.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
pub fn from_dlpack<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let wished = device.map(device_of).transpose()?;
    match import::from_dlpack(x, wished, import::policy(copy)) {
        Ok(tensor) => Ok(Bound::new(py, tensor)?.into_any()),
        Err(error) if device.is_some() || copy.is_some() || import::is_offered(x)? => Err(error),
        Err(_) if x.hasattr(intern!(py, "__dlpack_data_type__"))? => PyDType(dtype_of(x)?).into_bound_py_any(py),
        Err(_) if x.hasattr(intern!(py, "__dlpack_device__"))? => PyDevice(device_of(x)?).into_bound_py_any(py),
        Err(error) => Err(error),
    }
}

/// The `DType` of an object: one with `__dlpack_data_type__`, a dtype of numpy, ml_dtypes, torch, jax, pyarrow or
/// tvm-ffi, a scalar type of numpy, an array, a string ("float32", "float32x4"), or DLPack's `(code, bits, lanes)`.
///
/// Never a reinterpretation: `TypeError` for what is no dtype, `ValueError` for an unknown name or a number out of
/// range, `BufferError` for a dtype that DLPack lacks.
#[pyfunction]
#[pyo3(signature = (x, /))]
pub fn dtype(x: PyDType) -> PyDType {
    x
}

/// The `Device` of an object: one with `__dlpack_device__` (arrays too), a device of torch, jax, tvm-ffi or
/// array-api-strict, a string ("cpu", "cuda:1"), or DLPack's `(type, id)`.
///
/// `TypeError` for what is no device, `ValueError` for an unknown name or a number out of range.
#[pyfunction]
#[pyo3(signature = (x, /))]
pub fn device(x: PyDevice) -> PyDevice {
    x
}
