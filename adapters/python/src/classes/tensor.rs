//! `dlbridge.Tensor`: the Python object, and the arguments that become one.

use dlbridge_core::{CopyPolicy, Device, DeviceType};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::ffi::c_int;
use std::fmt::Write;

use crate::classes::home;
use crate::error::into_py_err;
use crate::number::Number;
use crate::protocol::{buffer, capsule, exchange_api, stream};
use crate::types::{PyDType, PyDevice, PyTensor};
use crate::{import, interop};

/// Any object that speaks DLPack, without a copy unless the producer makes one.
impl<'py> FromPyObject<'_, 'py> for PyTensor {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<Self>() {
            Ok(tensor) => Ok(Self { handle: tensor.get().handle.clone() }),
            Err(_) => import::from_dlpack(&object, None, CopyPolicy::IfNeeded),
        }
    }
}

#[pymethods]
impl PyTensor {
    /// The lengths of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.descriptor().shape())
    }

    /// The strides of the axes, in elements (not in bytes), as DLPack has them.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.descriptor().strides().iter())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.descriptor().ndim()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.descriptor().len()
    }

    /// The bytes that the elements take when they are contiguous.
    #[getter]
    fn nbytes(&self) -> usize {
        self.descriptor().nbytes()
    }

    /// The type of one element.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.descriptor().dtype())
    }

    /// Where the memory is.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.descriptor().device())
    }

    /// Whether the memory must not be written.
    #[getter]
    fn readonly(&self) -> bool {
        self.descriptor().flags().is_read_only()
    }

    /// Whether the elements are next to each other in row-major order.
    #[getter]
    fn is_contiguous(&self) -> bool {
        self.descriptor().is_row_major()
    }

    /// The address of the first element; 0 if there are none.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.descriptor().data() as usize
    }

    /// A new tensor in memory of its own, in row-major order. Copies: always.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        self.host_copy(py)
    }

    /// This tensor in row-major order. Copies: if it is not contiguous.
    fn contiguous(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().is_contiguous() {
            return Ok(slf);
        }
        Bound::new(slf.py(), slf.get().host_copy(slf.py())?)
    }

    /// The same memory as a numpy array; of ml_dtypes where numpy itself has no such dtype. Copies: never.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        interop::numpy(slf)
    }

    /// What `numpy.asarray` calls.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keywords = PyDict::new(slf.py());
        keywords.set_item("dtype", dtype)?;
        keywords.set_item("copy", copy)?;
        slf.py().import("numpy")?.call_method("array", (interop::numpy(slf)?,), Some(&keywords))
    }

    /// A capsule for another library, as the array API says.
    ///
    /// Without `max_version`, or below version 1, it is a legacy one, which cannot say that memory is read-only:
    /// `BufferError`. Copies: if asked to, or to bring pinned memory to `dl_device` (1, 0).
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(Number<i64>, Number<i64>)>,
        dl_device: Option<(Number<i32>, Number<i32>)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(stream) = stream {
            let Number(stream) = stream.extract()?;
            stream::check(self.descriptor().device(), stream)?;
        }
        let device = dl_device.map(|(Number(kind), Number(id))| Device::new(DeviceType(kind), id));
        let delivered = self.delivered(py, device, import::policy(copy))?;
        let handle = &delivered.as_ref().unwrap_or(self).handle;
        match max_version {
            Some((Number(major), Number(minor))) if major >= 1 => {
                let mut managed = handle.export();
                if major == 1 {
                    // SAFETY: just made, and ours.
                    let version = unsafe { &mut managed.as_mut().version };
                    version.minor = version.minor.min(u32::try_from(minor).unwrap_or(0));
                }
                // SAFETY: as above, and given away here.
                unsafe { capsule::give(py, managed) }
            }
            _ => {
                let managed = handle.export_legacy().map_err(into_py_err)?;
                // SAFETY: just made, and ours, and given away here.
                unsafe { capsule::give(py, managed) }
            }
        }
    }

    /// The device as DLPack's `(type, id)`.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = self.descriptor().device();
        (device.kind().0, device.id())
    }

    /// The class `dlbridge.Tensor`, also for a tensor of another extension module.
    #[getter(__class__)]
    fn class<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyType>> {
        home::class(slf)
    }

    /// The table of C functions that DLPack 1.3 defines, in a capsule.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        exchange_api::capsule(py)
    }

    /// # Safety
    /// Python calls it with a buffer to be filled in.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: axiom *buffer*.
        unsafe { buffer::fill(slf, view, flags) }
    }

    /// # Safety
    /// Python calls it with a buffer that `__getbuffer__` has filled in.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: axiom *buffer*.
        unsafe { buffer::release(view) };
    }

    fn __len__(&self) -> PyResult<usize> {
        let length = self.descriptor().shape().first().map(|length| *length as usize);
        length.ok_or_else(|| PyTypeError::new_err("len() of a tensor without axes"))
    }

    fn __repr__(&self) -> String {
        let tensor = self.descriptor();
        let shape: Vec<_> = tensor.shape().iter().map(i64::to_string).collect();
        let mut text = format!("dlbridge.Tensor({}[{}]", tensor.dtype(), shape.join(", "));
        if !tensor.is_row_major() {
            let strides: Vec<_> = tensor.strides().iter().map(|stride| stride.to_string()).collect();
            let _ = write!(text, ", strides [{}]", strides.join(", "));
        }
        let _ = write!(text, ", {}{})", tensor.device(), if self.readonly() { ", read-only" } else { "" });
        text
    }
}
