//! The types behind `dlbridge.Tensor`, `dlbridge.DType` and `dlbridge.Device`, and what a tensor is to Rust.

use dlbridge_core::{Aliased, CopyPolicy, DataType, Descriptor, Device, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::error::into_py_err;
use crate::handle::Handle;

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
    /// The memory is initialised, and until the tensor is dropped nobody else writes it. Unless it is read-only, it may
    /// be written, and nobody else reads it, either.
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

    /// A row-major copy in memory of Rust, for Python.
    pub(crate) fn host_copy(&self, _attached: Python<'_>) -> PyResult<Self> {
        // SAFETY: axiom *bytes*, as this thread is attached.
        unsafe { self.handle.to_contiguous() }.map(Self::from).map_err(into_py_err)
    }

    /// The tensor as `__dlpack__(dl_device=…, copy=…)` hands it out: a copy of it, or itself, as `None` says.
    pub(crate) fn delivered(&self, py: Python<'_>, device: Option<Device>, copy: CopyPolicy) -> PyResult<Option<Self>> {
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
        self.host_copy(py).map(Some)
    }
}

/// A tensor for Python, which owns it from now on.
impl From<Tensor> for PyTensor {
    fn from(tensor: Tensor) -> Self {
        Self { handle: Aliased::from(tensor).into() }
    }
}

/// The type of an element: DLPack's code, bits of one lane, and lanes.
///
/// `dlbridge.dtype` makes one. Any library that follows RFC #972 takes it as it is; `to` gives a library's own.
#[pyclass(frozen, name = "DType", module = "dlbridge")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PyDType(pub DataType);

/// A device: DLPack's type and the index among the devices of that type.
///
/// `dlbridge.device` makes one. Any library that follows RFC #972 takes it as it is; `to` gives a library's own.
#[pyclass(frozen, name = "Device", module = "dlbridge")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PyDevice(pub Device);
