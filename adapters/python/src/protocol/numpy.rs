//! numpy's arrays, read as every extension module built with numpy reads them: by the C struct that its ABI fixes. That
//! takes a fraction of what a call of `__dlpack__` does.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ptr;
use std::slice;

use dlbridge_core::{Aliased, DataType, Device, Flags, Memory};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::handle::attached;
use crate::protocol::exchange_api;
use crate::types::PyTensor;

/// numpy's names of the dtypes that it shares with DLPack.
const NAMES: [(&str, DataType); 16] = [
    ("float32", DataType::FLOAT32),
    ("float64", DataType::FLOAT64),
    ("float16", DataType::FLOAT16),
    ("int8", DataType::INT8),
    ("int16", DataType::INT16),
    ("int32", DataType::INT32),
    ("int64", DataType::INT64),
    ("uint8", DataType::UINT8),
    ("uint16", DataType::UINT16),
    ("uint32", DataType::UINT32),
    ("uint64", DataType::UINT64),
    ("bool", DataType::BOOL),
    ("complex64", DataType::COMPLEX64),
    ("complex128", DataType::COMPLEX128),
    // On most platforms a second 64-bit integer beside C's `long`.
    ("longlong", DataType::INT64),
    ("ulonglong", DataType::UINT64),
];

/// The ABI of numpy 2, `NPY_ABI_VERSION` in its headers. Another has another layout, and is not read.
const ABI: c_uint = 0x0200_0000;

/// Whether Python has its global lock, as the size of an object tells. Without it another thread could reshape an array
/// that is being read.
const HAS_GIL: bool = size_of::<ffi::PyObject>() == 2 * size_of::<usize>();

/// `PyArrayObject_fields` behind its head, as far as it is read.
#[repr(C)]
struct Fields {
    data: *mut c_char,
    ndim: c_int,
    /// `ndim` lengths, and as many strides in bytes.
    lengths: *const isize,
    steps: *const isize,
    base: *mut ffi::PyObject,
    dtype: *mut ffi::PyObject,
    flags: c_int,
}

impl Fields {
    /// `NPY_ARRAY_WRITEABLE`.
    const IS_WRITABLE: c_int = 0x400;

    /// # Safety
    /// `first` is the first of as many numbers as there are axes.
    #[inline]
    unsafe fn numbers(&self, first: *const isize) -> &[isize] {
        if self.ndim == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts(first, self.ndim as usize) }
    }
}

/// The tensor of an array with a dtype of numpy's own in native byte order. `None` for all else, where its `__dlpack__`
/// knows what to do or what is wrong, and for the first array of the process.
#[inline]
pub(crate) fn take(object: &Bound<'_, PyAny>) -> Option<PyTensor> {
    if !HAS_GIL || !exchange_api::is_numpy(object) {
        return None;
    }
    let numpy = Numpy::get(object.py())?;
    if numpy.array_type != object.get_type_ptr() {
        return None;
    }
    let fields = object.as_ptr().wrapping_add(1).cast::<Fields>();
    // SAFETY: of the type that numpy's ABI lays out so; nothing changes these while this thread holds the lock.
    let array = unsafe { fields.as_ref() }?;
    let (_, dtype) = numpy.dtypes.iter().find(|(known, _)| known.as_ptr() == array.dtype)?;
    // SAFETY: numpy has as many as axes.
    let lengths = unsafe { array.numbers(array.lengths) };
    // SAFETY: as above.
    let steps = unsafe { array.numbers(array.steps) };
    // A power of two: to divide by it would take as long as all else here.
    let size_log2 = dtype.itemsize()?.trailing_zeros();
    let is_whole = steps.iter().all(|step| step.trailing_zeros() >= size_log2);
    if !is_whole {
        return None;
    }
    let flags = if array.flags & Fields::IS_WRITABLE == 0 { Flags::READ_ONLY } else { Flags::empty() };
    let memory = Memory { dtype: *dtype, device: Device::CPU, flags, is_valid: false };
    let describe = |_: &mut Array, shape: &mut [i64], strides: &mut [i64]| {
        for (to, length) in shape.iter_mut().zip(lengths) {
            *to = *length as i64;
        }
        for (to, step) in strides.iter_mut().zip(steps) {
            *to = (step >> size_log2) as i64;
        }
        array.data.cast()
    };
    let owner = Array(ManuallyDrop::new(object.clone().unbind()));
    // SAFETY: an array keeps its memory, as numpy's own capsules count on, too.
    let tensor = unsafe { Aliased::from_owner(owner, memory, lengths.len(), describe) };
    Some(PyTensor { handle: tensor.ok()?.into() })
}

/// An array, let go of on whatever thread.
struct Array(ManuallyDrop<Py<PyAny>>);

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: dropped here, once, or never.
        attached(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

/// What numpy says of itself, asked once.
struct Numpy {
    array_type: *mut ffi::PyTypeObject,
    /// The objects that arrays have for these dtypes, unless they are something special.
    dtypes: Vec<(Py<PyAny>, DataType)>,
}

// SAFETY: the type is static, and only its address is used.
unsafe impl Send for Numpy {}
// SAFETY: as above.
unsafe impl Sync for Numpy {}

impl Numpy {
    /// `None` if it has another ABI.
    #[inline]
    fn get(py: Python<'_>) -> Option<&'static Self> {
        static NUMPY: PyOnceLock<Option<Numpy>> = PyOnceLock::new();
        NUMPY.get_or_init(py, || Self::ask(py).ok().flatten()).as_ref()
    }

    #[cold]
    fn ask(py: Python<'_>) -> PyResult<Option<Self>> {
        let api = py.import("numpy._core._multiarray_umath")?.getattr("_ARRAY_API")?;
        // SAFETY: any object may be asked; the capsule has no name.
        let table = unsafe { ffi::PyCapsule_GetPointer(api.as_ptr(), ptr::null()) }.cast::<*mut c_void>();
        if table.is_null() {
            return Err(PyErr::fetch(py));
        }
        // SAFETY: numpy's table, which begins with `PyArray_GetNDArrayCVersion` in every version.
        let version = unsafe { table.cast::<unsafe extern "C" fn() -> c_uint>().read() };
        // SAFETY: as above.
        if unsafe { version() } != ABI {
            return Ok(None);
        }
        // SAFETY: `PyArray_Type` is the third entry.
        let array_type = unsafe { table.wrapping_add(2).read() }.cast();
        let new = py.import("numpy")?.getattr("dtype")?;
        let dtypes = NAMES.iter().map(|(name, dtype)| Ok((new.call1((*name,))?.unbind(), *dtype)));
        Ok(Some(Self { array_type, dtypes: dtypes.collect::<PyResult<_>>()? }))
    }
}
