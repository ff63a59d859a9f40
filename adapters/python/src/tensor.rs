//! `dlbridge.Tensor`: the Python object, and what it is to Rust.

use dlbridge_core::{Aliased, CopyPolicy, Descriptor, Device, DeviceType, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::c_int;
use std::fmt::Write;

use crate::device::PyDevice;
use crate::dtype::PyDType;
use crate::error::into_py_err;
use crate::handle::Handle;
use crate::{buffer, capsule, exchange_api, import, interop, stream};

/// A tensor that any array library can take, without a copy.
///
/// It comes from `dlbridge.from_dlpack`, or from an extension module written in Rust. Every consumer shares its memory:
/// `numpy.from_dlpack(t)`, `torch.from_dlpack(t)`, `jax.numpy.from_dlpack(t)`, `memoryview(t)`. It keeps the memory
/// alive, and so does everything that is made from it.
#[pyclass(frozen, name = "Tensor", module = "dlbridge")]
pub struct PyTensor {
    pub(crate) handle: Handle,
}

/// For Rust.
impl PyTensor {
    pub(crate) fn foreign(tensor: Aliased) -> Self {
        Self { handle: Handle::foreign(tensor.into_plain()) }
    }

    /// What the tensor is, without access to its elements.
    pub fn descriptor(&self) -> Descriptor<'_> {
        self.handle.descriptor()
    }

    /// The tensor for reading, over the same memory.
    ///
    /// `Copies: never`. One small allocation unless the memory is Rust's, and this the only handle.
    ///
    /// # Safety
    /// The memory is initialised, and until the tensor is dropped nobody writes it: no Python code through any array
    /// that shares it, nor a thread of a library that Python has called.
    #[must_use]
    pub unsafe fn assume_unwritten(self) -> Tensor {
        // SAFETY: the caller's promise.
        unsafe { self.handle.into_aliased().assume_unwritten() }
    }

    /// The tensor for writing, unless it is [read-only](dlbridge_core::Flags::READ_ONLY), over the same memory.
    ///
    /// `Copies: never`. One small allocation unless the memory is Rust's, and this the only handle.
    ///
    /// # Safety
    /// The memory is initialised, and until the tensor is dropped nobody else writes it; nobody else reads it, either,
    /// unless it is read-only.
    #[must_use]
    pub unsafe fn assume_exclusive(self) -> Tensor {
        // SAFETY: the caller's promise.
        unsafe { self.handle.into_aliased().assume_exclusive() }
    }

    /// A new row-major tensor with the same elements, in memory of Rust.
    ///
    /// `Copies: always`, once.
    ///
    /// # Safety
    /// The memory is initialised, and nobody writes it during the call.
    ///
    /// # Errors
    /// As [`TensorRef::to_contiguous`](dlbridge_core::TensorRef::to_contiguous).
    pub unsafe fn to_contiguous(&self) -> Result<Tensor, dlbridge_core::Error> {
        // SAFETY: the caller's promise.
        unsafe { self.handle.to_contiguous() }
    }

    fn host_copy(&self) -> PyResult<Self> {
        // SAFETY: attached to the interpreter. A thread that writes meanwhile without it races as it does with the
        // copies of any array library: Python leaves that to the caller.
        unsafe { self.handle.to_contiguous() }.map(Self::from).map_err(into_py_err)
    }

    /// The tensor as `__dlpack__(dl_device=…, copy=…)` hands it out: itself, or a copy of it.
    pub(crate) fn delivered(&self, device: Option<Device>, copy: CopyPolicy) -> PyResult<Option<Self>> {
        let here = self.descriptor().device();
        let stays = device.is_none_or(|device| device == here);
        if stays && copy != CopyPolicy::Always {
            return Ok(None);
        }
        if let Some(device) = device.filter(|device| !stays && (*device != Device::CPU || !here.is_host_accessible())) {
            return Err(PyBufferError::new_err(format!("the tensor is on {here} and cannot go to {device}")));
        }
        if copy == CopyPolicy::Never {
            return Err(PyBufferError::new_err(format!("the tensor is on {here}: only a copy could be on the CPU")));
        }
        self.host_copy().map(Some)
    }
}

/// A tensor for Python, which owns it from now on.
impl From<Tensor> for PyTensor {
    fn from(tensor: Tensor) -> Self {
        Self { handle: Aliased::from(tensor).into() }
    }
}

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
    fn copy(&self) -> PyResult<Self> {
        self.host_copy()
    }

    /// This tensor in row-major order. Copies: if it is not contiguous.
    fn contiguous(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().is_contiguous() {
            return Ok(slf);
        }
        Bound::new(slf.py(), slf.get().host_copy()?)
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
        max_version: Option<(i64, i64)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(stream) = stream {
            stream::check(self.descriptor().device(), stream.extract()?)?;
        }
        let device = dl_device.map(|(kind, id)| Device::new(DeviceType(kind), id));
        let delivered = self.delivered(device, import::policy(copy))?;
        let handle = &delivered.as_ref().unwrap_or(self).handle;
        match max_version {
            Some((major, minor)) if major >= 1 => {
                let mut managed = handle.export();
                if major == 1 {
                    // SAFETY: just made, and ours.
                    let version = unsafe { &mut managed.as_mut().version };
                    version.minor = version.minor.min(u32::try_from(minor).unwrap_or(0));
                }
                // SAFETY: ours.
                unsafe { capsule::give(py, managed) }
            }
            _ => {
                let managed = handle.export_legacy().map_err(into_py_err)?;
                // SAFETY: ours.
                unsafe { capsule::give(py, managed) }
            }
        }
    }

    /// The device as DLPack's `(type, id)`.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = self.descriptor().device();
        (device.kind().0, device.id())
    }

    /// The table of C functions that DLPack 1.3 defines, in a capsule.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        exchange_api::capsule(py)
    }

    /// # Safety
    /// Python calls it with a buffer to be filled in.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: the caller's promise.
        unsafe { buffer::fill(slf, view, flags) }
    }

    /// # Safety
    /// Python calls it with a buffer that `__getbuffer__` has filled in.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the caller's promise.
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
