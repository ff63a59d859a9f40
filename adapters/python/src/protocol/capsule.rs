//! Capsules of both ABIs: taken once, and given out.

use std::ffi::CStr;
use std::ptr::NonNull;

use dlbridge_core::sys::{DLManagedTensor, DLManagedTensorVersioned};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::handle::Handle;

const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";
const LEGACY: &CStr = c"dltensor";
const LEGACY_USED: &CStr = c"used_dltensor";

/// Takes the tensor out of a capsule, which counts as consumed from then on, whatever becomes of the tensor.
///
/// A legacy capsule does not say who may write: `is_writable` does, for one of those.
///
/// Errors: `TypeError` if it is no capsule, `ValueError` if it holds no tensor (any more), `BufferError` for a tensor
/// that is not valid, whose deleter has run.
pub(crate) fn take(object: &Bound<'_, PyAny>, is_writable: bool) -> PyResult<Handle> {
    let py = object.py();
    if let Some(managed) = rename(object, VERSIONED, VERSIONED_USED) {
        // SAFETY: axiom *capsule*: by its name it held a managed tensor, which is ours since it was renamed.
        return unsafe { Handle::foreign(py, managed) };
    }
    if let Some(managed) = rename(object, LEGACY, LEGACY_USED) {
        // SAFETY: as above.
        return unsafe { Handle::foreign_legacy(py, managed, is_writable) };
    }
    let capsule = object.cast::<PyCapsule>().map_err(|_| {
        PyTypeError::new_err(format!("__dlpack__() returned {}, expected a capsule", object.get_type()))
    })?;
    // SAFETY: a capsule, whose name is a string that lives as long.
    let name = unsafe { ffi::PyCapsule_GetName(capsule.as_ptr()) };
    // SAFETY: not NULL, so a C string.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    Err(PyValueError::new_err(match name {
        Some(name) if name == VERSIONED_USED || name == LEGACY_USED => {
            "the capsule was consumed already: call __dlpack__() again".to_owned()
        }
        Some(name) => format!("the capsule is named {name:?}, expected {VERSIONED:?} or {LEGACY:?}"),
        None => format!("the capsule has no name, expected {VERSIONED:?} or {LEGACY:?}"),
    }))
}

/// Whether an object is a capsule of the legacy ABI, not consumed yet.
#[inline]
pub(crate) fn is_legacy(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: any object may be asked.
    unsafe { ffi::PyCapsule_IsValid(object.as_ptr(), LEGACY.as_ptr()) != 0 }
}

/// The pointer of a capsule named `name`, which is named `used` afterwards.
#[inline]
fn rename<T>(object: &Bound<'_, PyAny>, name: &'static CStr, used: &'static CStr) -> Option<NonNull<T>> {
    // SAFETY: any object may be asked.
    if unsafe { ffi::PyCapsule_IsValid(object.as_ptr(), name.as_ptr()) } == 0 {
        return None;
    }
    // SAFETY: a valid capsule of that name.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(object.as_ptr(), name.as_ptr()) };
    // SAFETY: a valid capsule; the new name is static.
    unsafe { ffi::PyCapsule_SetName(object.as_ptr(), used.as_ptr()) };
    NonNull::new(pointer.cast())
}

/// A managed tensor of either ABI, as it travels in a capsule.
///
/// # Safety
/// `NAME` is the name that the standard gives to capsules of this struct.
pub(crate) unsafe trait Managed: Sized {
    const NAME: &'static CStr;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

// SAFETY: the standard's name.
unsafe impl Managed for DLManagedTensorVersioned {
    const NAME: &'static CStr = VERSIONED;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

// SAFETY: the standard's name.
unsafe impl Managed for DLManagedTensor {
    const NAME: &'static CStr = LEGACY;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

/// A capsule that owns `managed` until a consumer renames it.
///
/// # Safety
/// `managed` is a managed tensor that the caller owns.
pub(crate) unsafe fn give<M: Managed>(py: Python<'_>, managed: NonNull<M>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: attached; the pointer is not NULL, the name is static.
    let capsule = unsafe { ffi::PyCapsule_New(managed.as_ptr().cast(), M::NAME.as_ptr(), Some(destroy::<M>)) };
    if capsule.is_null() {
        let error = PyErr::fetch(py);
        // SAFETY: still the caller's, who gave it away.
        unsafe { delete(managed) };
        return Err(error);
    }
    // SAFETY: a new reference.
    Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
}

/// Frees the tensor of a capsule that nobody consumed.
unsafe extern "C" fn destroy<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with the capsule that goes away.
    if unsafe { ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) } == 0 {
        return;
    }
    // SAFETY: a valid capsule of that name.
    if let Some(managed) = NonNull::new(unsafe { ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()) }.cast::<M>()) {
        // SAFETY: axiom *capsule*: not consumed, so the capsule, which `give` has made, owns it.
        unsafe { delete(managed) };
    }
}

/// # Safety
/// `managed` is alive, and not used afterwards.
unsafe fn delete<M: Managed>(managed: NonNull<M>) {
    // SAFETY: the caller's promise.
    if let Some(deleter) = unsafe { managed.as_ref() }.deleter() {
        // SAFETY: the caller's promise.
        unsafe { deleter(managed.as_ptr()) };
    }
}
