//! The buffer protocol (PEP 3118): `memoryview(tensor)`, for host memory of the types that it has a letter for.

use std::ffi::{CStr, c_int};
use std::ptr;

use dlbridge_core::DataType;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::into_py_err;
use crate::types::PyTensor;

/// The letters of the `struct` module, and numpy's for complex numbers.
const FORMATS: [(DataType, &CStr); 14] = [
    (DataType::BOOL, c"?"),
    (DataType::INT8, c"b"),
    (DataType::INT16, c"h"),
    (DataType::INT32, c"i"),
    (DataType::INT64, c"q"),
    (DataType::UINT8, c"B"),
    (DataType::UINT16, c"H"),
    (DataType::UINT32, c"I"),
    (DataType::UINT64, c"Q"),
    (DataType::FLOAT16, c"e"),
    (DataType::FLOAT32, c"f"),
    (DataType::FLOAT64, c"d"),
    (DataType::COMPLEX64, c"Zf"),
    (DataType::COMPLEX128, c"Zd"),
];

/// Fills in a buffer as the flags ask. Lengths and strides (in bytes) are in one allocation, kept in `internal`.
///
/// # Safety
/// `view` is a buffer to be filled in.
pub(crate) unsafe fn fill(tensor: Bound<'_, PyTensor>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
    // SAFETY: the caller's promise; NULL unless filled in, as Python wants it on errors.
    unsafe { (*view).obj = ptr::null_mut() };
    let described = tensor.get().descriptor();
    let dtype = described.dtype();
    let Some((_, format)) = FORMATS.iter().find(|(known, _)| *known == dtype) else {
        return Err(PyBufferError::new_err(format!("the buffer protocol has no {dtype}: use DLPack")));
    };
    described.check_host().map_err(into_py_err)?;
    let is_readonly = described.flags().is_read_only();
    let asks = |wish: c_int| flags & wish == wish;
    if is_readonly && asks(ffi::PyBUF_WRITABLE) {
        return Err(PyBufferError::new_err("the tensor is read-only: copy it before writing"));
    }
    let (row_major, column_major) = (described.is_row_major(), described.is_column_major());
    let fits = if asks(ffi::PyBUF_C_CONTIGUOUS) {
        row_major
    } else if asks(ffi::PyBUF_F_CONTIGUOUS) {
        column_major
    } else if asks(ffi::PyBUF_ANY_CONTIGUOUS) {
        row_major || column_major
    } else {
        row_major || asks(ffi::PyBUF_STRIDES)
    };
    if !fits {
        return Err(PyBufferError::new_err("the tensor is not contiguous as the buffer is asked to be: copy it first"));
    }
    let ndim = described.ndim();
    if ndim > ffi::PyBUF_MAX_NDIM {
        return Err(PyBufferError::new_err(format!("the buffer protocol ends at 64 axes, the tensor has {ndim}")));
    }
    let itemsize = dtype.itemsize().unwrap_or(1) as isize;
    let lengths = described.shape().iter().map(|length| *length as isize);
    // The size in bytes was checked to fit, and so were the offsets that the strides reach; on short axes they say
    // nothing.
    let strides = described.strides().iter().map(|stride| (stride as isize).wrapping_mul(itemsize));
    let numbers: Box<[isize]> = lengths.chain(strides).collect();
    let numbers: *mut isize = Box::into_raw(numbers).cast();
    let shown = |wish: c_int, at: *mut isize| if asks(wish) && ndim > 0 { at } else { ptr::null_mut() };
    let filled = ffi::Py_buffer {
        buf: described.data().cast_mut().cast(),
        len: described.nbytes() as isize,
        itemsize,
        readonly: c_int::from(is_readonly),
        ndim: ndim as c_int,
        format: if asks(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { ptr::null_mut() },
        shape: shown(ffi::PyBUF_ND, numbers),
        strides: shown(ffi::PyBUF_STRIDES, numbers.wrapping_add(ndim)),
        suboffsets: ptr::null_mut(),
        internal: numbers.cast(),
        obj: tensor.clone().into_ptr(),
    };
    // SAFETY: the caller's promise.
    unsafe { view.write(filled) };
    Ok(())
}

/// Frees what [`fill`] has allocated.
///
/// # Safety
/// `view` was filled in by [`fill`], and is not used afterwards.
pub(crate) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: the caller's promise.
    let view = unsafe { &*view };
    let numbers = ptr::slice_from_raw_parts_mut(view.internal.cast::<isize>(), 2 * view.ndim as usize);
    // SAFETY: made by `fill` with twice as many numbers as axes.
    drop(unsafe { Box::from_raw(numbers) });
}
