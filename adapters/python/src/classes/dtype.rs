//! `dlbridge.DType`: an element type as array-API RFC #972 exchanges it, from and to every library's own.

use dlbridge_core::{DataType, DataTypeCode};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::classes::home;
use crate::error::into_py_err;
use crate::interop;
use crate::number::Number;
use crate::types::PyDType;

/// Any object that names an element type.
impl<'py> FromPyObject<'_, 'py> for PyDType {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        dtype_of(&object).map(Self)
    }
}

/// As the Python function `dtype`.
pub(crate) fn dtype_of(object: &Bound<'_, PyAny>) -> PyResult<DataType> {
    follow(object, interop::DEEPEST)
}

fn follow(object: &Bound<'_, PyAny>, depth: u8) -> PyResult<DataType> {
    if let Ok(dtype) = object.cast::<PyDType>() {
        return Ok(dtype.get().0);
    }
    let py = object.py();
    let is_type = object.is_instance_of::<PyType>();
    if !is_type {
        if let Some(method) = object.getattr_opt(intern!(py, "__dlpack_data_type__"))? {
            return triple(&method.call0()?);
        }
        if object.is_instance_of::<PyTuple>() {
            return triple(object);
        }
        if let Ok(name) = object.cast::<PyString>() {
            return name.to_str()?.parse().map_err(into_py_err);
        }
    }
    if let Some(name) = interop::dtype_name(object)? {
        let found = interop::parse_dtype(&name);
        return found.ok_or_else(|| PyBufferError::new_err(format!("DLPack has no element type like {object}")));
    }
    // Arrays, and jax's scalar types.
    match object.getattr_opt(interop::dtype_attribute(object)?)? {
        Some(dtype) if depth > 0 && !dtype.is(object) && (!is_type || interop::dtype_name(&dtype)?.is_some()) => {
            follow(&dtype, depth - 1)
        }
        _ => Err(PyTypeError::new_err(format!("expected a dtype, found {}", object.repr()?))),
    }
}

fn triple(object: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let (Number(code), Number(bits), Number(lanes)) = object.extract()?;
    Ok(DataType::new(DataTypeCode(code), bits, lanes))
}

#[pymethods]
impl PyDType {
    /// DLPack's type code.
    #[getter]
    fn code(&self) -> u8 {
        self.0.code().0
    }

    /// Bits of one lane; for complex numbers both parts together.
    #[getter]
    fn bits(&self) -> u8 {
        self.0.bits()
    }

    /// Lanes of one element; 1 for a scalar.
    #[getter]
    fn lanes(&self) -> u16 {
        self.0.lanes()
    }

    /// Bytes of one element; `None` if they are no whole number.
    #[getter]
    fn itemsize(&self) -> Option<usize> {
        self.0.itemsize()
    }

    /// The name, as the array world has it: "float32", "bfloat16", "float8_e4m3fn", "float32x4".
    #[getter]
    fn name(&self) -> String {
        self.0.to_string()
    }

    /// `(code, bits, lanes)`, as RFC #972 of the array API exchanges it.
    fn __dlpack_data_type__(&self) -> (u8, u8, u16) {
        (self.code(), self.bits(), self.lanes())
    }

    /// The same dtype of a library, given as a module or by name: numpy (with ml_dtypes), torch, jax, pyarrow, tvm_ffi,
    /// or any that has an attribute of that name.
    ///
    /// Never a reinterpretation: `TypeError` if the library lacks it.
    #[pyo3(signature = (library, /))]
    fn to<'py>(slf: &Bound<'py, Self>, library: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        interop::dtype_to(slf, library)
    }

    fn __str__(&self) -> String {
        self.name()
    }

    fn __repr__(&self) -> String {
        format!("dlbridge.dtype('{}')", self.0)
    }

    fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        home::equals(slf, other, || Ok(dtype_of(other)? == slf.get().0))
    }

    /// That of the numbers: the same in every extension module.
    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        slf.get().__dlpack_data_type__().into_pyobject(slf.py())?.hash()
    }

    /// The class `dlbridge.DType`, also for one of another extension module.
    #[getter(__class__)]
    fn class<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyType>> {
        home::class(slf)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.py().import("dlbridge")?.getattr("dtype")?, (slf.get().name(),)))
    }
}
