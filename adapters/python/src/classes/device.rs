//! `dlbridge.Device`: a device as array-API RFC #972 exchanges it, from and to every library's own.

use dlbridge_core::{Device, DeviceType};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::classes::home;
use crate::error::into_py_err;
use crate::interop;
use crate::number::Number;
use crate::types::PyDevice;

/// Any object that names a device.
impl<'py> FromPyObject<'_, 'py> for PyDevice {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        device_of(&object).map(Self)
    }
}

/// As the Python function `device`.
pub(crate) fn device_of(object: &Bound<'_, PyAny>) -> PyResult<Device> {
    follow(object, interop::DEEPEST)
}

fn follow(object: &Bound<'_, PyAny>, depth: u8) -> PyResult<Device> {
    if let Ok(device) = object.cast::<PyDevice>() {
        return Ok(device.get().0);
    }
    let py = object.py();
    if let Some(method) = object.getattr_opt(intern!(py, "__dlpack_device__"))? {
        return pair(&method.call0()?);
    }
    if object.is_instance_of::<PyTuple>() {
        return pair(object);
    }
    if let Ok(name) = object.cast::<PyString>() {
        return name.to_str()?.parse().map_err(into_py_err);
    }
    if let Some(device) = interop::device(object)? {
        return Ok(device);
    }
    match object.getattr_opt(intern!(py, "device"))? {
        Some(device) if depth > 0 && !device.is(object) && !device.is_callable() => follow(&device, depth - 1),
        _ => Err(PyTypeError::new_err(format!("expected a device, found {}", object.repr()?))),
    }
}

fn pair(object: &Bound<'_, PyAny>) -> PyResult<Device> {
    let (Number(kind), Number(id)) = object.extract()?;
    Ok(Device::new(DeviceType(kind), id))
}

#[pymethods]
impl PyDevice {
    /// DLPack's device type.
    #[getter]
    fn r#type(&self) -> i32 {
        self.0.kind().0
    }

    /// The index among the devices of that type.
    #[getter]
    fn id(&self) -> i32 {
        self.0.id()
    }

    /// `(type, id)`, as RFC #972 of the array API exchanges it.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (self.r#type(), self.id())
    }

    /// The same device of a library, given as a module or by name: torch, jax, tvm_ffi, numpy, array_api_strict.
    ///
    /// `TypeError` if the library has no such device.
    #[pyo3(signature = (library, /))]
    fn to<'py>(slf: &Bound<'py, Self>, library: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        interop::device_to(slf, library)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("dlbridge.device('{}')", self.0)
    }

    fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        home::equals(slf, other, || Ok(device_of(other)? == slf.get().0))
    }

    /// That of the numbers: the same in every extension module.
    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        slf.get().__dlpack_device__().into_pyobject(slf.py())?.hash()
    }

    /// The class `dlbridge.Device`, also for one of another extension module.
    #[getter(__class__)]
    fn class<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyType>> {
        home::class(slf)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.py().import("dlbridge")?.getattr("device")?, (slf.get().__str__(),)))
    }
}
